//! What was seen, beside what was declared.

use clap::Args;
use serde::Serialize;

use super::sandbox::Answer;

/// What the sandbox's documentation says.
#[derive(Args, Default)]
pub(crate) struct Declared {
    /// The header that marks a repeated answer, such as `Idempotent-Replayed`.
    #[arg(long, value_name = "HEADER")]
    replay_marker: Option<String>,
    /// The status for a request whose key is being executed, such as 409.
    #[arg(long, value_name = "STATUS")]
    in_flight: Option<u16>,
    /// The status for another input under a key that was used, such as 422.
    #[arg(long, value_name = "STATUS")]
    mismatch: Option<u16>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Verdict {
    Agrees,
    Differs,
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
            Self::Undeclared => "not declared",
            Self::NotProbed => "not probed",
        }
    }
}

impl Finding {
    pub(super) fn not_probed(check: &'static str, why: &str) -> Self {
        Self { check, declared: None, observed: why.to_owned(), verdict: Verdict::NotProbed }
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
    pub(super) fn repeated(&self, first: &Answer, again: &Answer) -> Vec<Finding> {
        let same = first.is_same(again);
        let observed = if same {
            format!("{}, the same answer", again.status)
        } else {
            format!("{}, then {}: another answer", first.status, again.status)
        };
        let added: Vec<_> = again.headers.difference(&first.headers).map(String::as_str).collect();
        let marker = self.replay_marker.as_deref().map(str::to_ascii_lowercase);
        let is_marked = marker.as_deref().is_some_and(|marker| added.contains(&marker));
        let seen = if added.is_empty() { "no header more".to_owned() } else { added.join(", ") };
        vec![
            Finding::against("repeated request", Some("the same answer".to_owned()), same, observed),
            Finding::against("its replay marker", marker, is_marked, seen),
        ]
    }

    /// Two answers to one key that differ, and are both a success, are two effects.
    pub(super) fn at_once(&self, one: &Answer, other: &Answer) -> Finding {
        let check = "two at once";
        let declared = self.in_flight.map(|status| status.to_string());
        let refused = [one, other].into_iter().find(|answer| !answer.is_success());
        match refused {
            Some(refused) => {
                let wait = if refused.headers.contains("retry-after") { ", with Retry-After" } else { "" };
                let observed = format!("one was answered {}{wait}", refused.status);
                let agrees =
                    self.in_flight == Some(refused.status) && (one.is_success() || other.is_success());
                Finding::against(check, declared, agrees, observed)
            }
            // One waited for the other, or came after it: no signal could be seen.
            None if one.is_same(other) => {
                let observed = format!("both were answered {} alike, no signal", one.status);
                Finding { check, declared, observed, verdict: Verdict::Undeclared }
            }
            None => Finding {
                check,
                declared,
                observed: format!("{} and {}: two effects", one.status, other.status),
                verdict: Verdict::Differs,
            },
        }
    }

    pub(super) fn changed(&self, first: &Answer, changed: &Answer) -> Finding {
        let declared = self.mismatch.map(|status| status.to_string());
        let observed = match changed.status {
            status if first.is_same(changed) => format!("{status}, the first answer: not noticed"),
            status if changed.is_success() => format!("{status}, another answer: executed"),
            status => format!("{status}, refused"),
        };
        Finding::against("changed input", declared, self.mismatch == Some(changed.status), observed)
    }

    pub(super) fn elsewhere(first: &Answer, there: &Answer) -> Finding {
        let observed = match there.status {
            status if first.is_same(there) => format!("{status}, the first answer: one scope"),
            status if there.is_success() => format!("{status}, an answer of its own: keys are per endpoint"),
            status => format!("{status}, refused"),
        };
        Finding::against("other endpoint", None, false, observed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn declared() -> Declared {
        Declared {
            replay_marker: Some("Idempotent-Replayed".to_owned()),
            in_flight: Some(409),
            mismatch: Some(422),
        }
    }

    fn created(body: &str) -> Answer {
        Answer::of(201, &["date"], body)
    }

    #[test]
    fn a_repeated_request_is_answered_alike_and_marked() {
        let marked = Answer::of(201, &["date", "idempotent-replayed"], "1");
        let verdicts = |again| {
            let found = declared().repeated(&created("1"), &again);
            [found[0].verdict, found[1].verdict]
        };
        assert_eq!(verdicts(marked), [Verdict::Agrees, Verdict::Agrees]);
        assert_eq!(verdicts(created("1")), [Verdict::Agrees, Verdict::Differs]);
        assert_eq!(verdicts(created("2")), [Verdict::Differs, Verdict::Differs]);
        assert_eq!(verdicts(Answer::of(409, &[], "1")), [Verdict::Differs, Verdict::Differs]);
    }

    #[test]
    fn two_successes_that_differ_are_two_effects_whatever_is_declared() {
        let busy = Answer::of(409, &["retry-after"], "");
        let seen = declared().at_once(&created("1"), &busy);
        assert_eq!(
            (seen.verdict, seen.observed.as_str()),
            (Verdict::Agrees, "one was answered 409, with Retry-After")
        );
        assert_eq!(declared().at_once(&busy, &busy).verdict, Verdict::Differs, "nobody was served");
        assert_eq!(declared().at_once(&created("1"), &created("1")).verdict, Verdict::Undeclared);
        assert_eq!(Declared::default().at_once(&created("1"), &created("2")).verdict, Verdict::Differs);
    }

    #[test]
    fn a_changed_input_is_refused_or_overlooked_or_executed() {
        for (answer, observed, verdict) in [
            (Answer::of(422, &[], ""), "422, refused", Verdict::Agrees),
            (Answer::of(400, &[], ""), "400, refused", Verdict::Differs),
            (created("1"), "201, the first answer: not noticed", Verdict::Differs),
            (created("2"), "201, another answer: executed", Verdict::Differs),
        ] {
            let seen = declared().changed(&created("1"), &answer);
            assert_eq!((seen.observed.as_str(), seen.verdict), (observed, verdict));
        }
    }

    #[test]
    fn another_endpoint_has_keys_of_its_own_or_not() {
        let seen = |there| Declared::elsewhere(&created("1"), &there).observed;
        assert_eq!(seen(created("1")), "201, the first answer: one scope");
        assert_eq!(seen(created("2")), "201, an answer of its own: keys are per endpoint");
        assert_eq!(seen(Answer::of(422, &[], "")), "422, refused");
    }
}
