//! Submissions against what is on record under their key.

use super::*;
use crate::model::{AuditEntry, Conflict, Renewal, Submitted, Tombstone};

fn stored(story: &Story) -> Stored {
    Stored::Record(Box::new(story.record.clone()))
}

fn tombstone(story: &Story) -> Stored {
    Stored::Tombstone(Tombstone::of(&story.record))
}

fn answer(newest: Option<&Stored>, submission: &Submission) -> Submitted {
    match decide_submission(newest, submission, at(HOUR)) {
        SubmitDecision::Answer(answer) => answer,
        SubmitDecision::Insert { record, .. } => panic!("{:?} was inserted", record.id),
    }
}

fn inserted(newest: Option<&Stored>, submission: &Submission) -> (Record, Option<AuditEntry>) {
    match decide_submission(newest, submission, at(HOUR)) {
        SubmitDecision::Insert { record, audit } => (*record, audit),
        SubmitDecision::Answer(answer) => panic!("nothing was inserted: {answer:?}"),
    }
}

fn of_generation(number: u32) -> RecordId {
    RecordId { generation: Generation::new(number).expect("a generation"), ..submission("invoice:1").id }
}

fn renewal_of(number: u32) -> Submission {
    Submission {
        id: of_generation(number),
        renewal: Some(Renewal { by: "ada".to_owned(), reason: "pays again".to_owned() }),
        ..submission("invoice:1")
    }
}

fn other_input(mut submission: Submission) -> Submission {
    submission.input = json("1300");
    submission
}

fn other_version(mut submission: Submission) -> Submission {
    submission.version = Version::from_static("2");
    submission
}

#[test]
fn a_free_key_makes_the_first_generation_whatever_number_is_asked_for() {
    for number in [1, 7] {
        let plain = Submission { id: of_generation(number), ..submission("invoice:1") };
        let (record, audit) = inserted(None, &plain);
        assert_eq!((record.id, record.state, audit), (of_generation(1), State::Pending, None));
        assert_eq!((record.created_at, record.ready_at), (at(HOUR), at(HOUR)));
    }
}

#[test]
fn not_before_is_never_earlier_than_now() {
    for (asked, ready_at) in [(at(DAY), at(DAY)), (START, at(HOUR))] {
        let (record, _) = inserted(None, &Submission { not_before: Some(asked), ..submission("invoice:1") });
        assert_eq!(record.ready_at, ready_at);
    }
}

#[test]
fn the_same_submission_is_told_state_result_and_version() {
    for story in [Story::of(HEADER), Story::running(HEADER), Story::running(HEADER).end(done())] {
        let expected = Submitted::Existing {
            id: of_generation(1),
            state: story.state(),
            result: story.record.result.clone(),
            version: Version::from_static("1"),
        };
        assert_eq!(answer(Some(&stored(&story)), &submission("invoice:1")), expected);
    }
}

#[test]
fn another_input_conflicts_within_one_version_and_never_across_versions() {
    let record = stored(&Story::running(HEADER).end(done()));
    let changed = other_input(submission("invoice:1"));
    assert_eq!(answer(Some(&record), &changed), Submitted::Conflict(Conflict::OtherInput));
    let across = answer(Some(&record), &other_version(changed));
    let Submitted::Existing { version, state, .. } = across else {
        panic!("the action exists: {across:?}");
    };
    assert_eq!((version.as_str(), state), ("1", State::Succeeded));
}

#[test]
fn a_tombstone_answers_expired_or_conflict() {
    let rest = tombstone(&Story::running(HEADER).wait(SECOND).end(rejected()));
    let expired = Submitted::Expired { ended_on: at(SECOND), state: State::Failed };
    assert_eq!(answer(Some(&rest), &submission("invoice:1")), expired);
    assert_eq!(answer(Some(&rest), &other_version(other_input(submission("invoice:1")))), expired);
    let conflict = Submitted::Conflict(Conflict::OtherInput);
    assert_eq!(answer(Some(&rest), &other_input(submission("invoice:1"))), conflict);
}

#[test]
fn a_new_generation_follows_a_definite_end_and_no_other() {
    let stories = [
        (Story::of(HEADER), false),
        (Story::running(HEADER), false),
        (Story::running(Contract::NONE).end(unknown()), false),
        (
            Story::with(Contract::NONE, |policy| policy.on_unknown = OnUnknown::MayLose)
                .lease_and_start()
                .end(unknown()),
            false,
        ),
        (Story::running(HEADER).end(done()), true),
        (Story::running(HEADER).end(rejected()), true),
        (Story::of(HEADER).then([cancel()]), true),
    ];
    for (story, may_follow) in stories {
        if may_follow {
            let (record, audit) = inserted(Some(&stored(&story)), &renewal_of(1));
            assert_eq!((record.id, record.token), (of_generation(2), Token::NONE));
            let audit = audit.expect("a renewal is audited");
            assert_eq!((audit.from, audit.to, audit.at), (story.state(), State::Pending, at(HOUR)));
            assert_eq!((audit.by.as_str(), audit.action.as_str()), ("ada", "new_generation"));
            let (record, _) = inserted(Some(&tombstone(&story)), &renewal_of(1));
            assert_eq!(record.id, of_generation(2));
        } else {
            let refused = Submitted::Conflict(Conflict::NotEnded);
            assert_eq!(answer(Some(&stored(&story)), &renewal_of(1)), refused, "{:?}", story.state());
        }
    }
}

#[test]
fn a_new_generation_may_have_another_input() {
    let ended = stored(&Story::running(HEADER).end(done()));
    let (record, _) = inserted(Some(&ended), &other_input(renewal_of(1)));
    assert_eq!(record.fingerprint, Fingerprint::of(b"1300"));
}

#[test]
fn a_renewal_names_the_newest_generation() {
    let refused = Submitted::Conflict(Conflict::NotNewest);
    assert_eq!(answer(None, &renewal_of(1)), refused);
    let ended = stored(&Story::running(HEADER).end(done()));
    assert_eq!(answer(Some(&ended), &renewal_of(2)), refused);
    let mut third = Story::running(HEADER).end(done());
    third.record.id = of_generation(3);
    assert_eq!(answer(Some(&stored(&third)), &renewal_of(1)), refused);
}

#[test]
fn the_repetition_of_a_renewal_makes_no_second_one() {
    let mut second = Story::of(HEADER);
    second.record.id = of_generation(2);
    let existing = Submitted::Existing {
        id: of_generation(2),
        state: State::Pending,
        result: None,
        version: Version::from_static("1"),
    };
    assert_eq!(answer(Some(&stored(&second)), &renewal_of(1)), existing);
    let conflict = Submitted::Conflict(Conflict::OtherInput);
    assert_eq!(answer(Some(&stored(&second)), &other_input(renewal_of(1))), conflict);
    // And a plain submission is answered by the newest one.
    assert_eq!(answer(Some(&stored(&second)), &submission("invoice:1")), existing);
}
