//! A network that fails in every phase of every call: the caller is told to ask again, and asking again is safe.

use std::time::Duration;

use ratchet_core::decide::{Answer, Command, Stored};
use ratchet_core::ledger::{Claim, Declaration, Document, DocumentId, DocumentWrite, DocumentWritten, Order};
use ratchet_core::{
    After, Branch, DocumentKind, DocumentName, Fingerprint, Ledger as _, Namespace, Outcome, OutcomeKind,
    Record, State, Submission, Submitted,
};
use ratchet_postgres::sqlx;
use ratchet_test_postgres::Fault;
use tokio::time::{sleep, timeout};

use crate::load::pin_request;
use crate::support::{
    OPERATION, VERSION, all, claim_of, execute, id, payload, submission, submit, submit_new,
};
use crate::ways::{PATIENCE, SOON, Ways, in_every_phase};

/// A record that is leased and, if `started`, whose handler is entered.
async fn leased(ways: &Ways, name: &str, started: bool) -> Record {
    submit_new(&ways.near, name).await;
    let wish = Claim { start_if_safe: started, ..claim_of(1) };
    ways.near.claim(wish).await.expect("a claim").pop().expect("a record")
}

async fn stored(ways: &Ways, name: &str) -> Record {
    match ways.near.find(id(name)).await.expect("a look") {
        Some(Stored::Record(record)) => *record,
        other => panic!("{other:?}"),
    }
}

/// Gives a command for a record until it is answered.
async fn order(ways: &Ways, record: &Record, command: &Command) -> Answer {
    let order = || vec![Order { id: record.id.clone(), command: command.clone() }];
    let mut answers = ways.ask(async |ledger| ledger.apply(order()).await).await;
    answers.pop().expect("one answer").expect("no refusal")
}

#[tokio::test]
async fn submissions() {
    in_every_phase(async |ways, name| {
        let told = ways.ask(async |ledger| submit(ledger, name).await).await;
        assert!(matches!(told, Submitted::New { .. } | Submitted::Existing { .. }), "{told:?}");
        let again = submit(&ways.near, name).await.unwrap();
        assert!(matches!(again, Submitted::Existing { state: State::Pending, .. }), "{again:?}");
        let records = all(&ways.near).await;
        assert_eq!(records.iter().filter(|record| record.id == id(name)).count(), 1);
    })
    .await;
}

/// Whoever asks again after a lost answer is told that the document stands, as it was written.
#[tokio::test]
async fn documents() {
    in_every_phase(async |ways, name| {
        let id = DocumentId {
            kind: DocumentKind::from_static("run"),
            namespace: Namespace::DEFAULT,
            name: DocumentName::new(name).expect("a name"),
        };
        let body = Document::body(name).expect("a body");
        let write = || DocumentWrite::new(id.clone(), body.clone());
        let stands = Some(Document { id: id.clone(), version: 1, body: body.clone() });
        match ways.ask(async |ledger| ledger.write_document(write()).await).await {
            DocumentWritten::Done => {}
            DocumentWritten::Other(found) => assert_eq!(found, stands),
        }
        assert_eq!(ways.ask(async |ledger| ledger.document(id.clone()).await).await, stands);
    })
    .await;
}

/// Followers are decided about, if not with the end of the record before them then by the next look.
#[tokio::test]
async fn ends_with_followers() {
    in_every_phase(async |ways, name| {
        submit_new(&ways.near, name).await;
        let next = format!("{name}-next");
        let after = Some(After { id: id(name), on: Branch::Succeeded });
        let follower = || vec![Submission { after: after.clone(), ..submission(&next) }];
        let told = ways.ask(async |ledger| ledger.submit(follower()).await).await;
        assert!(!matches!(told[0], Submitted::Conflict(_)), "{told:?}");
        let cancel = Command::Cancel { by: "ada".to_owned(), reason: "a test".to_owned(), seen: None };
        let before = stored(ways, name).await;
        assert_eq!(order(ways, &before, &cancel).await, Answer::Now(State::Cancelled));
        // The server may take a while to give up the transaction of a connection that is cut.
        let decided = async {
            while stored(ways, &next).await.state != State::Skipped {
                ways.near.follow(100).await.unwrap();
                sleep(Duration::from_millis(5)).await;
            }
        };
        timeout(SOON, decided).await.expect("followers are decided about in the end");
    })
    .await;
}

/// A lease whose answer was lost rests until its time is over, and nobody has it twice.
#[tokio::test]
async fn claims() {
    in_every_phase(async |ways, name| {
        submit_new(&ways.near, name).await;
        let lease = Duration::from_millis(300);
        let wish = || Claim { lease, start_if_safe: false, ..claim_of(1) };
        let claims = async {
            loop {
                if let Some(record) = ways.ask(async |ledger| ledger.claim(wish()).await).await.pop() {
                    break record;
                }
                ways.near.expire(1).await.unwrap();
                sleep(Duration::from_millis(5)).await;
            }
        };
        let record = timeout(SOON, claims).await.expect("a lease that is lost ends by itself");
        assert_eq!(record.id, id(name));
        assert_eq!(stored(ways, name).await.token, record.token, "the lease is the last one");
        let start = Command::Start { token: record.token };
        let started = ways.near.apply(vec![Order { id: record.id, command: start }]).await.unwrap();
        assert_eq!(started, [Ok(Answer::Started)]);
    })
    .await;
}

#[tokio::test]
async fn starts() {
    in_every_phase(async |ways, name| {
        let record = leased(ways, name, false).await;
        let start = Command::Start { token: record.token };
        assert_eq!(order(ways, &record, &start).await, Answer::Started);
        let found = stored(ways, name).await;
        assert_eq!((found.state, found.attempts, found.token), (State::Running, 1, record.token));
    })
    .await;
}

#[tokio::test]
async fn pins() {
    in_every_phase(async |ways, name| {
        let record = leased(ways, name, true).await;
        let request = pin_request(name, Fingerprint::of(name.as_bytes()));
        let pin = Command::Pin { token: record.token, step: None, request: Box::new(request.clone()) };
        let Answer::Pinned(pinned) = order(ways, &record, &pin).await else { panic!("not pinned") };
        assert_eq!((&pinned.request, &pinned.by), (&request.request, &record.token));
        assert_eq!(stored(ways, name).await.effect.pin, Some(pinned));
    })
    .await;
}

#[tokio::test]
async fn ends() {
    in_every_phase(async |ways, name| {
        let record = leased(ways, name, true).await;
        let done = Command::Settle { token: record.token, outcome: Outcome::done(payload(name)) };
        assert_eq!(order(ways, &record, &done).await, Answer::Settled(State::Succeeded));
        let found = stored(ways, name).await;
        assert_eq!((found.state, found.result), (State::Succeeded, Some(payload(name))));
        let attempts = ways.near.attempts(id(name)).await.unwrap();
        let ends = attempts.into_iter().map(|attempt| attempt.end.expect("an end").outcome);
        assert_eq!(ends.collect::<Vec<_>>(), [OutcomeKind::Done]);
    })
    .await;
}

#[tokio::test]
async fn renewals() {
    in_every_phase(async |ways, name| {
        let record = leased(ways, name, true).await;
        let renew = Command::Renew { token: record.token, duration: Duration::from_mins(5) };
        let Answer::Renewed { until, cancel_requested: false } = order(ways, &record, &renew).await else {
            panic!("not renewed")
        };
        let found = stored(ways, name).await.lease.expect("a lease");
        assert_eq!(found.until, until);
        assert!(until > record.lease.unwrap().until.after(Duration::from_mins(3)));
    })
    .await;
}

#[tokio::test]
async fn expiry() {
    in_every_phase(async |ways, name| {
        let record = leased(ways, name, false).await;
        execute(
            &mut ways.database.connect().await,
            "UPDATE ratchet.progress SET lease_until = 1 WHERE state = 'running'",
        )
        .await;
        let ends = async {
            // The server may still hold the row for a transaction that nobody will end.
            while stored(ways, name).await.state == State::Running {
                ways.ask(async |ledger| ledger.expire(10).await).await;
            }
        };
        timeout(SOON, ends).await.expect("the end of the lease");
        let found = stored(ways, name).await;
        assert_eq!((found.state, found.attempts, found.token), (State::Pending, 0, record.token));
        // Out of the way of the next phase.
        let cancel = Command::Cancel { by: "ada".to_owned(), reason: "a test".to_owned(), seen: None };
        assert_eq!(order(ways, &record, &cancel).await, Answer::Now(State::Cancelled));
    })
    .await;
}

#[tokio::test]
async fn purges() {
    in_every_phase(async |ways, name| {
        let record = leased(ways, name, true).await;
        let done = Command::Settle { token: record.token, outcome: Outcome::done(payload(name)) };
        ways.near.apply(vec![Order { id: id(name), command: done }]).await.unwrap().remove(0).unwrap();
        execute(&mut ways.database.connect().await, "UPDATE ratchet.progress SET purge_at = 1").await;
        let purges = async {
            while !matches!(ways.near.find(id(name)).await.unwrap(), Some(Stored::Tombstone(_))) {
                ways.ask(async |ledger| ledger.purge(10).await).await;
            }
        };
        timeout(SOON, purges).await.expect("a tombstone");
        let again = submit(&ways.near, name).await.unwrap();
        assert!(matches!(again, Submitted::Expired { .. }), "{again:?}");
    })
    .await;
}

#[tokio::test]
async fn declarations() {
    in_every_phase(async |ways, name| {
        let declaration = Declaration {
            new_identity: Some("a test".to_owned()),
            ..Declaration::new(OPERATION, VERSION, format!("{name}:<id>"))
        };
        ways.ask(async |ledger| ledger.declare(vec![declaration.clone()]).await).await;
        let count = "SELECT count(*) FROM ratchet.templates WHERE template = $1";
        let mut connection = ways.database.connect().await;
        let templates =
            sqlx::query_scalar::<_, i64>(count).bind(&declaration.template).fetch_one(&mut connection).await;
        assert_eq!(templates.unwrap(), 1);
    })
    .await;
}

/// Reads are asked again by the ledger itself, so nobody is told of a single failure.
#[tokio::test]
async fn reads() {
    in_every_phase(async |ways, name| {
        submit_new(&ways.near, name).await;
        let found = timeout(SOON, ways.far.find(id(name))).await.expect("an answer in time");
        assert!(matches!(found.unwrap(), Some(Stored::Record(_))));
    })
    .await;
}

/// Connections that fail while they are made.
#[tokio::test]
async fn connecting() {
    let mut ways = Ways::new().await;
    for fault in Fault::ALL {
        for exchange in 0.. {
            ways.start_again().await;
            let name = format!("{fault:?}.{exchange}");
            ways.proxy.fail_once(exchange, fault);
            let told = ways.ask(async |ledger| submit(ledger, &name).await).await;
            assert!(matches!(told, Submitted::New { .. } | Submitted::Existing { .. }), "{told:?}");
            if ways.over() {
                assert!(exchange > 2, "it was connected before");
                break;
            }
        }
    }
}

/// A connection that listens and hears nothing more, which it cannot tell from silence, is made again.
#[tokio::test]
async fn listening() {
    let ways = Ways::new().await;
    let mut sleeper = ways.far.wakeups();
    timeout(SOON, sleeper.changed()).await.expect("a listener").unwrap();
    for fault in [Fault::CutBeforeAnswer, Fault::CutWithinAnswer, Fault::FreezeBeforeAnswer] {
        ways.proxy.fail_once(0, fault);
        let mut records = 0;
        while ways.proxy.is_to_fail() {
            submit_new(&ways.near, &format!("{fault:?}.{records}")).await;
            records += 1;
        }
        sleeper.mark_unchanged();
        let wakes = async {
            while timeout(PATIENCE, sleeper.changed()).await.is_err() {
                submit_new(&ways.near, &format!("{fault:?}.{records}")).await;
                records += 1;
            }
        };
        timeout(SOON, wakes).await.expect("woken");
    }
}

/// A whole network that is gone for a while: everything says so in time, and works when it is back.
#[tokio::test]
async fn everything_ends_in_time_while_nothing_passes() {
    let ways = Ways::new().await;
    submit_new(&ways.far, "before").await;
    for fault in Fault::ALL {
        ways.proxy.fail_always(fault);
        let calls = async {
            let (submitted, claimed, ended, found) = tokio::join!(
                submit(&ways.far, "during"),
                ways.far.claim(claim_of(1)),
                ways.far.expire(1),
                ways.far.find(id("before")),
            );
            for error in [submitted.err(), claimed.err(), ended.err(), found.err()] {
                crate::ways::is_told_to_try_again(&error.expect("an error"));
            }
        };
        timeout(SOON, calls).await.expect("errors in time");
        ways.proxy.heal();
        let _ = ways.ask(async |ledger| submit(ledger, &format!("after.{fault:?}")).await).await;
    }
}

/// The server must not keep the locks of a transaction whose program it cannot reach any more.
#[tokio::test]
async fn records_of_a_program_that_was_cut_off_are_free_again() {
    let ways = Ways::new().await;
    // Prepares what a claim needs.
    ways.ask(async |ledger| ledger.claim(claim_of(1)).await).await;
    submit_new(&ways.near, "a").await;
    // BEGIN passes, and so does the statement that locks the row: its answer does not come.
    ways.proxy.fail_once(1, Fault::FreezeBeforeAnswer);
    ways.far.claim(claim_of(1)).await.expect_err("no answer");
    let claims = async {
        loop {
            if let Some(record) = ways.near.claim(claim_of(1)).await.unwrap().pop() {
                return record;
            }
            sleep(Duration::from_millis(10)).await;
        }
    };
    let record = timeout(SOON, claims).await.expect("the server lets go of the row");
    assert_eq!((record.id, record.token.get()), (id("a"), 1));
}
