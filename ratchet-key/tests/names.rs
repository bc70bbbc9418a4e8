//! The lexicons: what fires, what stays silent, and on which word.

use ratchet_key::{Code, judge_name, judge_type};

/// Code and word for a name, written `entity.name` or `name`.
fn judged(path: &str) -> Option<(Code, String)> {
    let (entity, name) = path.rsplit_once('.').map_or((None, path), |(entity, name)| (Some(entity), name));
    judge_name(entity, name).map(|found| (found.code, found.word))
}

fn fires(code: Code, names: &[(&str, &str)]) {
    for (name, word) in names {
        assert_eq!(judged(name), Some((code, (*word).to_owned())), "{name}");
    }
}

fn silent(names: &[&str]) {
    for name in names {
        assert_eq!(judged(name), None, "{name}");
    }
}

#[test]
fn attempts() {
    fires(
        Code::R001,
        &[
            ("attempt", "attempt"),
            ("retryCount", "retry_count"),
            ("RETRIES", "retries"),
            ("payment_try_no", "try"),
            ("deliveryCount", "delivery_count"),
            ("delivery.count", "delivery_count"),
            ("attempt.number", "attempt"),
            ("message.redelivered", "redelivered"),
            ("attempt2", "attempt"),
            ("fencing_token", "token"),
            ("lease.token", "token"),
            ("attemptToken", "token"),
        ],
    );
    silent(&[
        "attempt_id",
        "attempt.id",
        "retry_queue_id",
        "geometry",
        "carpentry_job",
        "pantry",
        "max_retries",
        "quiz_attempt_no",
        "exam.attempt.number",
        "delivery_id",
        "retry_of",
    ]);
}

#[test]
fn times() {
    fires(
        Code::R002,
        &[
            ("now", "now"),
            ("timestamp", "timestamp"),
            ("event_ts", "ts"),
            ("tsMillis", "ts"),
            ("created_at", "created_at"),
            ("order.updatedAt", "updated_at"),
            ("epoch_ms", "epoch_ms"),
            ("current_time", "current_time"),
            ("today", "today"),
            ("utcnow", "utcnow"),
            ("todays_date", "todays_date"),
            ("current_millis", "current_millis"),
            ("executionTime", "execution_time"),
            ("at", "at"),
            ("time", "time"),
        ],
    );
    silent(&[
        "period",
        "billing_month",
        "due_date",
        "due_at",
        "expires_at",
        "slot.starts_at",
        "time_unit",
        "timetable_id",
        "epoch",
        "known",
        "format",
        "date",
        "invoice.date",
        "update_channel",
    ]);
}

#[test]
fn random_values() {
    fires(
        Code::R003,
        &[
            ("uuid", "uuid"),
            ("random", "random"),
            ("rand_suffix", "rand"),
            ("nonce", "nonce"),
            ("random_id", "random_id"),
            ("traceId", "trace_id"),
        ],
    );
    silent(&[
        "order_uuid",
        "order.uuid",
        "random_sample_group_id",
        "salt_water_tank",
        "nonce_store",
        "request_id",
        "seed_batch",
        "brand",
    ]);
}

#[test]
fn personal_data() {
    fires(
        Code::R004,
        &[
            ("email", "email"),
            ("user.emailAddress", "email"),
            ("email.value", "email"),
            ("customer.name", "name"),
            ("customer_name", "name"),
            ("user.profile.name", "name"),
            ("firstName", "first_name"),
            ("payee.iban", "iban"),
            ("client_ip", "client_ip"),
            ("order.card_number", "card_number"),
            ("applicant.ssn", "ssn"),
            ("mail.to", "to"),
        ],
    );
    silent(&[
        "name",
        "product.name",
        "file_name",
        "email_id",
        "email.id",
        "email_verified",
        "email_bounce_count",
        "email_type",
        "phone_brand",
        "warehouse.address",
        "kanban.cardNumber",
        "customer_id",
        "shipping",
        "user.id",
        "recipient_type",
    ]);
}

#[test]
fn credentials() {
    fires(
        Code::R005,
        &[
            ("password", "password"),
            ("user.passwordHash", "password"),
            ("client_secret", "client_secret"),
            ("session.token", "token"),
            ("apiKey", "api_key"),
            ("card.pin", "pin"),
            ("cvv", "cvv"),
            ("headers.authorization", "authorization"),
        ],
    );
    silent(&[
        "token_id",
        "api_key_id",
        "token_expires",
        "cursor_token",
        "billed_tokens",
        "password_rotation_days",
        "secretariat",
        "sortKey",
        "idempotency_key",
        "pinned",
        "payment.authorization",
    ]);
}

#[test]
fn what_leaks_is_said_before_what_defeats_deduplication() {
    assert_eq!(judged("random_token"), Some((Code::R005, "token".to_owned())));
}

#[test]
fn types() {
    for (written, code, word) in [
        ("SystemTime", Code::R002, "SystemTime"),
        ("std::time::Instant", Code::R002, "Instant"),
        ("chrono :: DateTime < Utc >", Code::R002, "DateTime"),
        ("&'a jiff::Timestamp", Code::R002, "Timestamp"),
        ("f64", Code::R008, "f64"),
        ("Option<u64>", Code::R008, "Option"),
        ("::std::vec::Vec<String>", Code::R008, "Vec"),
        ("HashMap<String, u8>", Code::R008, "HashMap"),
        ("&[u8]", Code::R008, "&[u8]"),
        ("(u8, u8)", Code::R008, "(u8, u8)"),
        ("SecretString", Code::R005, "SecretString"),
    ] {
        let found = judge_type(written).map(|found| (found.code, found.word));
        assert_eq!(found, Some((code, word.to_owned())), "{written}");
    }
    for written in
        ["u64", "String", "&str", "&'static str", "uuid::Uuid", "NaiveDate", "InvoiceId", "bool", "", "<"]
    {
        assert_eq!(judge_type(written), None, "{written}");
    }
}
