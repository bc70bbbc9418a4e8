//! What becomes of a record when the one before it has ended.

use super::*;
use crate::model::{After, Branch, Ending};

const BRANCHES: [Branch; 2] = [Branch::Succeeded, Branch::Failed];
const ENDINGS: [Ending; 3] = [Ending::Succeeded, Ending::Failed, Ending::Stopped];

/// A record that waits for another one.
pub(super) fn waiting(on: Branch) -> Story {
    let id = RecordId { key: ratchet_key::Key::parse("invoice:0").expect("a key"), ..submission("x").id };
    let submission = Submission { after: Some(After { id, on }), ..submission("invoice:1") };
    let SubmitDecision::Insert { record, .. } = decide_submission(None, &submission, START) else {
        panic!("a new key is inserted");
    };
    assert_eq!(record.state, State::Waiting);
    Story { record: *record, now: START }
}

fn follow(ended: Ending) -> Command {
    Command::Follow { ended }
}

#[test]
fn each_state_is_one_ending_or_none() {
    for state in State::ALL {
        let expected = match state {
            State::Waiting | State::Pending | State::Running => None,
            State::Succeeded => Some(Ending::Succeeded),
            State::Failed | State::Exhausted | State::Abandoned | State::Uncertain => Some(Ending::Failed),
            State::Cancelled | State::Skipped => Some(Ending::Stopped),
        };
        assert_eq!(Ending::of(state, None, None), expected, "{state}");
    }
    let uncertain = |why, asked| Ending::of(State::Uncertain, Some(why), asked);
    assert_eq!(uncertain(Uncertainty::NotRetryable, None), Some(Ending::Failed));
    assert_eq!(uncertain(Uncertainty::NoDeduplication, Some(at(HOUR))), None, "somebody asks");
    assert_eq!(uncertain(Uncertainty::Cancelled, None), Some(Ending::Stopped));
    assert_eq!(uncertain(Uncertainty::Cancelled, Some(at(HOUR))), Some(Ending::Stopped));
}

#[test]
fn a_branch_is_taken_on_its_ending_and_on_no_other() {
    for on in BRANCHES {
        for ended in ENDINGS {
            let taken = matches!(
                (on, ended),
                (Branch::Succeeded, Ending::Succeeded) | (Branch::Failed, Ending::Failed)
            );
            let mut story = waiting(on).wait(MINUTE);
            let before = story.record.clone();
            let state = if taken { State::Pending } else { State::Skipped };
            assert_eq!(story.tell(follow(ended)), Answer::Now(state), "{on:?} {ended:?}");
            let expected = if taken {
                Record { state, ready_at: at(MINUTE), ..before }
            } else {
                Record { state, settled_at: Some(at(MINUTE)), ..before }
            };
            assert_eq!(story.record, expected);
        }
    }
}

#[test]
fn only_what_waits_is_decided_about() {
    let decided = |on| waiting(on).then([follow(Ending::Succeeded)]);
    for (story, state) in [
        (Story::of(HEADER), State::Pending),
        (Story::running(HEADER), State::Running),
        (Story::running(HEADER).end(done()), State::Succeeded),
        (decided(Branch::Succeeded), State::Pending),
        (decided(Branch::Failed), State::Skipped),
        (waiting(Branch::Succeeded).then([cancel()]), State::Cancelled),
    ] {
        for ended in ENDINGS {
            assert_eq!(story.refusal(follow(ended)), Refusal::State(state));
        }
    }
}

#[test]
fn what_waits_or_is_skipped_cannot_be_executed() {
    let skipped = waiting(Branch::Failed).then([follow(Ending::Succeeded)]);
    for (story, state) in [(waiting(Branch::Failed), State::Waiting), (skipped, State::Skipped)] {
        let story = story.wait(DAY);
        assert_eq!(story.refusal(lease()), Refusal::State(state));
        assert_eq!(story.refusal(lease_ahead()), Refusal::State(state));
        assert_eq!(story.refusal(replay(true)), Refusal::State(state));
        assert_eq!(story.refusal(start(1)), Refusal::Superseded);
        assert_eq!(story.refusal(settle(1, done())), Refusal::Superseded);
    }
}

#[test]
fn a_replay_waits_again_until_the_record_was_executed_once() {
    let again = |story: Story| story.then([cancel(), replay(false)]).state();
    assert_eq!(again(waiting(Branch::Failed)), State::Waiting);
    let released = || waiting(Branch::Failed).then([follow(Ending::Failed)]);
    assert_eq!(again(released()), State::Waiting);
    let refused = released().lease_and_start().end(rejected());
    assert_eq!(refused.then([replay(false)]).state(), State::Pending);
}

#[test]
fn a_later_start_is_kept() {
    let mut story = waiting(Branch::Succeeded);
    story.record.ready_at = at(HOUR);
    story.tell(follow(Ending::Succeeded));
    assert_eq!(story.record.ready_at, at(HOUR));
}

#[test]
fn a_generation_may_follow_what_was_skipped() {
    let skipped = waiting(Branch::Failed).then([follow(Ending::Succeeded)]);
    assert!(skipped.state().is_definite() && skipped.state().is_settled());
    assert!(!waiting(Branch::Failed).state().is_settled());
}

#[test]
fn nothing_comes_after_a_record_of_another_namespace() {
    let id = RecordId { namespace: Namespace::from_static("tenant-a"), ..submission("invoice:0").id };
    let lost = Submission { after: Some(After { id, on: Branch::Failed }), ..submission("invoice:1") };
    let refused =
        SubmitDecision::Answer(crate::model::Submitted::Conflict(crate::model::Conflict::NoPredecessor));
    assert_eq!(decide_submission(None, &lost, START), refused);
    let plain = decide_submission(None, &submission("invoice:1"), START);
    assert_eq!(plain.without_predecessor(), refused);
}
