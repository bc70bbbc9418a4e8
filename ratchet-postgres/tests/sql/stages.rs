//! Records in every state that a decision looks at.

use std::time::Duration;

use ratchet_core::decide::Command;
use ratchet_core::ledger::{Claim, Offer, Order, Served};
use ratchet_core::{
    After, Branch, Cause, CauseKind, Contract, Ledger as _, OnUnknown, Outcome, Payload, Policy, RetryPolicy,
    StepName, Submission, Submitted, Token, Version, WorkerId,
};
use ratchet_postgres::PostgresLedger;
use ratchet_postgres::sqlx::PgConnection;

use crate::support::{OPERATION, POLICY, submission, text};

/// How far a record has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    Missing,
    Waiting,
    Pending,
    Leased,
    Started,
    InStep,
    AppliedPerhaps,
    StepAppliedPerhaps,
    Succeeded,
    Failed,
    Exhausted,
    Uncertain,
    Cancelled,
    Abandoned,
    Skipped,
    Purged,
}

impl Stage {
    pub(crate) const ALL: [Self; 16] = [
        Self::Missing,
        Self::Waiting,
        Self::Pending,
        Self::Leased,
        Self::Started,
        Self::InStep,
        Self::AppliedPerhaps,
        Self::StepAppliedPerhaps,
        Self::Succeeded,
        Self::Failed,
        Self::Exhausted,
        Self::Uncertain,
        Self::Cancelled,
        Self::Abandoned,
        Self::Skipped,
        Self::Purged,
    ];

    fn submission(self, namespace: &str) -> Submission {
        let usual = submission(namespace, "a", 1);
        let retry = RetryPolicy { max_attempts: 1, ..RetryPolicy::STANDARD };
        match self {
            Self::Exhausted => Submission { policy: Policy { retry, ..POLICY }, ..usual },
            Self::Uncertain => Submission { contract: Contract::NONE.terms(), ..usual },
            Self::Abandoned => Submission {
                policy: Policy { on_unknown: OnUnknown::MayLose, reconciles: false, ..POLICY },
                contract: Contract::NONE.terms(),
                ..usual
            },
            Self::InStep | Self::StepAppliedPerhaps => {
                Submission { contract: Contract::STEPS.terms(), ..usual }
            }
            _ => usual,
        }
    }

    fn commands(self) -> Vec<Command> {
        let token = Token::new(1);
        let step = StepName::from_static("charge");
        let start = Command::Start { token };
        let begin = Command::BeginStep {
            token,
            step,
            contract: Contract::header("Idempotency-Key").terms(),
            reconciles: false,
        };
        let cause = || Cause::new(CauseKind::Transport, "a test");
        let settle = |outcome| vec![Command::Start { token }, Command::Settle { token, outcome }];
        let unknown = || Outcome::unknown(cause());
        match self {
            Self::Missing | Self::Waiting | Self::Pending | Self::Skipped | Self::Leased => Vec::new(),
            Self::Cancelled => {
                vec![Command::Cancel { by: "ada".to_owned(), reason: "a test".to_owned(), seen: None }]
            }
            Self::Started => vec![start],
            Self::InStep => vec![start, begin],
            Self::StepAppliedPerhaps => {
                vec![start, begin, Command::Settle { token, outcome: unknown() }]
            }
            Self::Succeeded | Self::Purged => {
                settle(Outcome::done(Payload::encode("paid", 100).expect("a result")))
            }
            Self::Failed => settle(Outcome::Rejected { cause: cause(), after_lookup: false }),
            Self::Exhausted => settle(Outcome::NotApplied { cause: cause(), retry_after: None }),
            Self::AppliedPerhaps | Self::Uncertain | Self::Abandoned => settle(unknown()),
        }
    }
}

/// Makes a record of this stage, the only one of its namespace.
pub(crate) async fn make(
    ledger: &PostgresLedger,
    connection: &mut PgConnection,
    stage: Stage,
    namespace: &str,
) {
    if stage == Stage::Missing {
        return;
    }
    let submission = stage.submission(namespace);
    let id = submission.id.clone();
    if matches!(stage, Stage::Waiting | Stage::Skipped) {
        return make_follower(ledger, submission, stage).await;
    }
    let _ = ledger.submit(vec![submission]).await.expect("an answer");
    if stage != Stage::Pending {
        let claim = Claim {
            namespace: id.namespace.clone(),
            offers: vec![Offer::new(Served { operation: OPERATION, version: Version::from_static("1") })],
            worker: WorkerId::from_static("worker-1"),
            limit: 1,
            lease: Duration::from_mins(10),
            start_if_safe: false,
        };
        assert_eq!(ledger.claim(claim).await.expect("a claim").len(), 1);
    }
    for command in stage.commands() {
        let answers = ledger.apply(vec![Order { id: id.clone(), command }]).await.expect("an answer");
        for answer in answers {
            answer.expect("no refusal");
        }
    }
    if stage == Stage::Purged {
        let due = format!(
            "UPDATE ratchet.progress SET purge_at = 0 WHERE namespace = '{namespace}' RETURNING state"
        );
        text(connection, &due).await.expect("a record");
        assert_eq!(ledger.purge(10).await.expect("a purge"), 1);
    }
}

/// A record after another one, which is cancelled if the follower is to be skipped.
async fn make_follower(ledger: &PostgresLedger, follower: Submission, stage: Stage) {
    let first = submission(follower.id.namespace.as_str(), "before", 1);
    let id = first.id.clone();
    let after = Some(After { id: id.clone(), on: Branch::Succeeded });
    let answers = ledger.submit(vec![first, Submission { after, ..follower }]).await.expect("an answer");
    assert!(answers.iter().all(|answer| matches!(answer, Submitted::New { .. })), "{answers:?}");
    if stage == Stage::Skipped {
        let command = Command::Cancel { by: "ada".to_owned(), reason: "a test".to_owned(), seen: None };
        ledger.apply(vec![Order { id, command }]).await.expect("an answer");
    }
}
