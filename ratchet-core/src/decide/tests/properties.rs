//! What holds after every command, whatever came before.

use proptest::prelude::*;

use super::follow::waiting;
use super::*;
use crate::model::{Branch, Effect, StepState};

/// A command whose token is the newest one, or one that many below or above it.
#[derive(Debug, Clone)]
struct Move {
    wait: Duration,
    token: i64,
    jitter: u64,
    command: Command,
}

fn outcomes() -> impl Strategy<Value = Outcome> {
    let retry_after = prop::option::of((0..4 * 3600_u64).prop_map(Duration::from_secs));
    prop_oneof![
        2 => Just(done()),
        3 => retry_after.clone().prop_map(|retry_after| Outcome::NotApplied { cause: cause(), retry_after }),
        2 => any::<bool>().prop_map(|after_lookup| Outcome::Rejected { cause: cause(), after_lookup }),
        4 => retry_after.prop_map(|retry_after| Outcome::Unknown { cause: cause(), retry_after }),
        1 => Just(Outcome::unknown(Cause::new(CauseKind::RequestChanged, "body"))),
        1 => Just(Outcome::unknown(Cause::new(CauseKind::NotRetryable, "no use"))),
    ]
}

fn contracts() -> impl Strategy<Value = Contract> {
    prop_oneof![
        Just(Contract::NONE),
        Just(HEADER),
        Just(HEADER.remembers_for(HOUR)),
        Just(HEADER.remembers_forever()),
        Just(Contract::STEPS),
    ]
}

fn verdicts() -> impl Strategy<Value = Verdict> {
    prop_oneof![
        Just(Verdict::Applied { result: None }),
        Just(Verdict::NotAppliedAndClosed),
        Just(Verdict::NotAppliedOldCallsRefused),
        Just(Verdict::StillUnknown { ask_again_at: Some(at(DAY)) }),
    ]
}

fn commands() -> impl Strategy<Value = Command> {
    let token = Token::NONE;
    let step = prop_oneof![Just(CHARGE), Just(NOTIFY)];
    let body = prop_oneof![4 => Just("body"), 1 => Just("other")];
    prop_oneof![
        6 => prop_oneof![Just(lease()), Just(lease_ahead())],
        6 => Just(Command::Start { token }),
        1 => contracts().prop_map(move |contract| adopt(0, contract, Policy::DEFAULT)),
        1 => Just(Command::Renew { token, duration: MINUTE }),
        1 => Just(Command::Release { token }),
        3 => Just(Command::Expire),
        3 => (prop::option::of(step.clone()), body)
            .prop_map(move |(step, body)| pin(0, step, body)),
        4 => (step.clone(), contracts(), any::<bool>()).prop_map(move |(step, contract, reconciles)| {
            Command::BeginStep { token, step, contract: contract.terms(), reconciles }
        }),
        1 => step.clone().prop_map(move |step| Command::RestartStep { token, step }),
        4 => (step, outcomes()).prop_map(move |(step, outcome)| Command::FinishStep { token, step, outcome }),
        6 => outcomes().prop_map(move |outcome| Command::Settle { token, outcome }),
        1 => Just(cancel()),
        1 => Just(Command::Ask { at_most: MINUTE }),
        2 => verdicts().prop_map(resolve),
        2 => any::<bool>().prop_map(replay),
    ]
}

fn moves() -> impl Strategy<Value = Vec<Move>> {
    let wait = prop_oneof![
        4 => Just(Duration::ZERO),
        4 => (0..1200_u64).prop_map(Duration::from_secs),
        1 => (0..30 * 3600_u64).prop_map(Duration::from_secs),
    ];
    let token = prop_oneof![8 => Just(0_i64), 1 => -3..2_i64];
    let one = (wait, token, any::<u64>(), commands()).prop_map(|(wait, token, jitter, command)| Move {
        wait,
        token,
        jitter,
        command,
    });
    prop::collection::vec(one, 1..60)
}

fn stories() -> impl Strategy<Value = Story> {
    let tradeoff =
        prop_oneof![Just(OnUnknown::Park), Just(OnUnknown::MayDuplicate), Just(OnUnknown::MayLose)];
    let horizon = prop_oneof![Just(HOUR), Just(DAY)];
    (contracts(), tradeoff, any::<bool>(), 1..5_u32, horizon).prop_map(
        |(contract, on_unknown, reconciles, max_attempts, horizon)| {
            Story::with(contract, |policy| {
                policy.on_unknown = on_unknown;
                policy.reconciles = reconciles;
                policy.retry = RetryPolicy { max_attempts, horizon, ..RetryPolicy::STANDARD };
            })
        },
    )
}

/// The command with the token that the move means.
fn with_token(command: &Command, to: Token) -> Command {
    let mut command = command.clone();
    match &mut command {
        Command::Start { token }
        | Command::Adopt { token, .. }
        | Command::Renew { token, .. }
        | Command::Release { token }
        | Command::Pin { token, .. }
        | Command::BeginStep { token, .. }
        | Command::RestartStep { token, .. }
        | Command::FinishStep { token, .. }
        | Command::Settle { token, .. } => *token = to,
        _ => {}
    }
    command
}

fn effects(record: &Record) -> Vec<(Option<StepName>, &Effect)> {
    let steps = record.steps.iter().map(|(name, step)| (Some(name.clone()), &step.effect));
    std::iter::once((None, &record.effect)).chain(steps).collect()
}

/// The commands after which an effect may no longer count as possibly applied.
fn clears_the_mark(before: &Record, command: &Command, step: Option<&StepName>) -> bool {
    let confirmed = before.cause.as_ref().is_some_and(|cause| cause.kind() == CauseKind::ReportedLate);
    let refused_after_lookup =
        |outcome: &Outcome| matches!(outcome, Outcome::Rejected { after_lookup: true, .. });
    match command {
        Command::Settle { outcome: Outcome::Done { .. }, .. } => true,
        Command::Settle { .. } | Command::Expire if confirmed => true,
        Command::Settle { outcome, .. } => step.is_none() && refused_after_lookup(outcome),
        Command::FinishStep { step: finished, outcome, .. } => {
            step == Some(finished)
                && (matches!(outcome, Outcome::Done { .. }) || refused_after_lookup(outcome))
        }
        Command::RestartStep { step: restarted, .. } => step == Some(restarted),
        Command::Resolve { verdict, .. } => !matches!(verdict, Verdict::StillUnknown { .. }),
        _ => false,
    }
}

/// What is true of a record by itself.
fn check_record(record: &Record) {
    let marked = record.may_be_applied();
    let state = record.state;
    assert_eq!(record.lease.is_some(), state == State::Running, "a lease exists exactly while it runs");
    assert_eq!(record.uncertainty.is_some(), state == State::Uncertain, "an uncertain record says why");
    assert_eq!(record.settled_at.is_some(), state.is_settled());
    assert!(!(state.is_definite() && marked), "{state} may not hold an effect that may be applied");
    assert!(marked || !matches!(state, State::Uncertain | State::Abandoned), "{state} without a doubt");
    assert!(record.attempts >= record.spent);
    assert!(record.token.get() >= u64::from(record.attempts), "an attempt has a token of its own");
    assert!(record.reconcile_at.is_none() || matches!(state, State::Uncertain | State::Abandoned));
    assert!(!record.cancel_requested || state != State::Pending, "a cancelled record does not wait");
    for (step, effect) in effects(record) {
        assert!(!effect.may_be_applied || effect.first_sent_at().is_some(), "{step:?} has no deadline");
    }
    for (name, step) in &record.steps {
        assert!(step.state == StepState::Started || !step.effect.may_be_applied, "{name} is certain");
    }
}

/// What is true of a change.
fn check_change(before: &Record, command: &Command, decision: &Decision, now: Timestamp) {
    let after = &decision.record;
    assert!(after.token >= before.token, "the token only grows");
    assert!(after.attempts >= before.attempts);
    let kept = (&after.id, &after.fingerprint, &after.input, &after.policy.retry, after.created_at);
    let had = (&before.id, &before.fingerprint, &before.input, &before.policy.retry, before.created_at);
    assert_eq!(kept, had);
    let adopts = matches!(command, Command::Adopt { .. });
    assert!(adopts || after.policy == before.policy, "{command:?} changed the policy");
    if before.state.is_definite() && !matches!(command, Command::Replay { .. }) {
        assert_eq!(after, before, "only a replay opens what has an end");
    }
    if before.state == State::Succeeded {
        assert_eq!(after, before, "a success is for ever");
    }
    if before.state == State::Running && after.state == State::Pending && after.attempts > 0 {
        let retried = matches!(decision.answer, Answer::Settled(_));
        assert!(!retried || after.ready_at >= now, "a retry is never in the past");
    }
    for (name, effect) in effects(before) {
        let then = after.effect_of(name.as_ref()).expect("an effect is never forgotten");
        if effect.may_be_applied && !then.may_be_applied {
            assert!(
                clears_the_mark(before, command, name.as_ref()),
                "{command:?} cleared the mark of {name:?}"
            );
        }
        if effect.may_be_applied && then.may_be_applied {
            assert!(then.first_sent_at() <= effect.first_sent_at(), "{command:?} moved the deadline");
            let wire =
                |effect: &Effect| effect.pin.as_ref().map(|pin| (pin.wire_key.clone(), pin.request.clone()));
            assert!(wire(effect).is_none() || wire(effect) == wire(then), "{command:?} changed what is sent");
        }
    }
    for (name, step) in before.steps.iter().filter(|(_, step)| step.state == StepState::Done) {
        assert_eq!(after.steps.get(name), Some(step), "a finished step keeps its result");
    }
}

/// What an attempt pinned it may have sent: if it falls silent, that is marked, unless a step's end is on record.
fn check_silence(before: &Record, command: &Command, decision: &Decision) {
    if *command != Command::Expire {
        return;
    }
    let sent_now = |effect: &Effect| effect.pin.as_ref().is_some_and(|pin| pin.by == before.token);
    for (name, effect) in effects(before).into_iter().filter(|(_, effect)| sent_now(effect)) {
        let ended = name.as_ref().is_some_and(|name| before.steps[name].state != StepState::Started);
        let marked = decision.record.effect_of(name.as_ref()).is_some_and(|effect| effect.may_be_applied);
        assert!(ended || marked, "{name:?} was pinned, and forgotten when the lease was lost: {effect:?}");
    }
}

/// A lease, a step or a pin is granted for an effect that may have happened only where a repetition is recognised,
/// where somebody declared or accepted a second effect, or, for a lease, where the handler asks before it repeats a step.
fn check_blind_send(before: &Record, command: &Command, decision: &Decision, now: Timestamp) {
    if before.risk_accepted {
        return;
    }
    let can_be_asked =
        |name: &Option<StepName>| name.as_ref().is_some_and(|name| before.steps[name].reconciles);
    let granted = |name: &Option<StepName>| match command {
        Command::Lease { .. } => decision.answer == Answer::Leased && !can_be_asked(name),
        Command::BeginStep { step, .. } => {
            decision.answer == Answer::StepBegun && name.as_ref() == Some(step)
        }
        Command::Pin { step, .. } => name == step,
        _ => false,
    };
    let unconfirmed = effects(before).into_iter().filter(|(_, effect)| effect.may_be_applied);
    for (name, effect) in unconfirmed.filter(|(name, _)| granted(name)) {
        let may_duplicate = before.policy.on_unknown == OnUnknown::MayDuplicate
            && !before.policy.reconciles
            && !can_be_asked(&name);
        let sent = effect.first_sent_at().expect("a deadline");
        let recognised = effect.contract.window_end(sent).is_some_and(|end| now < end);
        assert!(recognised || may_duplicate, "{name:?} is sent blindly");
        assert!(now < sent.after(before.policy.retry.horizon), "{name:?} is sent past its horizon");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_sequence_of_commands_keeps_the_promises(mut story in stories(), moves in moves()) {
        check_record(&story.record);
        for one in moves {
            story = story.wait(one.wait);
            let token = story.record.token.get().saturating_add_signed(one.token);
            let command = with_token(&one.command, Token::new(token));
            let moment = Moment { now: story.now, jitter: Jitter::from_bits(one.jitter) };
            let decided = decide(&story.record, &command, moment);
            assert_eq!(decided, decide(&story.record.clone(), &command.clone(), moment), "decided twice");
            if let Ok(decision) = decided {
                check_record(&decision.record);
                check_change(&story.record, &command, &decision, story.now);
                check_silence(&story.record, &command, &decision);
                check_blind_send(&story.record, &command, &decision, story.now);
                story.record = decision.record;
            }
        }
    }

    #[test]
    fn a_follower_is_executed_only_after_an_end_in_its_branch(
        mut story in stories(),
        moves in moves(),
        on in prop_oneof![Just(Branch::Succeeded), Just(Branch::Failed)],
    ) {
        let mut follower = waiting(on);
        let mut first_end = None;
        for one in moves {
            story = story.wait(one.wait);
            let token = story.record.token.get().saturating_add_signed(one.token);
            let command = with_token(&one.command, Token::new(token));
            let moment = Moment { now: story.now, jitter: Jitter::from_bits(one.jitter) };
            if let Ok(decision) = decide(&story.record, &command, moment) {
                story.record = decision.record;
            }
            follower.now = story.now;
            if let Some(ended) = story.record.ending() {
                let decided = follower.decide(&Command::Follow { ended });
                assert_eq!(decided.is_ok(), first_end.is_none(), "decided once, by the first end");
                follower.record = decided.map_or(follower.record, |decision| decision.record);
                first_end.get_or_insert((story.state(), story.why()));
            }
            let taken = first_end.is_some_and(|(state, why)| match on {
                Branch::Succeeded => state == State::Succeeded,
                Branch::Failed => match state {
                    State::Uncertain => why != Some(Uncertainty::Cancelled),
                    other => matches!(other, State::Failed | State::Exhausted | State::Abandoned),
                },
            });
            assert_eq!(follower.decide(&lease()).is_ok(), taken, "{on:?} {first_end:?}");
        }
    }
}
