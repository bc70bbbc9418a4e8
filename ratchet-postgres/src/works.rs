//! What the lanes of a ledger do.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ratchet_core::admission::{GateAnswer, GateOrder};
use ratchet_core::decide::{Answer, Refusal};
use ratchet_core::ledger::{AwaitedEnds, Claim, Order};
use ratchet_core::{Record, State, Submission, Submitted};
use sqlx::PgConnection;

use crate::bell::Bell;
use crate::claim::Claiming;
use crate::error::Fault;
use crate::held::Held;
use crate::lane::{Lane, Work};
use crate::options::Sources;
use crate::submit::{Terms, Told};
use crate::{apply, gates, submit};

/// How long a lane waits where others are sure to end soon.
const TURN: Duration = Duration::from_millis(100);

#[derive(Debug)]
pub(crate) struct Submits {
    pub(crate) sources: Sources,
    pub(crate) bell: Arc<Bell>,
    /// Whether most of the last submissions were on record already.
    pub(crate) repeated: AtomicBool,
}

impl Work for Submits {
    type Question = Submission;
    type Answer = Told;

    const DOING: &'static str = "insert records";

    async fn answer(
        &self,
        connection: &mut PgConnection,
        questions: &[&Submission],
        each_alone: bool,
    ) -> Result<Vec<Told>, Fault> {
        let look_first = self.repeated.load(Ordering::Relaxed);
        let terms = Terms { now: self.sources.now(), bell: Some(&self.bell), look_first };
        if each_alone {
            return submit::submit_each(connection, questions, terms).await;
        }
        let answers = submit::submit_all(connection, questions, terms).await?;
        Ok(answers.into_iter().map(Ok).collect())
    }

    fn committed(&self, answers: &[Told]) {
        let new = answers.iter().filter(|answer| matches!(answer, Ok(Submitted::New { .. }))).count();
        self.repeated.store(new * 2 < answers.len(), Ordering::Relaxed);
        if new > 0 {
            self.bell.wake();
        }
    }

    /// A commit whose answer was lost has made records.
    fn failed(&self) {
        self.bell.ring();
    }
}

#[derive(Debug)]
pub(crate) struct Applies {
    pub(crate) sources: Sources,
    pub(crate) held: Arc<Held>,
    pub(crate) bell: Arc<Bell>,
    pub(crate) ends: AwaitedEnds,
}

impl Work for Applies {
    type Question = Order;
    type Answer = Result<Answer, Refusal>;

    const DOING: &'static str = "write what was decided";

    // Who holds a record of ours is about to commit what it decided.
    const PATIENCE: Duration = TURN;

    fn are_independent(orders: &[Order]) -> bool {
        let mut records = HashSet::with_capacity(orders.len());
        orders.iter().all(|order| records.insert(&order.id))
    }

    async fn answer(
        &self,
        connection: &mut PgConnection,
        questions: &[&Order],
        _: bool,
    ) -> Result<Vec<Self::Answer>, Fault> {
        apply::apply(connection, questions, &self.sources, &self.held).await
    }

    fn committed(&self, answers: &[Self::Answer]) {
        let made_due = |answer: &Self::Answer| {
            matches!(
                answer,
                Ok(Answer::Released | Answer::Settled(State::Pending) | Answer::Now(State::Pending))
            )
        };
        if answers.iter().any(made_due) {
            self.bell.ring();
        } else if self.ends.came_with(answers) {
            self.bell.wake();
        }
    }
}

#[derive(Debug)]
pub(crate) struct Claims {
    pub(crate) claiming: Claiming,
    pub(crate) applies: Arc<Lane<Applies>>,
}

impl Work for Claims {
    type Question = Claim;
    type Answer = Vec<Record>;

    const DOING: &'static str = "claim records";

    // All claimers of a limit take turns, each for one commit.
    const PATIENCE: Duration = TURN;

    // A lease for somebody who went away would only keep the record from others.
    const NEEDS_CALLER: bool = true;

    async fn answer(
        &self,
        connection: &mut PgConnection,
        questions: &[&Claim],
        _: bool,
    ) -> Result<Vec<Vec<Record>>, Fault> {
        self.claiming.claim(connection, questions).await
    }

    /// Leases whose claimer went away meanwhile are given back at once, rather than after their time.
    fn not_taken(&self, answers: Vec<Vec<Record>>) {
        let orders: Vec<Order> = answers.into_iter().flatten().map(Order::giving_back).collect();
        let applies = Arc::clone(&self.applies);
        tokio::spawn(async move { applies.ask(orders).await });
    }
}

#[derive(Debug)]
pub(crate) struct Admits {
    pub(crate) sources: Sources,
}

impl Work for Admits {
    type Question = GateOrder;
    type Answer = GateAnswer;

    const DOING: &'static str = "ask the gate of a destination";

    // All programs take turns at a gate, each for one commit.
    const PATIENCE: Duration = TURN;

    async fn answer(
        &self,
        connection: &mut PgConnection,
        questions: &[&GateOrder],
        _: bool,
    ) -> Result<Vec<GateAnswer>, Fault> {
        gates::admit(connection, questions, &self.sources).await
    }
}
