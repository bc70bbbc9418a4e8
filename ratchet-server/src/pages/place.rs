//! Records by their place in the listing, which is what addresses name them by: a key is business data, and addresses end up
//! in histories and logs. A place can be guessed and is no secret.

use ratchet::ledger::Cursor;
use ratchet::{Client, Filter, Key, LedgerError, Record, RecordId, Stored};

use super::operator::Operator;

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

/// What is at a place, if that is in the namespace of the client.
pub(super) async fn at(client: &Client, place: Cursor) -> Result<Option<Stored>, LedgerError> {
    let found = client.ledger().at(place).await?;
    Ok(found.filter(|stored| stored.id().namespace == *client.namespace()))
}

/// A page of a listing.
pub(super) struct Listed {
    pub(super) records: Vec<Placed>,
    pub(super) next: Option<Cursor>,
}

/// A page of records. Those of operations that the key is not for are left out.
pub(super) async fn list(
    client: &Client,
    filter: Filter,
    operator: &Operator,
) -> Result<Listed, LedgerError> {
    let page = client.list(filter).await?;
    let placed = page.places.into_iter().zip(page.records).map(|(place, record)| Placed { place, record });
    let records = placed.filter(|placed| operator.may_see(&placed.record.id.operation)).collect();
    Ok(Listed { records, next: page.next })
}

/// Where the newest record under a key is; `key#2` names the second generation.
pub(super) async fn under_key(
    client: &Client,
    text: &str,
    operator: &Operator,
) -> Result<Option<Cursor>, LedgerError> {
    let (key, generation) = match text.split_once('#') {
        Some((key, number)) => (key, number.parse().ok()),
        None => (text, None),
    };
    let Ok(key) = Key::parse(key) else { return Ok(None) };
    let found = client.under_key(key).await?;
    let wanted = found.iter().map(Stored::id).filter(|id| {
        operator.may_see(&id.operation) && generation.is_none_or(|wanted: u32| id.generation.get() == wanted)
    });
    match wanted.max_by_key(|id| id.generation) {
        Some(id) => of(client, id).await,
        None => Ok(None),
    }
}

/// Where a record is.
pub(super) async fn of(client: &Client, id: &RecordId) -> Result<Option<Cursor>, LedgerError> {
    Ok(client.ledger().places(vec![id.clone()]).await?.pop().flatten())
}
