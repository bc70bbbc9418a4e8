//! Azure: the Repeatable Requests of OASIS.

use super::{MINUTE, page, times};
use crate::contract::{Contract, KeyFormat, OtherInput, Remembered, Repeats, Signal};

/// Communication Services. Five minutes after the first request a repeated one is refused (412) instead of executed, so
/// only short retries help; a clock that is wrong by as much is refused as well.
pub const COMMUNICATION_SERVICES: Contract = Contract::header("Repeatability-Request-Id")
    .named("azure::COMMUNICATION_SERVICES")
    .first_sent_in("Repeatability-First-Sent")
    .key(KeyFormat::UUID)
    .remembers_for(times(MINUTE, 5))
    .other_input(OtherInput::Refused)
    .repeats(Repeats::FirstAnswer)
    .remembers(Remembered::SuccessesAndRefusals)
    .signals(&[Signal::in_flight(409)])
    .sources(&[page(
        "https://learn.microsoft.com/rest/api/communication/repeatable-requests",
        "both headers are required, a GUID and a date; five minutes, then 412; 400 for another request under the id; 409 while \
         one is under way; 2xx and 4xx are given again, 5xx is executed again",
    )]);
