//! Razorpay.

use super::{DAY, page, times};
use crate::contract::{Contract, KeyFormat, OtherInput, Repeats, Signal};

const KEY: KeyFormat = KeyFormat::up_to(36).at_least(4).alphanumeric_and("-_ ");

/// Payouts. One that ended as `failed` needs a new generation; one that is still processed must not get one.
pub const PAYOUTS: Contract = Contract::header("X-Payout-Idempotency")
    .named("razorpay::PAYOUTS")
    .key(KEY)
    .remembers_for(times(DAY, 7))
    .other_input(OtherInput::Refused)
    .repeats(Repeats::CurrentState)
    .sources(&[page(
        "https://razorpay.com/docs/api/x/payout-idempotency/",
        "required header, 4 to 36 letters, digits, hyphens, underscores and spaces; 7 days from the first request; another \
         request under the key is a bad request; a repeated one gets what is the case now",
    )]);

/// Direct transfers of Route. For how long a key is remembered is not documented.
pub const TRANSFERS: Contract = Contract::header("X-Transfer-Idempotency")
    .named("razorpay::TRANSFERS")
    .key(KEY)
    .remembers_for_unstated_time()
    .other_input(OtherInput::Refused)
    .repeats(Repeats::CurrentState)
    .signals(&[Signal::in_flight(409)])
    .sources(&[page(
        "https://razorpay.com/docs/api/payments/route/transfers/direct-transfers-idempotent-request",
        "header, keys as those of payouts; 409 while a request with the key is under way",
    )]);
