//! Names of counters, times and random values, in several languages, and what only looks like them.

use ratchet_key::{Code, judge_name};

fn code(path: &str) -> Option<Code> {
    let (entity, name) = path.rsplit_once('.').map_or((None, path), |(entity, name)| (Some(entity), name));
    judge_name(entity, name).map(|found| found.code)
}

fn fires(code_expected: Code, names: &[&str]) {
    for name in names {
        assert_eq!(code(name), Some(code_expected), "{name}");
    }
}

fn silent(names: &[&str]) {
    for name in names {
        assert_eq!(code(name), None, "{name}");
    }
}

#[test]
fn counters_that_grow_with_each_attempt() {
    fires(
        Code::R001,
        &[
            "attemptsMade",
            "previous_attempts",
            "attempts.length",
            "job.attempts.count",
            "numRetries",
            "is_retry",
            "retry_suffix",
            "approximateReceiveCount",
            "dequeueCount",
            "num_delivered",
            "redeliveryCount",
            "delivery_tag",
            "receiptHandle",
            "consecutive_failures",
            "resend_count",
            "rerun_index",
            "run_attempt",
            "executions",
            "sequence.consumer",
            "consumer_seq",
            "wiederholung",
            "num_essai",
            "reintentos",
            "numero_tentative",
            "pogingen",
        ],
    );
    silent(&[
        "attempt.reference",
        "attempt_key",
        "retry.id",
        "max_attempts",
        "question_attempt",
        "sequence",
        "sequence.stream",
        "consumer",
        "tentative",
        "delivery",
        "shipment.deliveryNumber",
        "i",
        "index",
        "page_no",
    ]);
}

#[test]
fn runs_of_a_workflow_as_its_engine_names_them() {
    fires(
        Code::R001,
        &[
            "workflow.info.run_id",
            "workflowInfo.runId",
            "info.workflow_execution.run_id",
            "WorkflowExecution.RunID",
            "activity_info.workflow_run_id",
            "temporal_run_id",
        ],
    );
    silent(&[
        // Ids of records, and of runs that keep theirs while they are repeated.
        "run_id",
        "payroll_run_id",
        "payroll.run_id",
        "dag_run.run_id",
        "workflow_run_id",
        "github.run_id",
        "info.first_execution_run_id",
        "workflow_info.workflow_id",
    ]);
}

#[test]
fn times_of_the_clock_and_of_the_record() {
    fires(
        Code::R002,
        &[
            "now_ms",
            "timeStamp",
            "nextHour",
            "next_hour_date",
            "current_minute",
            "timeBucket",
            "booking.created_at",
            "appointment.cancelledAt",
            "received_at_ms",
            "lastModified",
            "last_sync_at",
            "mtime",
            "system_clock",
            "heute",
            "marca_de_tiempo",
            "horodatage",
            "criado_em",
            "dzisiaj",
        ],
    );
    silent(&[
        "visitAt",
        "next_run_at",
        "closes_at",
        "vector_clock",
        "logicalClock",
        "thread_ts",
        "slack.ts",
        "message.ts",
        "bucket",
        "tick",
        "processing_time",
        "billing.currentPeriod",
        "order.hour",
    ]);
}

#[test]
fn random_names() {
    fires(
        Code::R003,
        &[
            "rng",
            "randStr",
            "random_seed",
            "session_nonce",
            "generated_uuid",
            "traceparent",
            "uniq",
            "unique_suffix",
            "shortid",
            "zufallswert",
            "aleatoire",
            "losowa",
        ],
    );
    silent(&["tx.nonce", "account_nonce", "wallet.nonce", "suffix", "seed", "record.unique", "order.guid"]);
}
