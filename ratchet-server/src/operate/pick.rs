//! The record that a command is about.

use clap::Args;
use ratchet::{Key, OperationName, Ratchet, Record, Stored};

use crate::error::Error;

#[derive(Args)]
pub(crate) struct RecordArguments {
    /// The key, as in `invoice:inv_2048:collect:v1`; `#2` behind it means the second generation.
    key: String,
    /// The operation, if several have a record under this key.
    #[arg(long)]
    operation: Option<String>,
}

impl RecordArguments {
    /// What is on record: of the named generation, or the newest one.
    pub(crate) async fn find(&self, ratchet: &Ratchet) -> Result<Stored, Error> {
        let (key, generation) = self.parts()?;
        let operation = self.operation.as_deref().map(OperationName::new).transpose()?;
        let mut found = ratchet.under_key(key).await?;
        found.retain(|stored| {
            operation.as_ref().is_none_or(|wanted| stored.id().operation == *wanted)
                && generation.is_none_or(|wanted| stored.id().generation.get() == wanted)
        });
        let mut operations: Vec<String> =
            found.iter().map(|stored| stored.id().operation.to_string()).collect();
        operations.dedup();
        if operations.len() > 1 {
            return Err(Error::SeveralOperations { operations: operations.join(", ") });
        }
        found.pop().ok_or(Error::NoRecord)
    }

    /// The same, if it is not purged.
    pub(crate) async fn record(&self, ratchet: &Ratchet) -> Result<Record, Error> {
        match self.find(ratchet).await? {
            Stored::Record(record) => Ok(*record),
            Stored::Tombstone(rest) => Err(Error::Purged { ended_on: rest.ended_at, state: rest.state }),
        }
    }

    fn parts(&self) -> Result<(Key, Option<u32>), Error> {
        let (key, generation) = match self.key.split_once('#') {
            Some((key, number)) => (key, Some(number.parse().map_err(|_| Error::BadGeneration)?)),
            None => (self.key.as_str(), None),
        };
        Ok((Key::parse(key)?, generation))
    }
}
