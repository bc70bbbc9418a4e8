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

/// The record at a place, if there is one in this namespace.
pub(super) async fn at(client: &Client, place: Cursor) -> Result<Option<Placed>, LedgerError> {
    let filter = Filter { after: Some(Cursor(place.0.saturating_sub(1))), limit: 1, ..Filter::default() };
    let page = client.list(filter).await?;
    let record = page.records.into_iter().next().filter(|_| page.next == Some(place));
    Ok(record.map(|record| Placed { place, record }))
}

/// A page of a listing.
pub(super) struct Listed {
    pub(super) records: Vec<Placed>,
    pub(super) next: Option<Cursor>,
}

/// A page of records, with their places. Those of operations that the key is not for are left out.
pub(super) async fn list(
    client: &Client,
    mut filter: Filter,
    operator: &Operator,
) -> Result<Listed, LedgerError> {
    let wanted = filter.limit;
    let mut records = Vec::new();
    filter.limit = 1;
    for _ in 0..wanted {
        let page = client.list(filter.clone()).await?;
        let (Some(record), Some(place)) = (page.records.into_iter().next(), page.next) else {
            return Ok(Listed { records, next: None });
        };
        filter.after = Some(place);
        if operator.may_see(&record.id.operation) {
            records.push(Placed { place, record });
        }
    }
    Ok(Listed { records, next: filter.after })
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
    let mut filter = Filter { operation: Some(id.operation.clone()), limit: 500, ..Filter::default() };
    loop {
        let page = client.list(filter.clone()).await?;
        if let Some(index) = page.records.iter().position(|record| record.id == *id) {
            let up_to_it = Filter { limit: index + 1, ..filter };
            return Ok(client.list(up_to_it).await?.next);
        }
        match page.next {
            Some(next) => filter.after = Some(next),
            None => return Ok(None),
        }
    }
}
