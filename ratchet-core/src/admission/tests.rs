//! The gate as a function: what it lets through, whatever comes in which order.

use std::time::Duration;

use proptest::prelude::*;

use super::*;

const SECOND: Duration = Duration::from_secs(1);
const OPEN_FOR: Duration = Duration::from_secs(5);
const LIMITED: Destination = Destination::new("payments")
    .at_most(3)
    .rate(4, SECOND)
    .breaker(2, OPEN_FOR)
    .longest_send(Duration::from_secs(2));

fn at(milliseconds: i64) -> Timestamp {
    Timestamp::from_millis(1_768_464_000_000 + milliseconds)
}

/// A gate and the moment of the last command.
struct Scene {
    destination: Destination,
    gate: Gate,
    now: i64,
}

impl Scene {
    fn of(destination: Destination) -> Self {
        Self { destination, gate: Gate::default(), now: 0 }
    }

    fn say(&mut self, command: &GateCommand) -> GateAnswer {
        let (next, answer) = self.gate.decide(self.destination.limits(), command, at(self.now));
        self.gate = next;
        answer
    }

    fn enter(&mut self) -> GateAnswer {
        self.say(&GateCommand::Enter)
    }

    fn leave(&mut self, permit: u64, health: Health) {
        self.pause(permit, health, None);
    }

    fn pause(&mut self, permit: u64, health: Health, pause: Option<Duration>) {
        let left = self.say(&GateCommand::Leave { permit: Permit(permit), health, pause });
        assert!(matches!(left, GateAnswer::Left { .. }), "{left:?}");
    }
}

fn admitted(permit: u64) -> GateAnswer {
    GateAnswer::Admitted(Permit(permit))
}

fn wait(milliseconds: u64, why: WaitReason) -> GateAnswer {
    GateAnswer::Wait { span: Duration::from_millis(milliseconds), why }
}

#[test]
fn without_limits_everybody_is_admitted() {
    let mut scene = Scene::of(Destination::new("payments"));
    for permit in 1..=100 {
        assert_eq!(scene.enter(), admitted(permit));
    }
}

#[test]
fn a_full_destination_has_room_again_when_a_send_ends() {
    let mut scene = Scene::of(Destination::new("payments").at_most(2));
    assert_eq!((scene.enter(), scene.enter()), (admitted(1), admitted(2)));
    assert_eq!(scene.enter(), wait(100, WaitReason::Full));
    scene.leave(1, Health::Answered);
    assert_eq!(scene.enter(), admitted(3));
}

#[test]
fn the_place_of_a_dead_worker_comes_back() {
    let mut scene = Scene::of(Destination::new("payments").at_most(1));
    assert_eq!(scene.enter(), admitted(1));
    scene.now = 59_999;
    assert_eq!(scene.enter(), wait(100, WaitReason::Full));
    scene.now = 60_000;
    assert_eq!(scene.enter(), admitted(2));
    scene.leave(1, Health::Answered);
    assert_eq!(scene.gate.sends.len(), 1, "a late report ends its own send alone");
}

#[test]
fn sends_begin_at_even_distances() {
    let mut scene = Scene::of(Destination::new("payments").per_second(3));
    assert_eq!(scene.enter(), admitted(1));
    assert_eq!(scene.enter(), wait(334, WaitReason::Rate));
    scene.now = 333;
    assert!(matches!(scene.enter(), GateAnswer::Wait { .. }));
    scene.now = 334;
    assert_eq!(scene.enter(), admitted(2));
}

#[test]
fn those_who_wait_come_back_one_after_the_other() {
    let mut scene = Scene::of(Destination::new("payments").per_second(10));
    assert_eq!(scene.enter(), admitted(1));
    let waits = [100, 200, 300, 400].map(|span| wait(span, WaitReason::Rate));
    assert_eq!([(); 4].map(|()| scene.enter()), waits);
    for _ in 0..10_000 {
        scene.enter();
    }
    assert_eq!(scene.enter(), wait(60_100, WaitReason::Rate), "nobody is sent away for long");
}

#[test]
fn failures_in_a_row_open_the_breaker_and_one_answer_closes_it() {
    let mut scene = Scene::of(Destination::new("payments").breaker(2, OPEN_FOR));
    for health in [Health::Failed, Health::Answered, Health::Failed, Health::NotSent, Health::Failed] {
        let GateAnswer::Admitted(Permit(permit)) = scene.enter() else { panic!("it is closed too early") };
        scene.leave(permit, health);
    }
    assert_eq!(scene.gate.breaker, Breaker::Open { since: at(0), until: at(5000) });
    scene.now = 4999;
    assert_eq!(scene.enter(), wait(1, WaitReason::BreakerOpen));
    scene.now = 5000;
    assert_eq!(scene.enter(), admitted(6));
    assert_eq!(scene.enter(), wait(100, WaitReason::Probing));
    scene.leave(6, Health::Answered);
    assert_eq!(scene.gate.breaker, Breaker::Closed { failures: 0 });
    assert_eq!((scene.enter(), scene.enter()), (admitted(7), admitted(8)));
}

/// An open breaker whose time has come, and a send that began before it opened.
fn due() -> Scene {
    let mut scene = Scene::of(Destination::new("payments").breaker(1, OPEN_FOR));
    assert_eq!((scene.enter(), scene.enter()), (admitted(1), admitted(2)));
    scene.leave(1, Health::Failed);
    scene.now = 5000;
    assert_eq!(scene.enter(), admitted(3));
    scene
}

#[test]
fn a_probe_that_fails_opens_the_breaker_anew() {
    let mut scene = due();
    scene.now = 6000;
    scene.leave(3, Health::Failed);
    assert_eq!(scene.gate.breaker, Breaker::Open { since: at(6000), until: at(11_000) });
}

#[test]
fn a_probe_that_did_not_leave_makes_way_for_another_one() {
    let mut scene = due();
    scene.leave(3, Health::NotSent);
    assert_eq!(scene.enter(), admitted(4));
    assert!(matches!(scene.enter(), GateAnswer::Wait { .. }));
}

#[test]
fn a_probe_of_a_dead_worker_makes_way_for_another_one() {
    let mut scene = due();
    scene.now = 64_999;
    assert!(matches!(scene.enter(), GateAnswer::Wait { .. }));
    scene.now = 65_000;
    assert_eq!(scene.enter(), admitted(4));
    scene.leave(3, Health::Answered);
    assert_eq!(
        scene.gate.breaker,
        Breaker::HalfOpen { probe: Permit(4) },
        "it comes too late to say anything"
    );
}

#[test]
fn a_send_from_before_says_nothing_about_an_open_breaker() {
    for health in [Health::Answered, Health::Failed] {
        let mut scene = due();
        scene.leave(2, health);
        assert_eq!(scene.gate.breaker, Breaker::HalfOpen { probe: Permit(3) });
    }
}

#[test]
fn what_the_destination_asks_for_holds_for_everybody() {
    let mut scene = Scene::of(Destination::new("payments"));
    assert_eq!((scene.enter(), scene.enter()), (admitted(1), admitted(2)));
    scene.pause(1, Health::Answered, Some(30 * SECOND));
    scene.pause(2, Health::Answered, Some(SECOND));
    assert_eq!(scene.enter(), wait(30_000, WaitReason::Paused));
    scene.now = 30_000;
    assert_eq!(scene.enter(), admitted(3));
    scene.pause(3, Health::Answered, Some(Duration::MAX));
    scene.now += 24 * 3600 * 1000 - 1;
    assert_eq!(scene.enter(), wait(1, WaitReason::Paused));
    scene.now += 1;
    assert_eq!(scene.enter(), admitted(4), "no answer closes it for more than a day");
}

#[test]
fn what_was_written_by_a_clock_far_ahead_does_not_count() {
    let mut scene = Scene::of(LIMITED);
    scene.now = 1_000_000_000;
    assert_eq!(scene.enter(), admitted(1));
    scene.pause(1, Health::Failed, Some(SECOND));
    scene.gate.breaker = Breaker::Open { since: at(scene.now), until: at(scene.now) };
    scene.now = 0;
    assert!(matches!(scene.enter(), GateAnswer::Wait { why: WaitReason::Rate, .. }));
    scene.now = 250;
    assert_eq!(scene.enter(), admitted(2));
}

/// The same gate, asked by a program that is held to something else, as during a deployment.
fn as_asked_by(destination: Destination, scene: &mut Scene) -> GateAnswer {
    let own = std::mem::replace(&mut scene.destination, destination);
    let answer = scene.enter();
    scene.destination = own;
    answer
}

#[test]
fn who_is_held_to_other_limits_ends_nothing_sooner() {
    let patient = Destination::new("payments").at_most(1).longest_send(Duration::from_mins(10));
    let hasty = || Destination::new("payments").at_most(1).longest_send(SECOND);
    let mut scene = Scene::of(patient);
    assert_eq!(scene.enter(), admitted(1));
    scene.now = 2000;
    for _ in 0..2 {
        assert!(matches!(as_asked_by(hasty(), &mut scene), GateAnswer::Wait { why: WaitReason::Full, .. }));
    }

    let mut scene = Scene::of(Destination::new("payments").breaker(1, Duration::from_mins(1)));
    assert_eq!(scene.enter(), admitted(1));
    scene.leave(1, Health::Failed);
    scene.now = 2000;
    let hasty = Destination::new("payments").breaker(1, SECOND);
    assert_eq!(as_asked_by(hasty, &mut scene), wait(58_000, WaitReason::BreakerOpen));
}

#[test]
fn who_has_no_breaker_neither_heeds_nor_moves_that_of_others() {
    let mut scene = Scene::of(Destination::new("payments").breaker(2, OPEN_FOR));
    for permit in [1, 3] {
        assert_eq!(scene.enter(), admitted(permit));
        assert_eq!(as_asked_by(Destination::new("payments"), &mut scene), admitted(permit + 1));
        scene.leave(permit, Health::Failed);
    }
    assert_eq!(scene.enter(), wait(5000, WaitReason::BreakerOpen));
    assert_eq!(as_asked_by(Destination::new("payments"), &mut scene), admitted(5));
    scene.now = 5000;
    assert_eq!(as_asked_by(Destination::new("payments"), &mut scene), admitted(6));
    assert_eq!(scene.enter(), admitted(7), "the probe is one of those who have a breaker");
}

#[test]
fn a_gate_that_is_opened_by_hand_lets_through_and_keeps_its_limits_and_who_did_it() {
    let mut scene = Scene::of(Destination::new("payments").at_most(2).breaker(1, OPEN_FOR));
    assert_eq!((scene.enter(), scene.enter()), (admitted(1), admitted(2)));
    scene.pause(1, Health::Failed, Some(30 * SECOND));
    scene.now = 1;
    assert!(matches!(scene.enter(), GateAnswer::Wait { .. }));
    let reopen = |reason: &str| GateCommand::Reopen { by: "ada".to_owned(), reason: reason.to_owned() };
    let held = std::mem::replace(&mut scene.destination, Destination::new("payments"));
    assert_eq!(scene.say(&reopen("it works again")), GateAnswer::Reopened);
    scene.destination = held;
    let expected = Reopening { by: "ada".to_owned(), reason: "it works again".to_owned(), at: at(1) };
    assert_eq!(scene.gate.reopened, [expected]);
    assert_eq!(scene.gate.limits, *scene.destination.limits());
    assert_eq!(scene.enter(), admitted(3));
    assert!(matches!(scene.enter(), GateAnswer::Wait { why: WaitReason::Full, .. }), "2 of 2 are under way");
    for reason in 0..10 {
        scene.say(&reopen(&reason.to_string()));
    }
    let kept: Vec<&str> = scene.gate.reopened.iter().map(|it| it.reason.as_str()).collect();
    assert_eq!(kept, ["2", "3", "4", "5", "6", "7", "8", "9"]);
}

#[test]
fn a_gate_survives_its_stored_form() {
    let mut scene = due();
    scene.pause(2, Health::Answered, Some(SECOND));
    let stored = serde_json::to_string(&scene.gate).unwrap();
    assert_eq!(Gate::from_stored(scene.destination.name(), &stored), scene.gate);
    assert_eq!(Gate::from_stored(scene.destination.name(), "{}"), Gate::default());
}

#[derive(Debug, Clone, Copy)]
enum Step {
    Enter,
    /// The end of one of the sends that are under way.
    Leave(usize, Health),
}

fn steps() -> impl Strategy<Value = Vec<(i64, Step)>> {
    let health =
        prop_oneof![3 => Just(Health::Failed), 2 => Just(Health::Answered), 1 => Just(Health::NotSent)];
    let step = prop_oneof![
        3 => Just(Step::Enter),
        2 => (any::<usize>(), health).prop_map(|(which, health)| Step::Leave(which, health)),
    ];
    let passes = prop_oneof![4 => 0..400_i64, 1 => 0..6000_i64];
    prop::collection::vec((passes, step), 1..200)
}

/// What a breaker has to be, counted from outside.
#[derive(Debug, Default)]
struct Expected {
    failures: u32,
    open_until: Option<i64>,
    probe: Option<u64>,
}

impl Expected {
    fn see(&mut self, permit: u64, health: Health, now: i64) {
        match (self.open_until, health) {
            (None, Health::Failed) => {
                self.failures += 1;
                self.open_until = (self.failures == 2).then_some(now + 5000);
            }
            (None, Health::Answered) => self.failures = 0,
            (Some(_), _) if self.probe == Some(permit) => match health {
                Health::Answered => *self = Self::default(),
                Health::Failed => *self = Self { open_until: Some(now + 5000), ..Self::default() },
                Health::NotSent => self.probe = None,
            },
            _ => {}
        }
    }
}

proptest! {
    #[test]
    fn nobody_passes_who_must_not(steps in steps()) {
        let mut scene = Scene::of(LIMITED);
        let mut under_way: Vec<(u64, i64)> = Vec::new();
        let mut begun: Vec<i64> = Vec::new();
        let mut expected = Expected::default();
        for (passes, step) in steps {
            scene.now += passes;
            let now = scene.now;
            under_way.retain(|(_, since)| now < since + 2000);
            expected.probe = expected.probe.filter(|probe| under_way.iter().any(|(permit, _)| permit == probe));
            match step {
                Step::Leave(..) if under_way.is_empty() => {}
                Step::Leave(which, health) => {
                    let (permit, _) = under_way.remove(which % under_way.len());
                    scene.leave(permit, health);
                    expected.see(permit, health, now);
                }
                Step::Enter => match scene.enter() {
                    GateAnswer::Admitted(Permit(permit)) => {
                        under_way.push((permit, now));
                        begun.push(now);
                        prop_assert!(under_way.len() <= 3, "{} at once", under_way.len());
                        if let Some(until) = expected.open_until {
                            prop_assert!(now >= until, "the breaker is open");
                            prop_assert_eq!(expected.probe.replace(permit), None, "a second probe");
                        }
                    }
                    GateAnswer::Wait { span, .. } => {
                        prop_assert!(!span.is_zero());
                        let rested = begun.last().is_none_or(|last| now >= last + 250);
                        let open = expected.open_until.is_some_and(|until| now < until || expected.probe.is_some());
                        prop_assert!(!rested || open || under_way.len() == 3, "it waits for nothing");
                    }
                    other => prop_assert!(false, "nobody left: {other:?}"),
                },
            }
        }
        let too_close = begun.windows(5).find(|five| five[4] - five[0] < 1000);
        prop_assert_eq!(too_close, None, "five within a second");
    }
}
