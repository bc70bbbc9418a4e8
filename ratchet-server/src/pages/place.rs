//! Records by their place in the listing, which is what addresses name them by: a key is business data, and addresses end up
//! in histories and logs. A place can be guessed and is no secret.

use ratchet::ledger::Cursor;
use ratchet::{Client, Filter, LedgerError, Record, RecordId};

/// A record and its place.
pub(super) struct Placed {
    pub(super) place: Cursor,
    pub(super) record: Record,
}

impl Placed {
    pub(super) fn path(&self) -> String {
        path(self.place)
    }
}

/// Where the page of a record is.
pub(super) fn path(place: Cursor) -> String {
    format!("/records/{}", place.0)
}

/// The record at a place, if there is one in this namespace.
pub(super) async fn at(client: &Client, place: Cursor) -> Result<Option<Placed>, LedgerError> {
    let filter = Filter { after: Some(Cursor(place.0.saturating_sub(1))), limit: 1, ..Filter::default() };
    let page = client.list(filter).await?;
    let record = page.records.into_iter().next().filter(|_| page.next == Some(place));
    Ok(record.map(|record| Placed { place, record }))
}
