//! The table of the decision, in every combination of what it depends on.

use super::*;

/// What the attempt that ends now says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Says {
    Done,
    NotApplied,
    NotAppliedWait,
    Rejected,
    RejectedAfterLookup,
    Unknown,
    UnknownWait,
    UnknownRequestChanged,
}

/// What stands between the effect and a second one. The first send was an hour ago.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Destination {
    /// Remembers for a day.
    Inside,
    /// Remembered for an hour.
    WindowOver,
    Forever,
    None,
    /// All effects stand in steps, and none is unfinished.
    StepsFinished,
    /// The unfinished step's destination remembers for a day; that of another, finished step remembers nothing.
    StepInside,
    /// The unfinished step's destination remembers nothing; that of another, finished step does.
    StepNone,
    /// The same, and the handler can ask it.
    StepNoneAsks,
    /// The unfinished step's destination remembers for a day, and the handler can ask it.
    StepInsideAsks,
}

#[derive(Debug, Clone, Copy)]
#[allow(clippy::struct_excessive_bools, reason = "each is one dimension of the table")]
struct Case {
    says: Says,
    destination: Destination,
    /// An earlier attempt may have had the effect.
    earlier_unknown: bool,
    on_unknown: OnUnknown,
    reconciles: bool,
    /// This was the fifth of five attempts; otherwise the first.
    last_attempt: bool,
    /// The horizon was half an hour; otherwise two days.
    horizon_over: bool,
    cancel_requested: bool,
}

const SAYS: [Says; 8] = [
    Says::Done,
    Says::NotApplied,
    Says::NotAppliedWait,
    Says::Rejected,
    Says::RejectedAfterLookup,
    Says::Unknown,
    Says::UnknownWait,
    Says::UnknownRequestChanged,
];

const DESTINATIONS: [Destination; 9] = [
    Destination::Inside,
    Destination::WindowOver,
    Destination::Forever,
    Destination::None,
    Destination::StepsFinished,
    Destination::StepInside,
    Destination::StepNone,
    Destination::StepNoneAsks,
    Destination::StepInsideAsks,
];

const TRADEOFFS: [OnUnknown; 3] = [OnUnknown::Park, OnUnknown::MayDuplicate, OnUnknown::MayLose];

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for says in SAYS {
        for destination in DESTINATIONS {
            for on_unknown in TRADEOFFS {
                for bits in 0..32_u8 {
                    let bit = |place: u8| bits & (1 << place) != 0;
                    let case = Case {
                        says,
                        destination,
                        on_unknown,
                        earlier_unknown: bit(0),
                        reconciles: bit(1),
                        last_attempt: bit(2),
                        horizon_over: bit(3),
                        cancel_requested: bit(4),
                    };
                    // Where no step is unfinished, nothing can be unknown from earlier on.
                    if !(destination == Destination::StepsFinished && case.earlier_unknown) {
                        cases.push(case);
                    }
                }
            }
        }
    }
    cases
}

/// The sentences of the table.
fn expected(case: Case) -> (State, Option<Uncertainty>) {
    use Destination::{
        Inside, None as NoMemory, StepInside, StepInsideAsks, StepNone, StepNoneAsks, StepsFinished,
        WindowOver,
    };

    let unfinished_step = matches!(case.destination, StepInside | StepNone | StepNoneAsks | StepInsideAsks);
    let may_be_applied = case.earlier_unknown || unfinished_step;
    match case.says {
        Says::Done => (State::Succeeded, None),
        // The look-up answers for the handler's own effect, not for that of a step.
        Says::RejectedAfterLookup if !unfinished_step => (State::Failed, None),
        Says::Rejected if !may_be_applied => (State::Failed, None),
        Says::NotApplied | Says::NotAppliedWait if !may_be_applied => retry_then_exhausted(case),
        // Nothing was under way.
        Says::Unknown | Says::UnknownWait | Says::UnknownRequestChanged
            if case.destination == StepsFinished =>
        {
            retry_then_exhausted(case)
        }
        Says::UnknownRequestChanged => uncertain(Uncertainty::RequestChanged),
        _ if case.cancel_requested => uncertain(Uncertainty::Cancelled),
        _ => match case.destination {
            StepNoneAsks | StepInsideAsks if asks_first(case) => ask_then_uncertain(case),
            Inside | StepInside | Destination::Forever | StepNoneAsks | StepInsideAsks => {
                retry_then_uncertain(case)
            }
            WindowOver => reconcile_or_trade_off(case, Uncertainty::WindowOver),
            NoMemory | StepNone => reconcile_or_trade_off(case, Uncertainty::NoDeduplication),
            StepsFinished => unreachable!("nothing was under way"),
        },
    }
}

fn retry_then_exhausted(case: Case) -> (State, Option<Uncertainty>) {
    let waits_for_nothing = matches!(case.says, Says::NotAppliedWait | Says::UnknownWait);
    let bound = (case.last_attempt && !waits_for_nothing) || case.horizon_over;
    match (case.cancel_requested, bound) {
        (true, _) => (State::Cancelled, None),
        (false, true) => (State::Exhausted, None),
        (false, false) => (State::Pending, None),
    }
}

fn retry_then_uncertain(case: Case) -> (State, Option<Uncertainty>) {
    if case.horizon_over {
        uncertain(Uncertainty::HorizonOver)
    } else if case.last_attempt && !spends_nothing(case) {
        uncertain(Uncertainty::AttemptsSpent)
    } else {
        (State::Pending, None)
    }
}

/// The next attempt cannot repeat the unfinished step, and asks about it.
fn asks_first(case: Case) -> bool {
    case.destination == Destination::StepNoneAsks
        || (case.destination == Destination::StepInsideAsks && case.horizon_over)
}

/// A question needs no window and no horizon. It is bounded by the allowed attempts, whoever asked to wait.
fn ask_then_uncertain(case: Case) -> (State, Option<Uncertainty>) {
    if case.last_attempt { uncertain(Uncertainty::AttemptsSpent) } else { (State::Pending, None) }
}

/// A wait that the destination asked for, where nothing was sent or where it will recognise what was.
fn spends_nothing(case: Case) -> bool {
    use Destination::{Forever, Inside, StepInside, StepInsideAsks};

    let recognised = matches!(case.destination, Inside | Forever | StepInside | StepInsideAsks);
    let waits = case.says == Says::NotAppliedWait || (case.says == Says::UnknownWait && recognised);
    waits && !asks_first(case)
}

fn reconcile_or_trade_off(case: Case, why: Uncertainty) -> (State, Option<Uncertainty>) {
    match (case.reconciles, case.on_unknown) {
        (true, _) | (false, OnUnknown::Park) => uncertain(why),
        (false, OnUnknown::MayDuplicate) => retry_then_uncertain(case),
        (false, OnUnknown::MayLose) => (State::Abandoned, None),
    }
}

fn uncertain(why: Uncertainty) -> (State, Option<Uncertainty>) {
    (State::Uncertain, Some(why))
}

/// The attempt has run for an hour, and so has its unfinished step.
fn story(case: Case) -> Story {
    let contract = match case.destination {
        Destination::Inside => HEADER,
        Destination::WindowOver => HEADER.remembers_for(HOUR),
        Destination::Forever => HEADER.remembers_forever(),
        Destination::None => Contract::NONE,
        _ => Contract::STEPS,
    };
    let mut story = Story::with(contract, |policy| {
        policy.on_unknown = case.on_unknown;
        policy.reconciles = case.reconciles;
        policy.retry.horizon = if case.horizon_over { HOUR / 2 } else { 2 * DAY };
    })
    .lease_and_start();
    let (finished, unfinished) = match case.destination {
        Destination::StepInside | Destination::StepInsideAsks => (Some(Contract::NONE), Some(HEADER)),
        Destination::StepNone | Destination::StepNoneAsks => (Some(HEADER), Some(Contract::NONE)),
        Destination::StepsFinished => (Some(Contract::NONE), None),
        _ => (None, None),
    };
    let asks = matches!(case.destination, Destination::StepNoneAsks | Destination::StepInsideAsks);
    if let Some(contract) = finished {
        story = story.then([begin(1, NOTIFY, contract), finish(1, NOTIFY, done())]);
    }
    if let Some(contract) = unfinished {
        let begin = if asks { begin_asking } else { begin };
        story = story.then([begin(1, CHARGE, contract)]);
    }
    match story.record.steps.get_mut(&CHARGE) {
        Some(step) => step.effect.may_be_applied = case.earlier_unknown,
        None => story.record.effect.may_be_applied = case.earlier_unknown,
    }
    story.record.spent = if case.last_attempt { 4 } else { 0 };
    story.record.attempts = story.record.spent + 1;
    story.record.cancel_requested = case.cancel_requested;
    story.wait(HOUR)
}

fn outcome(says: Says) -> Outcome {
    let unknown_because = |cause, retry_after| Outcome::Unknown { cause, retry_after };
    match says {
        Says::Done => done(),
        Says::NotApplied => not_applied(),
        Says::NotAppliedWait => told_to_wait(2 * HOUR),
        Says::Rejected => rejected(),
        Says::RejectedAfterLookup => rejected_after_lookup(),
        Says::Unknown => unknown(),
        Says::UnknownWait => unknown_because(cause(), Some(2 * HOUR)),
        Says::UnknownRequestChanged => unknown_because(Cause::new(CauseKind::RequestChanged, "body"), None),
    }
}

#[test]
fn every_combination_ends_in_the_state_of_the_table() {
    let cases = cases();
    assert_eq!(cases.len(), 8 * (8 * 32 + 16) * 3);
    for case in cases {
        let after = story(case).end(outcome(case.says));
        assert_eq!((after.state(), after.why()), expected(case), "{case:?}");
    }
}

#[test]
fn every_combination_leaves_a_consistent_record() {
    for case in cases() {
        let before = story(case);
        let after = before.clone().end(outcome(case.says)).record;
        let settled = after.state != State::Pending;
        assert_eq!(after.lease, None, "{case:?}");
        assert_eq!(after.settled_at, settled.then_some(at(HOUR)), "{case:?}");
        let asks = after.state == State::Uncertain && case.reconciles;
        assert_eq!(after.reconcile_at, asks.then_some(at(HOUR)), "{case:?}");
        assert_eq!(after.result.is_some(), after.state == State::Succeeded, "{case:?}");
        assert_eq!(after.cause.is_none(), case.says == Says::Done, "{case:?}");
        let open = matches!(after.state, State::Uncertain | State::Abandoned);
        if settled {
            assert_eq!(after.may_be_applied(), open, "{case:?}");
        }
        assert_eq!((after.token, after.attempts), (before.record.token, before.record.attempts), "{case:?}");
        assert_eq!(after.effect.first_started_at, before.record.effect.first_started_at, "{case:?}");
    }
}

#[test]
fn every_retry_waits_for_the_policy_or_for_what_was_asked() {
    for case in cases() {
        let after = story(case).end(outcome(case.says)).record;
        if after.state != State::Pending {
            continue;
        }
        // Thirty seconds after the first attempt; two hours where the destination asked for them.
        let (ready_at, spent) = match case.says {
            Says::NotAppliedWait if !asks_first(case) => (at(3 * HOUR), before_spent(case)),
            Says::UnknownWait if case.destination == Destination::StepsFinished || spends_nothing(case) => {
                (at(3 * HOUR), before_spent(case))
            }
            Says::NotAppliedWait | Says::UnknownWait => (at(3 * HOUR), 1),
            _ => (at(HOUR + 30 * SECOND), 1),
        };
        assert_eq!((after.ready_at, after.spent), (ready_at, spent), "{case:?}");
    }
}

fn before_spent(case: Case) -> u32 {
    if case.last_attempt { 4 } else { 0 }
}
