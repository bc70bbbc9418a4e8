//! What section by section is promised about the decision, sentence by sentence and as one exhaustive table.

mod adopt;
mod follow;
mod late;
mod leases;
mod not_retryable;
mod people;
mod pins;
mod properties;
mod retries;
mod steps;
mod submissions;
mod table;
mod unknown;
mod windows;

use std::time::Duration;

use super::*;
use crate::contract::Contract;
use crate::model::{
    AttemptEnd, Cause, CauseKind, Fingerprint, Generation, Namespace, OperationName, Outcome, Payload,
    Priority, Queue, Recipe, RecordId, Scope, State, StepName, Submission, Token, Uncertainty, Version,
    WorkerId,
};
use crate::policy::{OnUnknown, Policy, RetryPolicy};

const START: Timestamp = Timestamp::from_millis(1_768_464_000_000);
const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_mins(1);
const HOUR: Duration = Duration::from_hours(1);
const DAY: Duration = Duration::from_hours(24);

const CHARGE: StepName = StepName::from_static("charge");
const NOTIFY: StepName = StepName::from_static("notify");

/// Recognises a repetition for 24 hours, which makes a window of 23.
const HEADER: Contract = Contract::header("Idempotency-Key");

/// This long after the start of a story.
fn at(span: Duration) -> Timestamp {
    START.after(span)
}

/// A record, the time, and what happens to it.
#[derive(Debug, Clone)]
struct Story {
    record: Record,
    now: Timestamp,
}

#[allow(clippy::needless_pass_by_value, reason = "a command is written where it is given")]
impl Story {
    /// A pending record of an operation with this contract, without a spread between its retries.
    fn of(contract: Contract) -> Self {
        Self::with(contract, |_| {})
    }

    fn with(contract: Contract, change: impl FnOnce(&mut Policy)) -> Self {
        let mut submission = submission("invoice:1");
        submission.contract = contract.terms();
        change(&mut submission.policy);
        let SubmitDecision::Insert { record, .. } = decide_submission(None, &submission, START) else {
            panic!("a new key is inserted");
        };
        Self { record: *record, now: START }
    }

    /// The same with an attempt that has just been started at its contract.
    fn running(contract: Contract) -> Self {
        Self::of(contract).lease_and_start()
    }

    fn wait(mut self, span: Duration) -> Self {
        self.now = self.now.after(span);
        self
    }

    fn lease_and_start(mut self) -> Self {
        assert_eq!(self.tell(lease()), Answer::Leased);
        let token = self.record.token;
        assert_eq!(self.tell(Command::Start { token }), Answer::Started);
        self
    }

    /// Ends the current attempt.
    fn end(mut self, outcome: Outcome) -> Self {
        let answer = self.tell(settle(self.record.token.get(), outcome));
        assert_eq!(answer, Answer::Settled(self.record.state));
        self
    }

    /// After these commands, which are all accepted.
    fn then(mut self, commands: impl IntoIterator<Item = Command>) -> Self {
        for command in commands {
            self.tell(command);
        }
        self
    }

    fn decide(&self, command: &Command) -> Result<Decision, Refusal> {
        decide(&self.record, command, Moment { now: self.now, jitter: Jitter::MIDDLE })
    }

    fn decision(&mut self, command: &Command) -> Decision {
        let decision = self.decide(command).unwrap_or_else(|refusal| panic!("{command:?}: {refusal}"));
        self.record = decision.record.clone();
        decision
    }

    fn tell(&mut self, command: Command) -> Answer {
        self.decision(&command).answer
    }

    fn refusal(&self, command: Command) -> Refusal {
        match self.decide(&command) {
            Err(refusal) => refusal,
            Ok(decision) => panic!("{command:?} was answered {:?}", decision.answer),
        }
    }

    fn state(&self) -> State {
        self.record.state
    }

    fn why(&self) -> Option<Uncertainty> {
        self.record.uncertainty
    }
}

fn submission(key: &str) -> Submission {
    Submission {
        id: RecordId {
            namespace: Namespace::DEFAULT,
            operation: OperationName::from_static("invoice.collect"),
            key: ratchet_key::Key::parse(key).expect("a key"),
            generation: Generation::FIRST,
        },
        version: Version::from_static("1"),
        input: json("1200"),
        compared: None,
        policy: Policy {
            retry: RetryPolicy { jitter_percent: 0, ..RetryPolicy::STANDARD },
            ..Policy::DEFAULT
        },
        contract: HEADER.terms(),
        not_before: None,
        queue: Queue::DEFAULT,
        priority: Priority(0),
        group: None,
        after: None,
        renewal: None,
        trace: None,
    }
}

fn json(text: &str) -> Payload {
    Payload::from_stored(text)
}

fn lease() -> Command {
    Command::Lease { worker: WorkerId::from_static("worker-1"), duration: MINUTE, start_if_safe: false }
}

fn lease_ahead() -> Command {
    Command::Lease { worker: WorkerId::from_static("worker-1"), duration: MINUTE, start_if_safe: true }
}

fn start(token: u64) -> Command {
    Command::Start { token: Token::new(token) }
}

fn adopt(token: u64, contract: Contract, policy: Policy) -> Command {
    Command::Adopt { token: Token::new(token), contract: contract.terms(), policy: Box::new(policy) }
}

fn settle(token: u64, outcome: Outcome) -> Command {
    Command::Settle { token: Token::new(token), outcome }
}

fn cancel() -> Command {
    Command::Cancel { by: "ada".to_owned(), reason: "ordered twice".to_owned(), seen: None }
}

fn replay(accept_risk: bool) -> Command {
    Command::Replay {
        by: "bo".to_owned(),
        reason: "once more".to_owned(),
        accept_risk,
        at_most: None,
        seen: None,
    }
}

fn resolve(verdict: Verdict) -> Command {
    Command::Resolve {
        by: "cy".to_owned(),
        reason: "asked the provider".to_owned(),
        seen: Token::new(1),
        verdict,
    }
}

fn begin(token: u64, step: StepName, contract: Contract) -> Command {
    Command::BeginStep { token: Token::new(token), step, contract: contract.terms(), reconciles: false }
}

/// By a handler that can ask.
fn begin_asking(token: u64, step: StepName, contract: Contract) -> Command {
    Command::BeginStep { token: Token::new(token), step, contract: contract.terms(), reconciles: true }
}

fn restart(token: u64, step: StepName) -> Command {
    Command::RestartStep { token: Token::new(token), step }
}

fn finish(token: u64, step: StepName, outcome: Outcome) -> Command {
    Command::FinishStep { token: Token::new(token), step, outcome }
}

fn pin(token: u64, step: Option<StepName>, body: &str) -> Command {
    Command::Pin { token: Token::new(token), step, request: Box::new(request(body)) }
}

fn request(body: &str) -> PinRequest {
    PinRequest {
        wire_key: "invoice:1".to_owned(),
        recipe: Recipe::VERBATIM,
        secret: None,
        place: "header idempotency-key".to_owned(),
        deduplicates: true,
        sent_before: false,
        scope: Scope::of("account-7"),
        request: Fingerprint::of(body.as_bytes()).into(),
        kept: None,
    }
}

fn done() -> Outcome {
    Outcome::done(json("\"ch_1\""))
}

fn unknown() -> Outcome {
    Outcome::unknown(cause())
}

fn cause() -> Cause {
    Cause::new(CauseKind::Transport, "connection reset")
}

fn not_applied() -> Outcome {
    Outcome::NotApplied { cause: cause(), retry_after: None }
}

fn told_to_wait(span: Duration) -> Outcome {
    Outcome::NotApplied { cause: cause(), retry_after: Some(span) }
}

fn rejected() -> Outcome {
    Outcome::Rejected { cause: cause(), after_lookup: false }
}

fn rejected_after_lookup() -> Outcome {
    Outcome::Rejected { cause: cause(), after_lookup: true }
}

/// How the attempt ended that the decision notes.
fn end(decision: &Decision) -> (u64, &AttemptEnd) {
    match &decision.attempt {
        Some(AttemptNote::Ended { token, end }) => (token.get(), end),
        other => panic!("an end was expected, found {other:?}"),
    }
}
