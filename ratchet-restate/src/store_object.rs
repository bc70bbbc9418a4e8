//! What is kept beside the records: places in listings, the high-water mark, declarations, gates and documents.

use std::collections::BTreeMap;

use ratchet_core::admission::{Gate, GateAnswer, GateOrder, decide_all};
use ratchet_core::ledger::{
    Declaration, Declared, Document, DocumentWrite, DocumentWritten, HighWaterMark, LedgerError, MarkChange,
    Served, StoreMark,
};
use ratchet_core::time::SharedClock;
use ratchet_core::{DestinationName, HiddenPaths, OperationName, Timestamp};
use restate_sdk::prelude::*;
use serde::{Deserialize, Serialize};

use crate::names;

#[derive(Debug, Clone)]
pub(crate) struct StoreObject {
    pub(crate) clock: SharedClock,
}

/// What workers declared.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Catalogue {
    templates: BTreeMap<OperationName, Vec<String>>,
    pub(crate) entries: Vec<(Declared, HiddenPaths)>,
}

/// A template that may not replace the one on record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TemplateChanged {
    pub(crate) operation: OperationName,
    pub(crate) declared: String,
    pub(crate) on_record: String,
}

impl From<TemplateChanged> for LedgerError {
    fn from(TemplateChanged { operation, declared, on_record }: TemplateChanged) -> Self {
        Self::TemplateChanged { operation, declared, on_record }
    }
}

// As those of records: the engine tries for ever.
#[object(
    name = "RatchetStore",
    journal_retention = "0s",
    idempotency_retention = "0s",
    invocation_retry_policy(
        initial_interval = "50ms",
        factor = 2.0,
        max_interval = "5s",
        max_attempts = 1_000_000_000
    )
)]
impl StoreObject {
    /// Takes so many places, and answers with the last one that was taken before.
    #[handler]
    async fn reserve(&self, ctx: ObjectContext<'_>, places: u32) -> HandlerResult<i64> {
        let last = ctx.get::<i64>(names::PLACE).await?.unwrap_or(0);
        ctx.set(names::PLACE, last.saturating_add(i64::from(places)));
        Ok(last)
    }

    #[handler]
    async fn mark(
        &self,
        ctx: ObjectContext<'_>,
        Json(changes): Json<Vec<MarkChange>>,
    ) -> HandlerResult<Json<StoreMark>> {
        let stored = ctx.get::<Json<StoreMark>>(names::MARK).await?;
        let now = self.now(&ctx).await?;
        let made = StoreMark { mark: HighWaterMark { epoch: now, raised: 0 }, held_since: None };
        let mark = stored.map_or(made, |Json(mark)| mark);
        let mark = changes.iter().fold(mark, |mark, change| mark.after(change, now));
        ctx.set(names::MARK, Json(mark));
        Ok(Json(mark))
    }

    #[handler]
    async fn declare(
        &self,
        ctx: ObjectContext<'_>,
        Json(declared): Json<Vec<Declaration>>,
    ) -> HandlerResult<Json<Result<(), TemplateChanged>>> {
        let stored = ctx.get::<Json<Catalogue>>(names::CATALOGUE).await?;
        let mut catalogue = stored.map(|Json(catalogue)| catalogue).unwrap_or_default();
        if let Err(refused) = catalogue.declare(declared) {
            return Ok(Json(Err(refused)));
        }
        ctx.set(names::CATALOGUE, Json(catalogue));
        Ok(Json(Ok(())))
    }

    #[handler]
    async fn catalogue(&self, ctx: SharedObjectContext<'_>) -> HandlerResult<Json<Catalogue>> {
        let stored = ctx.get::<Json<Catalogue>>(names::CATALOGUE).await?;
        Ok(Json(stored.map(|Json(catalogue)| catalogue).unwrap_or_default()))
    }

    /// Orders for the gate of one destination.
    #[handler]
    async fn admit(
        &self,
        ctx: ObjectContext<'_>,
        Json(orders): Json<Vec<GateOrder>>,
    ) -> HandlerResult<Json<Vec<GateAnswer>>> {
        let stored = ctx.get::<Json<(DestinationName, Gate)>>(names::GATE).await?;
        let mut gates: BTreeMap<DestinationName, Gate> =
            stored.map(|Json(known)| known).into_iter().collect();
        let now = self.now(&ctx).await?;
        let answers = decide_all(&mut gates, &orders, now);
        if let Some(known) = gates.pop_first() {
            ctx.set(names::GATE, Json(known));
        }
        Ok(Json(answers))
    }

    #[handler]
    async fn write(
        &self,
        ctx: ObjectContext<'_>,
        Json(write): Json<DocumentWrite>,
    ) -> HandlerResult<Json<DocumentWritten>> {
        let standing = ctx.get::<Json<Document>>(names::DOCUMENT).await?.map(|Json(document)| document);
        let written = write.decide(standing.as_ref());
        let version = write.version();
        match write.body {
            _ if !written.is_done() => {}
            Some(body) => ctx.set(names::DOCUMENT, Json(Document { id: write.id, version, body })),
            None => ctx.clear(names::DOCUMENT),
        }
        Ok(Json(written))
    }

    #[handler]
    async fn document(&self, ctx: SharedObjectContext<'_>) -> HandlerResult<Json<Option<Document>>> {
        Ok(Json(ctx.get::<Json<Document>>(names::DOCUMENT).await?.map(|Json(document)| document)))
    }
}

impl StoreObject {
    async fn now(&self, ctx: &ObjectContext<'_>) -> Result<Timestamp, TerminalError> {
        let read = || async { Ok(Json(self.clock.now())) };
        ctx.run(read).name("clock").await.map(|Json(now)| now)
    }
}

impl Catalogue {
    /// All are accepted, or nothing is recorded.
    pub(crate) fn declare(&mut self, declared: Vec<Declaration>) -> Result<(), TemplateChanged> {
        for declaration in &declared {
            let known = self.templates.entry(declaration.operation.clone()).or_default();
            match declaration.is_new(known) {
                Ok(true) => known.push(declaration.template.clone()),
                Err(LedgerError::TemplateChanged { operation, declared, on_record }) => {
                    return Err(TemplateChanged { operation, declared, on_record });
                }
                _ => {}
            }
        }
        for declaration in declared {
            self.enter(declaration);
        }
        Ok(())
    }

    fn enter(&mut self, declaration: Declaration) {
        let Declaration {
            operation,
            version,
            hidden,
            policy,
            contract,
            priority,
            queue,
            volatile,
            concurrency,
            ..
        } = declaration;
        let of = Served { operation, version };
        let declared = Declared { of, policy, contract, priority, queue, volatile, concurrency };
        match self.entries.iter_mut().find(|(known, _)| known.of == declared.of) {
            Some((known, hides)) => {
                *hides = hides.union(&hidden);
                *known = declared;
            }
            None => self.entries.push((declared, hidden)),
        }
        self.entries.sort_by(|(one, _), (other, _)| one.of.cmp(&other.of));
    }
}
