//! Brevo.

use super::{MINUTE, page, times};
use crate::contract::{Contract, KeyFormat};

/// Transactional e-mail. The guide says 30 minutes and the changelog 15, so 15 are claimed.
pub const EMAIL: Contract = Contract::body_field("headers.idempotencyKey")
    .named("brevo::EMAIL")
    .key(KeyFormat::UUID)
    .remembers_for(times(MINUTE, 15))
    .sources(&[page(
        "https://developers.brevo.com",
        "body field `headers.idempotencyKey`, a UUID; 30 minutes in the guide, 15 in the changelog",
    )]);
