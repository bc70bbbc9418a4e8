//! What a worker says at the end of a job, read as kindly as can be: a success that is not understood is an effect that is
//! asked for again.

use std::collections::HashMap;
use std::fmt;
use std::time::Duration;

use axum::extract::{FromRequest, Request};
use ratchet::{Cause, CauseKind, Outcome, Payload};
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::shortened::Shortened;
use crate::serve::problem::Problem;
use crate::serve::{App, read_in_pieces, too_large};

/// What an attempt says at its end. Fields beside these are ignored.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[allow(dead_code, reason = "it describes the body, which is read as `Report`")]
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
        let limit = app.limits().body;
        let mut body = Shortened::to(limit);
        let most = limit.saturating_mul(READ_PER_KEPT);
        read_in_pieces(request.into_body(), app, most, |piece| {
            body.take(piece);
            if body.kept().len() > limit { Err(too_large(limit)) } else { Ok(()) }
        })
        .await?;
        Self::read(&String::from_utf8_lossy(body.kept()), body.is_shorter())
    }
}

/// How many times larger than it is kept a report may be: one that is refused for its size would be a success that is not
/// known, and an effect that is asked for again.
const READ_PER_KEPT: usize = 128;

impl Report {
    fn read(text: &str, is_shorter: bool) -> Result<Self, Problem> {
        // Each field by itself: one that cannot be read takes no other with it.
        let fields: HashMap<String, &RawValue> =
            serde_json::from_str(text).map_err(|_| Problem::malformed("the body is no JSON object"))?;
        let fields = Fields(fields);
        let outcome = match fields.get::<String>("status").as_deref() {
            Some("SUCCEEDED") => fields.success(is_shorter),
            Some("FAILED") => fields.failure(),
            _ => return Err(Problem::malformed("status is SUCCEEDED or FAILED")),
        };
        let text = |name| {
            fields.get(name).ok_or_else(|| Problem::malformed(format!("`{name}` is missing, or no text")))
        };
        Ok(Self { worker_id: text("workerId")?, lease_token: text("leaseToken")?, outcome })
    }
}

/// The fields of a report as they were written.
struct Fields<'a>(HashMap<String, &'a RawValue>);

impl Fields<'_> {
    /// A field, unless it is missing or something else.
    fn get<T: DeserializeOwned>(&self, name: &str) -> Option<T> {
        serde_json::from_str(self.0.get(name)?.get()).ok()
    }

    /// The effect happened, whether or not its result can be stored.
    fn success(&self, is_shorter: bool) -> Outcome {
        let read = self.0.get("output").map_or(Ok(Value::Null), |output| serde_json::from_str(output.get()));
        match read {
            Ok(Value::Null) if is_shorter => without_result("the report was too large for it"),
            Ok(output) => match Payload::from_value(&output, Payload::LARGEST_RESULT) {
                Ok(result) => Outcome::done(result),
                Err(error) => without_result(error),
            },
            Err(_) => without_result("it cannot be read as JSON"),
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

    fn outcome(more: &str) -> Outcome {
        let text = format!(r#"{{"workerId": "w", "leaseToken": "1.x", {more}}}"#);
        let report = Report::read(&text, false).unwrap();
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
        ] {
            assert_eq!(outcome(more), expected, "{more}");
        }
    }

    #[test]
    fn a_success_whose_output_is_odd_is_one_without_a_result() {
        let deep = format!("{}{}", "[".repeat(500), "]".repeat(500));
        let long = format!("\"{}\"", "x".repeat(70_000));
        for output in [deep.as_str(), long.as_str(), r#""\ud800""#, "12345678901234567890"] {
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
            assert!(Report::read(wrong, false).is_err(), "{wrong}");
        }
    }
}
