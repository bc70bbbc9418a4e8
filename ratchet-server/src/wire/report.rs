//! What a worker says at the end of a job, read as kindly as can be: a success that is not understood is an effect that is
//! asked for again.

use std::fmt;
use std::time::Duration;

use axum::extract::{FromRequest, Request};
use ratchet::{Cause, CauseKind, Outcome, Payload};
use serde::de::DeserializeOwned;
use serde_json::Value;
use utoipa::ToSchema;

use super::fields::{Fields, Value as Written};
use crate::serve::problem::Problem;
use crate::serve::{App, read_in_pieces};

/// What an attempt says at its end. Fields beside these are ignored.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[allow(dead_code, reason = "it describes the body, which is read as `Told`")]
pub(super) struct ReportBody {
    worker_id: String,
    lease_token: String,
    status: Status,
    /// After a success: what duplicates receive; 64 KiB of JSON at the most.
    #[schema(value_type = Option<Value>)]
    output: Option<Value>,
    /// After a failure, for people. One line of it is kept.
    #[schema(value_type = Option<Value>)]
    error: Option<Value>,
    /// After a failure: whether another attempt, with the same key, is of any use; it is unless this is `false`.
    #[schema(value_type = Option<Value>)]
    retryable: Option<Value>,
    /// Where another attempt is of use, it waits at least so long: 1000 to 86400000. What is beyond counts as the bound.
    #[schema(value_type = Option<Value>)]
    retry_after_ms: Option<Value>,
}

#[derive(ToSchema)]
#[schema(rename_all = "UPPERCASE")]
#[allow(dead_code, reason = "it describes a word, which is read as text")]
enum Status {
    /// The effect happened.
    Succeeded,
    /// The handler failed. Whether the effect happened is unknown.
    Failed,
}

/// What a worker says, as it was understood.
#[derive(Debug)]
pub(super) struct Report {
    pub(super) worker_id: String,
    pub(super) lease_token: String,
    pub(super) outcome: Outcome,
}

impl FromRequest<App> for Report {
    type Rejection = Problem;

    async fn from_request(request: Request, app: &App) -> Result<Self, Problem> {
        let limits = app.limits();
        let most = limits.body.saturating_mul(READ_PER_KEPT);
        let mut told = Told::up_to(limits.body);
        read_in_pieces(request.into_body(), limits.patience, most, |piece| told.0.take(piece)).await?;
        told.report()
    }
}

/// How many times larger than its result may be a report is read: one that is refused for its size would be a success that is
/// not known, and an effect that is asked for again.
const READ_PER_KEPT: usize = 128;

/// No id, token or number is longer.
const LONGEST_WORD: usize = 1024;

/// One line of it is kept.
const LONGEST_ERROR: usize = 64 * 1024;

/// The fields of a report as they were written. Each is read by itself: one that cannot be read takes no other with it.
struct Told(Fields);

impl Told {
    /// With a result of so many bytes at the most.
    fn up_to(longest_result: usize) -> Self {
        let words = ["workerId", "leaseToken", "status", "retryable", "retryAfterMs"];
        let words = words.map(|name| (name, LONGEST_WORD));
        Self(Fields::of(words.into_iter().chain([("error", LONGEST_ERROR), ("output", longest_result)])))
    }

    fn report(&self) -> Result<Report, Problem> {
        if !self.0.are_whole() {
            return Err(Problem::malformed("the body is no JSON object"));
        }
        let outcome = match self.get::<String>("status").as_deref() {
            Some("SUCCEEDED") => self.success(),
            Some("FAILED") => self.failure(),
            _ => return Err(Problem::malformed("status is SUCCEEDED or FAILED")),
        };
        let text = |name| {
            self.get(name).ok_or_else(|| Problem::malformed(format!("`{name}` is missing, or no text")))
        };
        Ok(Report { worker_id: text("workerId")?, lease_token: text("leaseToken")?, outcome })
    }

    /// A field, unless it is missing or something else.
    fn get<T: DeserializeOwned>(&self, name: &str) -> Option<T> {
        match self.0.value(name) {
            Written::Written(value) => read(value).ok(),
            Written::Missing | Written::TooLong => None,
        }
    }

    /// The effect happened, whether or not its result can be stored.
    fn success(&self) -> Outcome {
        let output = match self.0.value("output") {
            Written::Written(value) => read(value),
            Written::Missing => Ok(Value::Null),
            Written::TooLong => return without_result("the report was too large for it"),
        };
        let Ok(output) = output else { return without_result("it cannot be read as JSON") };
        match Payload::from_value(&output, Payload::LARGEST_RESULT) {
            Ok(result) => Outcome::done(result),
            Err(error) => without_result(error),
        }
    }

    /// What the attempt knows. From the wire a failure says nothing about the effect.
    fn failure(&self) -> Outcome {
        let retryable = self.get("retryable").unwrap_or(true);
        let kind = if retryable { CauseKind::Failed } else { CauseKind::NotRetryable };
        let error: String = self.get("error").unwrap_or_default();
        let hint: Option<f64> = self.get("retryAfterMs").filter(|_| retryable);
        Outcome::Unknown { cause: Cause::new(kind, error), retry_after: hint.map(bounded) }
    }
}

/// A value; what is no text in it is replaced.
fn read<T: DeserializeOwned>(value: &[u8]) -> serde_json::Result<T> {
    serde_json::from_str(&String::from_utf8_lossy(value))
}

/// The effect happened; why its result is missing.
fn without_result(why: impl fmt::Display) -> Outcome {
    Outcome::Done { result: None, missing: Some(Cause::new(CauseKind::UnstorableResult, why)) }
}

/// A wish that is kept to its bounds.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is between the bounds")]
fn bounded(millis: f64) -> Duration {
    Duration::from_millis(millis.clamp(1_000.0, 86_400_000.0) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: usize = 80_000;

    fn read(text: &str) -> Result<Report, Problem> {
        let mut told = Told::up_to(LIMIT);
        told.0.take(text.as_bytes());
        told.report()
    }

    fn outcome(more: &str) -> Outcome {
        let report = read(&format!(r#"{{"workerId": "w", "leaseToken": "1.x", {more}}}"#)).unwrap();
        assert_eq!((report.worker_id.as_str(), report.lease_token.as_str()), ("w", "1.x"));
        report.outcome
    }

    #[test]
    fn a_success_is_understood_whatever_else_is_odd() {
        let charged = || Outcome::done(Payload::from_stored(r#""charged""#));
        let null = || Outcome::done(Payload::from_stored("null"));
        for (more, expected) in [
            (r#""status": "SUCCEEDED", "output": "charged""#, charged()),
            (r#""status": "SUCCEEDED", "output": "charged", "output2": {"a": [1]}"#, charged()),
            (r#""output": 1, "status": "SUCCEEDED", "output": "charged""#, charged()),
            (
                r#""status": "SUCCEEDED", "output": "charged", "retryAfterMs": -7, "retryable": "no""#,
                charged(),
            ),
            (r#""status": "SUCCEEDED""#, null()),
            (r#""status": "SUCCEEDED", "output": null, "error": 7"#, null()),
            (
                r#""status": "SUCCEEDED", "output": "charged", "ratio": NaN, "retryAfterMs": -Infinity"#,
                charged(),
            ),
            (r#""status": "SUCCEEDED", "output": "charged", "\ud800": 1, "more": "\ud800""#, charged()),
        ] {
            assert_eq!(outcome(more), expected, "{more}");
        }
    }

    #[test]
    fn a_success_keeps_its_result_however_much_else_is_said() {
        let log = format!(r#""status": "SUCCEEDED", "log": "{}""#, "x".repeat(2 * LIMIT));
        let output = format!("\"{}\"", "y".repeat(60_000));
        let result = Outcome::done(Payload::from_stored(output.as_str()));
        assert_eq!(outcome(&format!(r#"{log}, "output": {output}, "error": {output}"#)), result);
        assert_eq!(
            outcome(&format!(r#"{log}, "output": null"#)),
            Outcome::done(Payload::from_stored("null"))
        );
        assert_eq!(outcome(&log), Outcome::done(Payload::from_stored("null")));
    }

    #[test]
    fn a_success_whose_output_is_odd_is_one_without_a_result() {
        let deep = format!("{}{}", "[".repeat(500), "]".repeat(500));
        let long = format!("\"{}\"", "x".repeat(70_000));
        let too_long = format!("\"{}\"", "x".repeat(LIMIT));
        for output in [&deep, &long, &too_long, r#""\ud800""#, "12345678901234567890", "[NaN]", ""] {
            let told = outcome(&format!(r#""status": "SUCCEEDED", "output": {output}"#));
            let Outcome::Done { result: None, missing: Some(missing) } = told else { panic!("{told:?}") };
            assert_eq!(missing.kind(), CauseKind::UnstorableResult);
        }
    }

    #[test]
    fn a_failure_is_retryable_unless_it_says_otherwise_and_its_wish_is_bounded() {
        let failed = |kind, error: &str, hint: Option<u64>| Outcome::Unknown {
            cause: Cause::new(kind, error),
            retry_after: hint.map(Duration::from_millis),
        };
        for (more, expected) in [
            (r#""error": "reset", "retryable": true"#, failed(CauseKind::Failed, "reset", None)),
            (r#""retryAfterMs": 1500"#, failed(CauseKind::Failed, "", Some(1_500))),
            (r#""retryAfterMs": 3"#, failed(CauseKind::Failed, "", Some(1_000))),
            (r#""retryAfterMs": -3.5"#, failed(CauseKind::Failed, "", Some(1_000))),
            (r#""retryAfterMs": 1e30, "more": 1"#, failed(CauseKind::Failed, "", Some(86_400_000))),
            (r#""retryAfterMs": "soon", "retryable": 1, "error": []"#, failed(CauseKind::Failed, "", None)),
            (
                r#""retryable": false, "retryAfterMs": 1500, "error": "no""#,
                failed(CauseKind::NotRetryable, "no", None),
            ),
        ] {
            assert_eq!(outcome(&format!(r#""status": "FAILED", {more}"#)), expected, "{more}");
        }
    }

    #[test]
    fn nothing_is_made_up_about_who_reports_what() {
        for wrong in [
            "",
            "[]",
            "{}",
            r#"{"status": "SUCCEEDED"}"#,
            r#"{"status": "SUCCEEDED", "workerId": "w", "leaseToken": 7}"#,
            r#"{"status": "DONE", "workerId": "w", "leaseToken": "1.x"}"#,
            r#"{"workerId": "w", "leaseToken": "1.x", "output": 1}"#,
        ] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
