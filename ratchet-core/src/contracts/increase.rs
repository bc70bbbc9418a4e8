//! Increase.

use super::page;
use crate::contract::{Contract, KeyFormat, OtherInput, Repeats, Signal};

/// POST requests. What was made keeps its key; for how long a key is recognised is not documented.
pub const CREATE: Contract = Contract::header("Idempotency-Key")
    .named("increase::CREATE")
    .key(KeyFormat::up_to(200))
    .remembers_for_unstated_time()
    .other_input(OtherInput::Refused)
    .repeats(Repeats::CurrentState)
    .signals(&[Signal::mismatch(409).when_field("type", "idempotency_key_already_used_error")])
    .marks_replays("idempotent-replayed", "true")
    .lookup("GET the list of the resource with `?idempotency_key=KEY`")
    .sources(&[page(
        "https://increase.com/documentation/idempotency-keys.md",
        "header on POST, up to 200 characters; the object again with `Idempotent-Replayed: true`; with other arguments 409 of \
         type `idempotency_key_already_used_error` and `resource_id`; lists can be filtered by the key",
    )]);
