//! What was seen, beside what was declared.

use ratchet::contract::{Meaning, OtherInput, Repeats, ScopePart};
use serde::Serialize;

use super::declared::Declared;
use super::sandbox::{Answer, Reading};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Verdict {
    Agrees,
    Differs,
    /// Answers alone do not tell whether something happened twice: look into the sandbox.
    Unclear,
    /// Nothing was declared to compare with.
    Undeclared,
    NotProbed,
}

#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct Finding {
    pub(super) check: &'static str,
    pub(super) declared: Option<String>,
    pub(super) observed: String,
    pub(super) verdict: Verdict,
}

impl Verdict {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Agrees => "agrees",
            Self::Differs => "DIFFERS",
            Self::Unclear => "unclear",
            Self::Undeclared => "not declared",
            Self::NotProbed => "not probed",
        }
    }
}

impl Finding {
    pub(super) fn not_probed(check: &'static str, why: impl Into<String>) -> Self {
        Self { check, declared: None, observed: why.into(), verdict: Verdict::NotProbed }
    }

    /// Compares with what was declared, if something was.
    fn against(check: &'static str, declared: Option<String>, agrees: bool, observed: String) -> Self {
        let verdict = match (&declared, agrees) {
            (None, _) => Verdict::Undeclared,
            (Some(_), true) => Verdict::Agrees,
            (Some(_), false) => Verdict::Differs,
        };
        Self { check, declared, observed, verdict }
    }

    pub(super) fn row(&self) -> Vec<String> {
        let declared = self.declared.clone().unwrap_or_else(|| "-".to_owned());
        vec![self.check.to_owned(), declared, self.verdict.as_str().to_owned(), self.observed.clone()]
    }
}

impl Declared {
    pub(super) fn repeated(&self, first: &Answer, again: &Answer) -> [Finding; 2] {
        let declared = match self.contract.on_repeat() {
            Repeats::FirstAnswer => Some("the first answer"),
            Repeats::CurrentState => Some("what is the case now"),
            Repeats::Conflict => Some("an answer that means done"),
            Repeats::SilentDrop => Some("accepted, and dropped"),
            _ => None,
        };
        let again_finding = self.recognised("repeated request", declared.map(str::to_owned), first, again);
        [again_finding, self.marked(first, again)]
    }

    /// Whether a request under a known key was taken for the one before.
    fn recognised(
        &self,
        check: &'static str,
        declared: Option<String>,
        first: &Answer,
        again: &Answer,
    ) -> Finding {
        let same = first.is_same(again);
        let is_duplicate = again.read(&self.contract) == Reading::Duplicate;
        let observed = match again.status() {
            status if same => format!("{status}, the same answer"),
            status if is_duplicate => format!("{status}, which means that it was done before"),
            status => format!("{}, then {status}: another answer", first.status()),
        };
        let agrees = match self.contract.on_repeat() {
            Repeats::Conflict => is_duplicate,
            _ => same || is_duplicate,
        };
        let may_change = matches!(self.contract.on_repeat(), Repeats::CurrentState | Repeats::SilentDrop);
        let mut finding = Finding::against(check, declared, agrees, observed);
        if finding.verdict == Verdict::Differs && may_change && again.is_success() {
            finding.verdict = Verdict::Unclear;
        }
        finding
    }

    fn marked(&self, first: &Answer, again: &Answer) -> Finding {
        let added = again.headers_beyond(first);
        let marker = self.contract.replay_marker();
        let is_marked = marker
            .is_some_and(|(name, value)| again.has_header(name, value) && !first.has_header(name, value));
        let seen = if added.is_empty() { "no header more".to_owned() } else { added.join(", ") };
        let declared = marker.map(|(name, _)| name.to_ascii_lowercase());
        Finding::against("its replay marker", declared, is_marked, seen)
    }

    /// Two answers to one key that differ, and are both a success, are two effects.
    pub(super) fn at_once(&self, one: &Answer, other: &Answer) -> Finding {
        let check = "two at once";
        let declared = self.statuses(Meaning::InFlight);
        let refused = [one, other].into_iter().find(|answer| !answer.is_success());
        let told = |verdict, observed| Finding { check, declared: declared.clone(), observed, verdict };
        match refused {
            Some(refused) => {
                let wait = if refused.has_header("retry-after", "") { ", with Retry-After" } else { "" };
                let observed = format!("one was answered {}{wait}", refused.status());
                let is_signal =
                    matches!(refused.read(&self.contract), Reading::InFlight | Reading::Duplicate);
                let one_was_served = one.is_success() || other.is_success();
                Finding::against(check, declared, is_signal && one_was_served, observed)
            }
            // One waited for the other, or came after it: no signal could be seen.
            None if one.is_same(other) => {
                told(Verdict::Undeclared, format!("both were answered {} alike, no signal", one.status()))
            }
            None => {
                let (one, other) = (one.status(), other.status());
                match self.contract.on_repeat() {
                    Repeats::CurrentState | Repeats::SilentDrop => {
                        told(Verdict::Unclear, format!("{one} and {other}, which differ"))
                    }
                    _ => told(Verdict::Differs, format!("{one} and {other}: two effects")),
                }
            }
        }
    }

    pub(super) fn changed(&self, first: &Answer, changed: &Answer) -> Finding {
        let statuses = self.statuses(Meaning::Mismatch);
        let is_mismatch = changed.read(&self.contract) == Reading::Mismatch;
        let same = first.is_same(changed);
        let (declared, agrees) = match (self.contract.on_other_input(), statuses) {
            (OtherInput::NotNoticed, _) => (Some("the first answer".to_owned()), same),
            (OtherInput::NewAction, _) => (Some("executed".to_owned()), changed.is_success() && !same),
            (_, Some(statuses)) => (Some(statuses), is_mismatch),
            (OtherInput::Refused, None) => (Some("refused".to_owned()), !changed.is_success()),
            (_, None) => (None, false),
        };
        let observed = match changed.status() {
            status if same => format!("{status}, the first answer: not noticed"),
            status if changed.is_success() => format!("{status}, another answer: executed"),
            status => format!("{status}, refused"),
        };
        Finding::against("changed input", declared, agrees, observed)
    }

    /// The first request once more, where one part of its scope is another: whether equal keys are kept apart by it.
    pub(super) fn elsewhere(
        &self,
        check: &'static str,
        parts: &[ScopePart],
        first: &Answer,
        there: &Answer,
    ) -> Finding {
        let is_declared = parts.iter().any(|part| self.contract.scope().contains(part));
        let declared = is_declared.then(|| "keys of its own".to_owned());
        let is_apart = there.is_success() && !first.is_same(there);
        let observed = match there.status() {
            status if first.is_same(there) => format!("{status}, the first answer: one scope"),
            status if is_apart => format!("{status}, an answer of its own: keys of its own"),
            status => format!("{status}, refused"),
        };
        Finding::against(check, declared, is_apart, observed)
    }

    /// The first request once more, at the end of the time in which a repetition is safe.
    pub(super) fn in_window(&self, first: &Answer, late: &Answer) -> Finding {
        self.recognised("end of its window", self.recognised_until(), first, late)
    }

    /// The same when the destination may have forgotten it: it may do what it likes.
    pub(super) fn after_window(first: &Answer, late: &Answer) -> Finding {
        let observed = match late.status() {
            status if first.is_same(late) => format!("{status}, the first answer: still remembered"),
            status if late.is_success() => format!("{status}, another answer: executed again"),
            status => format!("{status}, refused"),
        };
        Finding::against("after its window", None, false, observed)
    }
}

#[cfg(test)]
mod tests {
    use ratchet::contract::{Contract, Signal};
    use ratchet::contracts::{azure, gocardless, plaid, razorpay, resend, stripe};

    use super::*;

    const OURS: Contract = Contract::header("Idempotency-Key")
        .repeats(Repeats::FirstAnswer)
        .marks_replays("Idempotent-Replayed", "")
        .signals(&[Signal::in_flight(409), Signal::mismatch(422)]);

    fn of(contract: Contract) -> Declared {
        Declared { contract, place: *contract.mechanism() }
    }

    fn created(body: &str) -> Answer {
        Answer::of(201, &["date"], body)
    }

    #[test]
    fn a_repeated_request_is_answered_alike_and_marked() {
        let marked = Answer::of(201, &["date", "idempotent-replayed"], "1");
        let verdicts = |again| of(OURS).repeated(&created("1"), &again).map(|finding| finding.verdict);
        assert_eq!(verdicts(marked), [Verdict::Agrees, Verdict::Agrees]);
        assert_eq!(verdicts(created("1")), [Verdict::Agrees, Verdict::Differs]);
        assert_eq!(verdicts(created("2")), [Verdict::Differs, Verdict::Differs]);
        assert_eq!(verdicts(Answer::of(409, &[], "1")), [Verdict::Differs, Verdict::Differs]);
    }

    #[test]
    fn a_repeated_request_is_compared_with_what_its_contract_promises() {
        let verdict = |contract, again| of(contract).repeated(&created("1"), &again)[0].verdict;
        let conflict = r#"{"error":{"errors":[{"reason":"idempotent_creation_conflict"}]}}"#;
        assert_eq!(verdict(gocardless::CREATE, Answer::of(409, &[], conflict)), Verdict::Agrees);
        assert_eq!(verdict(gocardless::CREATE, created("1")), Verdict::Differs);
        assert_eq!(verdict(razorpay::PAYOUTS, created("1")), Verdict::Agrees);
        assert_eq!(verdict(razorpay::PAYOUTS, created("2")), Verdict::Unclear, "a state may have changed");
        assert_eq!(verdict(razorpay::PAYOUTS, Answer::of(500, &[], "")), Verdict::Differs);
        assert_eq!(verdict(plaid::TRANSFER_AUTHORIZATIONS, created("2")), Verdict::Undeclared);
    }

    #[test]
    fn two_successes_that_differ_are_two_effects_whatever_is_declared() {
        let busy = Answer::of(409, &["retry-after"], "");
        let seen = of(OURS).at_once(&created("1"), &busy);
        assert_eq!(
            (seen.verdict, seen.observed.as_str()),
            (Verdict::Agrees, "one was answered 409, with Retry-After")
        );
        assert_eq!(of(OURS).at_once(&busy, &busy).verdict, Verdict::Differs, "nobody was served");
        assert_eq!(of(OURS).at_once(&created("1"), &created("1")).verdict, Verdict::Undeclared);
        let undeclared = of(Contract::header("K"));
        assert_eq!(undeclared.at_once(&created("1"), &created("2")).verdict, Verdict::Differs);
        assert_eq!(
            of(stripe::V1).at_once(&created("1"), &busy).verdict,
            Verdict::Differs,
            "409 without its code"
        );
    }

    #[test]
    fn a_changed_input_is_refused_or_overlooked_or_executed() {
        for (answer, observed, verdict) in [
            (Answer::of(422, &[], ""), "422, refused", Verdict::Agrees),
            (Answer::of(400, &[], ""), "400, refused", Verdict::Differs),
            (created("1"), "201, the first answer: not noticed", Verdict::Differs),
            (created("2"), "201, another answer: executed", Verdict::Differs),
        ] {
            let seen = of(OURS).changed(&created("1"), &answer);
            assert_eq!((seen.observed.as_str(), seen.verdict), (observed, verdict));
        }
        let verdict = |contract, answer| of(contract).changed(&created("1"), &answer).verdict;
        let other = Answer::of(409, &[], r#"{"name":"invalid_idempotent_request"}"#);
        assert_eq!(verdict(resend::EMAILS, other), Verdict::Agrees);
        assert_eq!(verdict(resend::EMAILS, Answer::of(409, &[], "{}")), Verdict::Differs);
        assert_eq!(verdict(azure::COMMUNICATION_SERVICES, Answer::of(400, &[], "")), Verdict::Agrees);
        assert_eq!(verdict(plaid::BANK_TRANSFERS, created("2")), Verdict::Agrees, "it is a new action there");
        assert_eq!(verdict(plaid::BANK_TRANSFERS, created("1")), Verdict::Differs);
    }

    #[test]
    fn another_scope_has_keys_of_its_own_or_not() {
        let seen = |contract, there| {
            let finding =
                of(contract).elsewhere("other endpoint", &[ScopePart::Route], &created("1"), &there);
            (finding.observed, finding.verdict)
        };
        let (apart, one) = ("201, an answer of its own: keys of its own", "201, the first answer: one scope");
        assert_eq!(seen(OURS, created("1")), (one.to_owned(), Verdict::Undeclared));
        assert_eq!(seen(OURS, created("2")), (apart.to_owned(), Verdict::Undeclared));
        assert_eq!(seen(OURS, Answer::of(422, &[], "")).0, "422, refused");
        let by_route = OURS.kept_apart_by(&[ScopePart::Route]);
        assert_eq!(seen(by_route, created("2")).1, Verdict::Agrees);
        assert_eq!(seen(by_route, created("1")).1, Verdict::Differs);
    }

    #[test]
    fn a_key_is_known_until_the_end_of_its_window_and_may_be_forgotten_after() {
        let declared = of(OURS.remembers_for(std::time::Duration::from_hours(1)));
        let seen = declared.in_window(&created("1"), &created("2"));
        assert_eq!((seen.declared.as_deref(), seen.verdict), (Some("recognised for 54m"), Verdict::Differs));
        assert_eq!(declared.in_window(&created("1"), &created("1")).verdict, Verdict::Agrees);
        let after = Declared::after_window(&created("1"), &created("2"));
        assert_eq!(
            (after.observed.as_str(), after.verdict),
            ("201, another answer: executed again", Verdict::Undeclared)
        );
    }
}
