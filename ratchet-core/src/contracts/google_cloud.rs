//! Google Cloud: `request_id` of AIP-155. A service may choose any time; read the page of yours.

use super::{MINUTE, page, times};
use crate::contract::{Contract, KeyFormat, Repeats, Shape};

/// APIs that take `requestId` in the query, a UUID, and ignore repeated requests for an hour at least.
pub const REQUEST_ID: Contract = Contract::query_parameter("requestId")
    .named("google_cloud::REQUEST_ID")
    .key(KeyFormat::UUID.shaped(Shape::UuidV4))
    .remembers_for(times(MINUTE, 60))
    .repeats(Repeats::FirstAnswer)
    .sources(&[page(
        "https://google.aip.dev/155",
        "`request_id`, a UUID other than zero, of version 4 in some services; repeated requests are ignored for at least 60 \
         minutes, as the pages of the services say",
    )]);

/// APIs that take any text of up to 36 characters (Edge Container, Data Lineage). For how long is not documented.
pub const REQUEST_ID_OF_ANY_TEXT: Contract = Contract::query_parameter("requestId")
    .named("google_cloud::REQUEST_ID_OF_ANY_TEXT")
    .key(KeyFormat::up_to(36))
    .remembers_for_unstated_time()
    .sources(&[page(
        "https://docs.cloud.google.com",
        "up to 36 characters of ASCII, idempotent only if it is given",
    )]);
