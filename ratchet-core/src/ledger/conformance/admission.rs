//! Gates of destinations: one for all who ask, by the ledger's clock.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::Fixture;
use super::build::{MINUTE, SECOND, at};
use super::race::together;
use crate::admission::{
    Breaker, Destination, Gate, GateAnswer, GateCommand, GateOrder, Health, Permit, Reopening, WaitReason,
};
use crate::ledger::SharedLedger;

const PAYMENTS: Destination = Destination::new("payments");
const MAIL: Destination = Destination::new("mail");

async fn say(ledger: &SharedLedger, destination: Destination, command: GateCommand) -> GateAnswer {
    let answers = ledger.admit(vec![GateOrder { destination, command }]).await.expect("admit");
    assert_eq!(answers.len(), 1);
    answers[0]
}

async fn enter(fixture: &Fixture, destination: Destination) -> GateAnswer {
    say(&fixture.ledger, destination, GateCommand::Enter).await
}

async fn leave(fixture: &Fixture, destination: Destination, permit: u64, health: Health) {
    let command = GateCommand::Leave { permit: Permit(permit), health, pause: None };
    assert!(matches!(say(&fixture.ledger, destination, command).await, GateAnswer::Left { .. }));
}

async fn gate(fixture: &Fixture, name: &str) -> Gate {
    let gates = fixture.ledger.gates().await.expect("gates");
    gates.into_iter().find(|known| known.destination.as_str() == name).expect("a gate").gate
}

const fn admitted(permit: u64) -> GateAnswer {
    GateAnswer::Admitted(Permit(permit))
}

const fn wait(span: Duration, why: WaitReason) -> GateAnswer {
    GateAnswer::Wait { span, why }
}

/// All who ask share the room, in one call or in several; an end makes room; another destination is not concerned.
pub async fn callers_share_one_limit(fixture: Fixture) {
    let two = || PAYMENTS.at_most(2);
    let entering = |destination| GateOrder { destination, command: GateCommand::Enter };
    let orders = vec![entering(two()), entering(MAIL.at_most(1)), entering(two()), entering(two())];
    let answers = fixture.ledger.admit(orders).await.expect("admit");
    let full = wait(Duration::from_millis(100), WaitReason::Full);
    assert_eq!(answers, [admitted(1), admitted(1), admitted(2), full]);
    assert_eq!(enter(&fixture, two()).await, wait(Duration::from_millis(600), WaitReason::Full));
    leave(&fixture, two(), 1, Health::Answered).await;
    assert_eq!(enter(&fixture, two()).await, admitted(3));
    assert_eq!(fixture.ledger.admit(vec![]).await.expect("admit"), []);
}

/// The place of a send that nobody reports on comes back by the ledger's clock.
pub async fn the_place_of_a_dead_worker_comes_back(fixture: Fixture) {
    let one = || PAYMENTS.at_most(1).longest_send(MINUTE);
    assert_eq!(enter(&fixture, one()).await, admitted(1));
    fixture.advance(MINUTE.saturating_sub(Duration::from_millis(1)));
    assert!(matches!(enter(&fixture, one()).await, GateAnswer::Wait { .. }));
    fixture.advance(Duration::from_millis(1));
    assert_eq!(enter(&fixture, one()).await, admitted(2));
}

/// Sends begin at even distances, by the ledger's clock.
pub async fn the_rate_is_kept(fixture: Fixture) {
    let four = || PAYMENTS.per_second(4);
    assert_eq!(enter(&fixture, four()).await, admitted(1));
    assert_eq!(enter(&fixture, four()).await, wait(Duration::from_millis(250), WaitReason::Rate));
    fixture.advance(Duration::from_millis(249));
    assert!(matches!(enter(&fixture, four()).await, GateAnswer::Wait { .. }));
    fixture.advance(Duration::from_millis(1));
    assert_eq!(enter(&fixture, four()).await, admitted(2));
}

/// An open breaker refuses everybody until its time has come; then one send tries, and its answer closes it.
pub async fn a_breaker_opens_and_closes_for_everybody(fixture: Fixture) {
    let fragile = || PAYMENTS.breaker(2, MINUTE);
    for permit in [1, 2] {
        assert_eq!(enter(&fixture, fragile()).await, admitted(permit));
        leave(&fixture, fragile(), permit, Health::Failed).await;
    }
    assert_eq!(
        gate(&fixture, "payments").await.breaker,
        Breaker::Open { since: super::STARTED_AT, until: at(MINUTE) }
    );
    assert_eq!(enter(&fixture, fragile()).await, wait(MINUTE, WaitReason::BreakerOpen));
    fixture.advance(MINUTE);
    assert_eq!(enter(&fixture, fragile()).await, admitted(3));
    assert!(matches!(enter(&fixture, fragile()).await, GateAnswer::Wait { why: WaitReason::Probing, .. }));
    leave(&fixture, fragile(), 3, Health::Answered).await;
    assert_eq!(gate(&fixture, "payments").await.breaker, Breaker::Closed { failures: 0 });
    assert_eq!(enter(&fixture, fragile()).await, admitted(4));
    assert_eq!(enter(&fixture, fragile()).await, admitted(5));
}

/// Whoever knows that a destination works again opens its gate, and the ledger keeps who that was.
pub async fn a_gate_is_opened_by_hand(fixture: Fixture) {
    let fragile = || PAYMENTS.breaker(1, MINUTE);
    assert_eq!(enter(&fixture, fragile()).await, admitted(1));
    leave(&fixture, fragile(), 1, Health::Failed).await;
    let command = GateCommand::Reopen { by: "ada".to_owned(), reason: "wieder da ✓".to_owned() };
    assert_eq!(say(&fixture.ledger, PAYMENTS, command).await, GateAnswer::Reopened);
    let kept = gate(&fixture, "payments").await;
    assert_eq!((kept.breaker, kept.limits), (Breaker::Closed { failures: 0 }, *fragile().limits()));
    let reopening =
        Reopening { by: "ada".to_owned(), reason: "wieder da ✓".to_owned(), at: super::STARTED_AT };
    assert_eq!(kept.reopened, [reopening]);
    assert_eq!(enter(&fixture, fragile()).await, admitted(2));
}

/// What a destination asked of one sender holds for all.
pub async fn a_pause_holds_for_everybody(fixture: Fixture) {
    assert_eq!(enter(&fixture, PAYMENTS).await, admitted(1));
    let pause = Some(30 * SECOND);
    let command = GateCommand::Leave { permit: Permit(1), health: Health::Failed, pause };
    assert!(matches!(say(&fixture.ledger, PAYMENTS, command).await, GateAnswer::Left { .. }));
    assert_eq!(enter(&fixture, PAYMENTS).await, wait(30 * SECOND, WaitReason::Paused));
    assert_eq!(enter(&fixture, MAIL).await, admitted(1));
    fixture.advance(30 * SECOND);
    assert_eq!(enter(&fixture, PAYMENTS).await, admitted(2));
}

/// Every destination that was asked about is listed, with what is known about it.
pub async fn gates_are_listed_by_name(fixture: Fixture) {
    assert_eq!(fixture.ledger.gates().await.expect("gates"), []);
    assert_eq!(enter(&fixture, PAYMENTS.at_most(3)).await, admitted(1));
    assert_eq!(enter(&fixture, MAIL).await, admitted(1));
    let gates = fixture.ledger.gates().await.expect("gates");
    let names: Vec<&str> = gates.iter().map(|known| known.destination.as_str()).collect();
    assert_eq!(names, ["mail", "payments"]);
    let payments = &gates[1].gate;
    assert_eq!(payments.limits, *PAYMENTS.at_most(3).limits());
    assert_eq!(payments.sends.iter().map(|send| send.until).collect::<Vec<_>>(), [at(MINUTE)]);
}

/// Eight callers at the same time: never more than three are inside, and all come through.
pub async fn concurrent_callers_never_pass_the_limit(fixture: Fixture) {
    let inside = Arc::new(AtomicUsize::new(0));
    together(&fixture, 8, |_, ledger| {
        let inside = Arc::clone(&inside);
        async move {
            for _ in 0..10 {
                let permit = loop {
                    match say(&ledger, PAYMENTS.at_most(3), GateCommand::Enter).await {
                        GateAnswer::Admitted(permit) => break permit,
                        _ => tokio::task::yield_now().await,
                    }
                };
                let now = inside.fetch_add(1, Ordering::SeqCst) + 1;
                assert!(now <= 3, "{now} at once");
                tokio::task::yield_now().await;
                inside.fetch_sub(1, Ordering::SeqCst);
                let command = GateCommand::Leave { permit, health: Health::Answered, pause: None };
                assert_eq!(
                    say(&ledger, PAYMENTS.at_most(3), command).await,
                    GateAnswer::Left { opened: false }
                );
            }
        }
    })
    .await;
    assert_eq!(gate(&fixture, "payments").await.sends, []);
}
