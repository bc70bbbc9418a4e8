//! The invoices that ship with the example: 200 of them, a few repeated, one repeated with another amount.

use crate::Result;
use crate::operations::CollectInvoice;

pub(crate) fn load() -> Result<Vec<CollectInvoice>> {
    Ok(serde_json::from_str(include_str!("invoices.json"))?)
}
