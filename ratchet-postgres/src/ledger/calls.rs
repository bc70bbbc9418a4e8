//! What is asked of every ledger: hands writes to the lanes and reads to the pool.

use std::collections::BTreeSet;
use std::time::Duration;

use ratchet_core::admission::{GateAnswer, GateOrder, KnownGate};
use ratchet_core::decide::{Answer, Refusal, Stored};
use ratchet_core::ledger::follow::{Looked, MOST_LOOKED_AT, ended, waits_again};
use ratchet_core::ledger::moving::{Batch, Import, Place, StandingChange, StandingRefused, StoreStanding};
use ratchet_core::ledger::{
    AuditPage, Capabilities, Claim, Count, Cursor, Declaration, Declared, Document, DocumentId,
    DocumentQuery, DocumentWrite, DocumentWritten, Filter, Inspection, Ledger, LedgerFuture, MarkChange,
    Offer, Order, Page, Served, StoreMark, Unserved,
};
use ratchet_core::{
    Attempt, AuditEntry, HiddenPaths, HighWaterFile, Key, Namespace, Record, RecordId, Submission, Submitted,
};
use tokio::sync::watch;

use super::PostgresLedger;
use crate::readers::lent;
use crate::{audit, declare, document, export, gates, inspect, maintenance, mark, overview, read, standing};

impl Ledger for PostgresLedger {
    fn capabilities(&self) -> Capabilities {
        Capabilities::of_database()
    }

    fn submit(&self, submissions: Vec<Submission>) -> LedgerFuture<'_, Vec<Submitted>> {
        Box::pin(async move {
            let before: BTreeSet<RecordId> =
                submissions.iter().filter_map(|one| Some(one.after.as_ref()?.id.clone())).collect();
            let answers = self.submits.ask(submissions).await;
            if !before.is_empty() {
                // Also after an error, which may have come behind the commit.
                self.followers.arrived();
            }
            let answers = answers?;
            // They may have ended before.
            self.follow_ended(before.into_iter().collect()).await;
            answers.into_iter().map(|answer| self.told(answer)).collect()
        })
    }

    fn claim(&self, claim: Claim) -> LedgerFuture<'_, Vec<Record>> {
        Box::pin(async move { Ok(self.claims.ask(vec![claim]).await?.pop().unwrap_or_default()) })
    }

    fn apply(&self, orders: Vec<Order>) -> LedgerFuture<'_, Vec<Result<Answer, Refusal>>> {
        Box::pin(async move {
            let ids = self.followers.before(&orders);
            let answers = self.applies.ask(orders).await?;
            if waits_again(&answers)
                && let Err(error) = self.follow(MOST_LOOKED_AT).await
            {
                tracing::warn!(%error, "records that wait were not decided about; trying again later");
            }
            self.follow_ended(ended(ids, &answers)).await;
            Ok(answers)
        })
    }

    fn admit(&self, orders: Vec<GateOrder>) -> LedgerFuture<'_, Vec<GateAnswer>> {
        Box::pin(self.admits.ask(orders))
    }

    fn gates(&self) -> LedgerFuture<'_, Vec<KnownGate>> {
        Box::pin(async move {
            self.read("read the gates of destinations", lent!(|connection| gates::all(connection))).await
        })
    }

    fn expire(&self, limit: usize) -> LedgerFuture<'_, usize> {
        Box::pin(async move {
            let sources = &self.sources;
            let ended = self
                .write("end leases", lent!(|connection| maintenance::expire(connection, limit, sources)))
                .await?;
            if ended > 0 {
                self.bell.ring();
            }
            if ended > 0 && self.followers.may_wait() {
                self.follow_some(limit).await?;
            }
            Ok(ended)
        })
    }

    fn follow(&self, limit: usize) -> LedgerFuture<'_, Looked> {
        Box::pin(async move { self.follow_some(limit).await })
    }

    fn purge(&self, limit: usize) -> LedgerFuture<'_, usize> {
        Box::pin(async move {
            let sources = &self.sources;
            self.write("purge records", lent!(|connection| maintenance::purge(connection, limit, sources)))
                .await
        })
    }

    fn find(&self, id: RecordId) -> LedgerFuture<'_, Option<Stored>> {
        Box::pin(async move {
            let id = &id;
            self.read("look a record up", lent!(|connection| read::find(connection, id))).await
        })
    }

    fn under_key(&self, namespace: Namespace, key: Key) -> LedgerFuture<'_, Vec<Stored>> {
        Box::pin(async move {
            let (namespace, key) = (&namespace, &key);
            self.read("look a key up", lent!(|connection| overview::under_key(connection, namespace, key)))
                .await
        })
    }

    fn census(&self, namespace: Namespace) -> LedgerFuture<'_, Vec<Count>> {
        Box::pin(async move {
            let namespace = &namespace;
            self.read("count records", lent!(|connection| overview::census(connection, namespace))).await
        })
    }

    fn to_reconcile(
        &self,
        namespace: Namespace,
        served: Vec<Served>,
        limit: usize,
    ) -> LedgerFuture<'_, Vec<Record>> {
        Box::pin(async move {
            let (namespace, served, now) = (&namespace, &served, self.sources.now());
            self.read(
                "look for records to ask about",
                lent!(|connection| overview::to_reconcile(connection, namespace, served, limit, now)),
            )
            .await
        })
    }

    fn places(&self, ids: Vec<RecordId>) -> LedgerFuture<'_, Vec<Option<Cursor>>> {
        Box::pin(async move {
            let ids: &[&RecordId] = &ids.iter().collect::<Vec<_>>();
            let places = self.read(
                "look for the place of a record",
                lent!(|connection| overview::places(connection, ids)),
            );
            Ok(places.await?.into_iter().map(|place| place.map(Cursor)).collect())
        })
    }

    fn at(&self, place: Cursor) -> LedgerFuture<'_, Option<Stored>> {
        Box::pin(async move {
            self.read("look a record up", lent!(|connection| overview::at(connection, place))).await
        })
    }

    fn list(&self, filter: Filter) -> LedgerFuture<'_, Page> {
        Box::pin(async move {
            let filter = &filter;
            self.read("list records", lent!(|connection| read::list(connection, filter))).await
        })
    }

    fn attempts(&self, id: RecordId) -> LedgerFuture<'_, Vec<Attempt>> {
        Box::pin(async move {
            let id = &id;
            self.read("look a record up", lent!(|connection| read::attempts(connection, id))).await
        })
    }

    fn audit(&self, id: RecordId) -> LedgerFuture<'_, Vec<AuditEntry>> {
        Box::pin(async move {
            let id = &id;
            self.read("look a record up", lent!(|connection| read::audit(connection, id))).await
        })
    }

    fn audit_log(
        &self,
        namespace: Namespace,
        before: Option<Cursor>,
        limit: usize,
    ) -> LedgerFuture<'_, AuditPage> {
        Box::pin(async move {
            let namespace = &namespace;
            self.read("list decisions", lent!(|connection| audit::log(connection, namespace, before, limit)))
                .await
        })
    }

    fn declare(&self, declared: Vec<Declaration>) -> LedgerFuture<'_, ()> {
        Box::pin(async move {
            let declared = &declared;
            self.write("record key templates", lent!(|connection| declare::declare(connection, declared)))
                .await?
        })
    }

    fn hidden(&self, of: Served) -> LedgerFuture<'_, Option<HiddenPaths>> {
        Box::pin(async move {
            let of = &of;
            self.read(
                "read what is hidden",
                lent!(|connection| declare::hidden(connection, &of.operation, &of.version)),
            )
            .await
        })
    }

    fn declarations(&self) -> LedgerFuture<'_, Vec<Declared>> {
        Box::pin(async move {
            self.read("read what is declared", lent!(|connection| declare::declarations(connection))).await
        })
    }

    fn mark(&self) -> LedgerFuture<'_, StoreMark> {
        Box::pin(async move {
            self.read("read its high-water mark", lent!(|connection| mark::read(connection))).await
        })
    }

    fn change_mark(&self, change: MarkChange) -> LedgerFuture<'_, StoreMark> {
        Box::pin(async move {
            let (change, now) = (&change, self.sources.now());
            self.write("write its high-water mark", lent!(|connection| mark::change(connection, change, now)))
                .await
        })
    }

    fn high_water_file(&self) -> Option<HighWaterFile> {
        None
    }

    fn document(&self, id: DocumentId) -> LedgerFuture<'_, Option<Document>> {
        Box::pin(async move {
            let id = &id;
            self.read("read a document", lent!(|connection| document::find(connection, id))).await
        })
    }

    fn documents(&self, query: DocumentQuery) -> LedgerFuture<'_, Vec<Document>> {
        Box::pin(async move {
            let query = &query;
            self.read("read documents", lent!(|connection| document::query(connection, query))).await
        })
    }

    fn write_document(&self, write: DocumentWrite) -> LedgerFuture<'_, DocumentWritten> {
        Box::pin(async move {
            let write = &write;
            self.write("write a document", lent!(|connection| document::write(connection, write))).await
        })
    }

    fn standing(&self) -> LedgerFuture<'_, StoreStanding> {
        Box::pin(async move {
            self.read("read how it stands", lent!(|connection| standing::read(connection))).await
        })
    }

    fn change_standing(
        &self,
        change: StandingChange,
    ) -> LedgerFuture<'_, Result<StoreStanding, StandingRefused>> {
        Box::pin(async move {
            let (change, now) = (&change, self.sources.now());
            self.write("change how it stands", lent!(|connection| standing::change(connection, change, now)))
                .await
        })
    }

    fn export(&self, place: Place, limit: usize) -> LedgerFuture<'_, Batch> {
        Box::pin(async move {
            let place = &place;
            self.read("read what it holds", lent!(|connection| export::export(connection, place, limit)))
                .await
        })
    }

    fn import(&self, import: Import) -> LedgerFuture<'_, Result<(), StandingRefused>> {
        Box::pin(async move {
            let import = &import;
            let imported = self.write(
                "take in what another store held",
                lent!(|connection| crate::import::import(connection, import)),
            );
            let imported = imported.await;
            self.followers.arrived();
            imported
        })
    }

    fn inspect(&self) -> LedgerFuture<'_, Inspection> {
        Box::pin(async move {
            let now = self.sources.now();
            self.read("read its settings", lent!(|connection| inspect::inspect(connection, now))).await
        })
    }

    fn unserved(&self, namespace: Namespace, offers: Vec<Offer>) -> LedgerFuture<'_, Vec<Unserved>> {
        Box::pin(async move {
            let (namespace, offers, now) = (&namespace, &offers, self.sources.now());
            self.read(
                "count records that nobody serves",
                lent!(|connection| read::unserved(connection, namespace, offers, now)),
            )
            .await
        })
    }

    fn next_due(&self, namespace: Namespace, offers: Vec<Offer>) -> LedgerFuture<'_, Option<Duration>> {
        Box::pin(async move {
            if offers.iter().any(|offer| offer.at_most.is_some()) {
                self.ends.expect();
            }
            let (namespace, offers, now) = (&namespace, &offers, self.sources.now());
            self.read(
                "look for the next due record",
                lent!(|connection| read::next_due(connection, namespace, offers, now)),
            )
            .await
        })
    }

    fn wakeups(&self) -> watch::Receiver<u64> {
        self.listen();
        self.bell.sleepers()
    }

    fn wake(&self) {
        self.bell.wake();
    }
}
