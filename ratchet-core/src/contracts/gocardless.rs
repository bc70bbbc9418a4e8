//! `GoCardless`.

use super::page;
use crate::contract::{Contract, KeyFormat, Repeats, Signal};

/// Requests that create something. A repeated one is answered with an error that names what the first one made. For how
/// long is not documented where we could read it.
pub const CREATE: Contract = Contract::header("Idempotency-Key")
    .named("gocardless::CREATE")
    .key(KeyFormat::UUID)
    .remembers_for_unstated_time()
    .repeats(Repeats::Conflict)
    .signals(&[Signal::done(409)
        .when_field("error.errors.*.reason", "idempotent_creation_conflict")
        .naming("error.errors.*.links.conflicting_resource_id")])
    .lookup("GET the resource that the conflict names")
    .sources(&[
        page("https://gocardless.com/blog/idempotency-keys", "header `Idempotency-Key` on requests that create"),
        page(
            "https://github.com/gocardless/gocardless-pro-ruby",
            "409 of type `invalid_state`, an error with the reason `idempotent_creation_conflict` and the id of what was made \
             (specs of the resources); the library fetches that unless told otherwise",
        ),
    ]);
