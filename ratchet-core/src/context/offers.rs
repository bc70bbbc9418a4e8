//! What an attempt wanted to send under one identity, where the request of an earlier one goes out in its place.

use std::sync::{Mutex, PoisonError};

use crate::model::RequestFingerprint;

/// The first request that an attempt offered. A second one that differs would be swapped for the kept request as well, and
/// its own effect would never happen.
#[derive(Debug, Default)]
pub(super) struct Offers(Mutex<Option<RequestFingerprint>>);

impl Offers {
    pub(super) fn is_first_or_same(&self, request: &RequestFingerprint) -> bool {
        let mut first = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        first.get_or_insert_with(|| request.clone()) == request
    }
}
