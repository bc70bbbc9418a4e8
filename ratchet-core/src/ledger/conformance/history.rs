//! A random history of a store, the same on every ledger for the same seed.

use super::build::{
    CHARGE, COLLECT, DAY, HOUR, MAIL, MINUTE, NOTIFY, POLICY, SECOND, begin, cancel, claim, done, finish,
    json, not_applied, offer, pin, rejected, replay, resolve, settle, start, submission, unknown,
};
use crate::admission::{Destination, GateCommand, GateOrder};
use crate::contract::Contract;
use crate::decide::Verdict;
use crate::ledger::{Claim, Declaration, Document, DocumentId, DocumentWrite, Ledger, MarkChange, Order};
use crate::model::{
    After, Branch, DocumentKind, DocumentName, GroupId, Namespace, Outcome, Priority, RecordId, Renewal,
    State, StepName, Submission, Submitted, Version,
};
use crate::policy::Policy;
use crate::time::ManualClock;

const TENANT: Namespace = Namespace::from_static("tenant-a");
const TRACE: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

/// What happened so far, as far as the next event needs to know.
pub(super) struct History<'a> {
    ledger: &'a dyn Ledger,
    clock: &'a ManualClock,
    random: fastrand::Rng,
    known: Vec<RecordId>,
    leased: Vec<(RecordId, u64)>,
    documents: u32,
}

impl<'a> History<'a> {
    /// Events happen to `ledger`, which reads `clock`.
    pub(super) fn new(ledger: &'a dyn Ledger, clock: &'a ManualClock, seed: u64) -> Self {
        let random = fastrand::Rng::with_seed(seed);
        Self { ledger, clock, random, known: Vec::new(), leased: Vec::new(), documents: 0 }
    }

    /// Lets that many events happen, and then all leases end.
    pub(super) async fn live(&mut self, events: usize) {
        self.declare().await;
        for _ in 0..events {
            self.event().await;
            self.ledger.follow(1_000).await.expect("follow");
        }
        self.clock.advance(DAY);
        while self.ledger.expire(100).await.expect("expire") > 0 {}
        self.ledger.follow(1_000).await.expect("follow");
    }

    async fn event(&mut self) {
        match self.random.u8(0..26) {
            0..=4 => self.submit().await,
            5..=7 => self.claim().await,
            8..=19 => self.attempt().await,
            20..=21 => self.people().await,
            22 => {
                for _ in 0..5 {
                    self.renew().await;
                }
            }
            23 => self.surface().await,
            24 => {
                let span = *self.pick(&[SECOND, MINUTE, HOUR]);
                self.clock.advance(span);
                // All of them: which come first where there is no room for all is for each ledger to say.
                self.ledger.expire(1_000).await.expect("expire");
            }
            _ => drop(self.ledger.purge(1_000).await.expect("purge")),
        }
    }

    fn pick<'b, T>(&mut self, of: &'b [T]) -> &'b T {
        &of[self.random.usize(0..of.len())]
    }

    fn record(&mut self) -> Option<RecordId> {
        (!self.known.is_empty()).then(|| self.known[self.random.usize(0..self.known.len())].clone())
    }

    async fn declare(&self) {
        let first = Declaration {
            new_identity: Some("first\0".to_owned()),
            ..Declaration::new(MAIL, Version::from_static("1"), "mail:<id>\\")
        };
        let hidden = serde_json::from_str(r#"[["card","number"]]"#).expect("paths of the suite");
        let second =
            Declaration { hidden, ..Declaration::new(COLLECT, Version::from_static("1"), "invoice:<id>") };
        let changed = Declaration {
            template: "invoice:<id>:collect".to_owned(),
            new_identity: Some("renumbered".to_owned()),
            ..second.clone()
        };
        self.ledger.declare(vec![first, second, changed]).await.expect("declare");
    }

    async fn submit(&mut self) {
        let key = format!("invoice:{}", self.random.u8(0..40));
        let contract = if self.random.bool() { Contract::NONE } else { Contract::header("Idempotency-Key") };
        let plain = submission(&key);
        let operation = self.pick(&[COLLECT, MAIL]).clone();
        let namespace = self.pick(&[Namespace::DEFAULT, Namespace::DEFAULT, TENANT]).clone();
        let after = if self.random.u8(0..4) == 0 { self.record() } else { None };
        let after = after.filter(|id| id.namespace == namespace);
        let on = *self.pick(&[Branch::Succeeded, Branch::Failed]);
        let retention = *self.pick(&[HOUR, DAY * 90]);
        let group = (self.random.u8(0..3) == 0).then_some(GroupId::from_static("group-1"));
        let submission = Submission {
            id: RecordId { namespace, operation, ..plain.id },
            input: json(&format!(r#"{{"amount":{},"text":"a\u0000b"}}"#, self.random.u8(0..3))),
            contract: contract.terms(),
            policy: Policy { retention, ..POLICY },
            priority: Priority(i16::from(self.random.u8(0..2))),
            group,
            after: after.map(|id| After { id, on }),
            trace: self.random.bool().then(|| TRACE.parse().expect("a place in a trace")),
            ..plain
        };
        let id = submission.id.clone();
        let _ = self.ledger.submit(vec![submission]).await.expect("submit");
        if !self.known.contains(&id) {
            self.known.push(id);
        }
    }

    async fn renew(&mut self) {
        let Some(id) = self.record() else { return };
        let renewal = Some(Renewal { by: "ada\0".to_owned(), reason: "again \\ once".to_owned() });
        let submission = Submission { id: id.clone(), renewal, ..submission(id.key.as_str()) };
        let answers = self.ledger.submit(vec![submission]).await.expect("submit");
        if let Some(Submitted::New { id }) = answers.into_iter().next() {
            self.known.push(id);
        }
    }

    async fn claim(&mut self) {
        let namespace = self.pick(&[Namespace::DEFAULT, TENANT]).clone();
        let version = Version::from_static("1");
        let offers = vec![offer(COLLECT, version.clone()), offer(MAIL, version)];
        let start_if_safe = self.random.bool();
        let claim = Claim { namespace, offers, start_if_safe, ..claim(2) };
        let leased = self.ledger.claim(claim).await.expect("claim");
        self.leased.extend(leased.into_iter().map(|record| (record.id, record.token.get())));
    }

    /// Something that an attempt does, or did once.
    async fn attempt(&mut self) {
        if self.leased.is_empty() {
            return;
        }
        let place = self.random.usize(0..self.leased.len());
        let (id, token) = self.leased[place].clone();
        let step = self.pick(&[CHARGE, NOTIFY]).clone();
        let commands = match self.random.u8(0..8) {
            0 | 1 => vec![start(token)],
            2 => vec![start(token), pin(token, None, "body")],
            3 => {
                vec![start(token), begin(token, step.clone(), Contract::NONE), pin(token, Some(step), "step")]
            }
            4 => {
                vec![begin(token, step.clone(), Contract::header("Key")), finish(token, step, self.outcome())]
            }
            5 => vec![start(token), pin(token, None, "body"), settle(token, self.outcome())],
            _ => vec![start(token), settle(token, self.outcome())],
        };
        for command in commands {
            self.order(&id, command).await;
        }
    }

    fn outcome(&mut self) -> Outcome {
        match self.random.u8(0..6) {
            0 | 1 => done(r#"{"charge":"ch_\u00001"}"#),
            2 => not_applied(None),
            3 => rejected(),
            _ => unknown(),
        }
    }

    async fn people(&mut self) {
        let Some(id) = self.record() else { return };
        let Some(crate::decide::Stored::Record(record)) = self.ledger.find(id.clone()).await.expect("find")
        else {
            return;
        };
        let verdict = match self.random.u8(0..4) {
            0 => Verdict::Applied { result: Some(json("7")) },
            1 => Verdict::NotAppliedAndClosed,
            2 => Verdict::NotAppliedOldCallsRefused,
            _ => Verdict::StillUnknown { ask_again_at: Some(record.created_at.after(DAY)) },
        };
        let command = match self.random.u8(0..4) {
            0 => cancel(),
            1 => replay(self.random.bool()),
            _ if record.state == State::Uncertain => resolve(record.token.get(), verdict),
            _ => return,
        };
        self.order(&id, command).await;
    }

    /// What is not about records.
    async fn surface(&mut self) {
        self.documents += 1;
        let name = DocumentName::new(format!("document-{}", self.documents)).expect("a name of the suite");
        let kind = self.pick(&[DocumentKind::from_static("run"), DocumentKind::from_static("key")]).clone();
        let namespace = self.pick(&[Namespace::DEFAULT, TENANT]).clone();
        let body = Document::body("a\0b").expect("a body of the suite");
        let write = DocumentWrite::new(DocumentId { kind, namespace, name }, body);
        let _ = self.ledger.write_document(write).await.expect("write_document");
        let destination = Destination::new("payments").at_most(3);
        let order = GateOrder { destination, command: GateCommand::Enter };
        self.ledger.admit(vec![order]).await.expect("admit");
        let acknowledge = MarkChange::Acknowledge { by: "ada\0".to_owned(), reason: "looked \\".to_owned() };
        self.ledger.change_mark(acknowledge).await.expect("change_mark");
    }

    /// Whether it is carried out is not the question: it is, or it is refused, on every ledger alike.
    async fn order(&self, id: &RecordId, command: crate::decide::Command) {
        let _ = self.ledger.apply(vec![Order { id: id.clone(), command }]).await.expect("apply");
    }
}

/// Which steps there are in a history.
pub(super) const STEPS: [StepName; 2] = [CHARGE, NOTIFY];
