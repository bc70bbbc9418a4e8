//! The least that a server with the same promise does: an axum handler, one statement for a claim and one for a report.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::header::AUTHORIZATION;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use axum::{Json, Router};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use sqlx::postgres::PgPoolOptions;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{PgPool, SqlitePool};
use tokio::net::TcpListener;

/// The only key that opens it.
pub(crate) const KEY: &str = "ratchet_0123456789abcdef_bare";

/// As many as `ratchet serve` has for claims, reports and reads.
const CONNECTIONS: u32 = 9;

#[derive(Clone)]
struct Bare {
    jobs: Jobs,
    key: Arc<[u8]>,
}

#[derive(Clone)]
enum Jobs {
    Postgres(PgPool),
    Sqlite(SqlitePool),
}

/// A job that was leased: its number, key, input and token.
type Leased = (i64, String, String, i64);

const POSTGRES_TABLE: &str = "
    CREATE TABLE job (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, operation text NOT NULL, version text NOT NULL,
        key text NOT NULL, input text NOT NULL, state text NOT NULL DEFAULT 'pending', token bigint NOT NULL DEFAULT 0,
        ready_at timestamptz NOT NULL DEFAULT now(), worker text, lease_until timestamptz, started_at timestamptz,
        settled_at timestamptz, result text, UNIQUE (operation, key));
    CREATE INDEX job_pending ON job (operation, version, ready_at, id) WHERE state = 'pending'";

const POSTGRES_CLAIM: &str = "
    UPDATE job SET state = 'running', token = token + 1, worker = $1, started_at = now(),
        lease_until = now() + interval '30 s'
    WHERE id = (SELECT id FROM job WHERE state = 'pending' AND operation = $2 AND version = $3 AND ready_at <= now()
        ORDER BY ready_at, id LIMIT 1 FOR UPDATE SKIP LOCKED)
    RETURNING id, key, input, token";

const POSTGRES_REPORT: &str = "
    UPDATE job SET state = 'succeeded', result = $3, settled_at = now(), lease_until = NULL
    WHERE id = $1 AND token = $2 AND state = 'running'";

const SQLITE_TABLE: &str = "
    CREATE TABLE job (id INTEGER PRIMARY KEY, operation TEXT NOT NULL, version TEXT NOT NULL, key TEXT NOT NULL,
        input TEXT NOT NULL, state TEXT NOT NULL DEFAULT 'pending', token INTEGER NOT NULL DEFAULT 0,
        ready_at INTEGER NOT NULL DEFAULT (unixepoch()), worker TEXT, lease_until INTEGER, started_at INTEGER,
        settled_at INTEGER, result TEXT, UNIQUE (operation, key)) STRICT;
    CREATE INDEX job_pending ON job (operation, version, ready_at, id) WHERE state = 'pending'";

const SQLITE_CLAIM: &str = "
    UPDATE job SET state = 'running', token = token + 1, worker = ?1, started_at = unixepoch(),
        lease_until = unixepoch() + 30
    WHERE id = (SELECT id FROM job WHERE state = 'pending' AND operation = ?2 AND version = ?3
        AND ready_at <= unixepoch() ORDER BY ready_at, id LIMIT 1)
    RETURNING id, key, input, token";

const SQLITE_REPORT: &str = "
    UPDATE job SET state = 'succeeded', result = ?3, settled_at = unixepoch(), lease_until = NULL
    WHERE id = ?1 AND token = ?2 AND state = 'running'";

/// Serves until the process is ended; the first line on standard output says where.
pub(crate) async fn serve(store: &str) {
    let bare = Bare { jobs: Jobs::open(store).await, key: Sha256::digest(KEY).to_vec().into() };
    let router = Router::new()
        .route("/api/v1/jobs", post(enqueue))
        .route("/api/v1/workers/claim", post(claim))
        .route("/api/v1/workers/jobs/{job}/report", post(report))
        .with_state(bare);
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
    println!("listening on http://{}", listener.local_addr().expect("it has an address"));
    axum::serve(listener, router).await.expect("it serves");
}

impl Bare {
    fn admit(&self, headers: &HeaderMap) -> Result<(), StatusCode> {
        let shown = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok()?.strip_prefix("Bearer "));
        let fits = shown.is_some_and(|shown| Sha256::digest(shown).as_slice() == &*self.key);
        fits.then_some(()).ok_or(StatusCode::UNAUTHORIZED)
    }
}

/// A list of keys, for the backlog.
async fn enqueue(
    State(bare): State<Bare>,
    headers: HeaderMap,
    Json(keys): Json<Vec<String>>,
) -> Result<(), StatusCode> {
    bare.admit(&headers)?;
    for key in keys {
        bare.jobs.enqueue(&key).await;
    }
    Ok(())
}

async fn claim(
    State(bare): State<Bare>,
    headers: HeaderMap,
    Json(body): Json<Value>,
) -> Result<(StatusCode, Json<Value>), StatusCode> {
    bare.admit(&headers)?;
    let worker = body["workerId"].as_str().ok_or(StatusCode::BAD_REQUEST)?;
    let Some((id, key, input, token)) = bare.jobs.claim(worker).await else {
        return Ok((StatusCode::NO_CONTENT, Json(Value::Null)));
    };
    let input: Value = serde_json::from_str(&input).expect("the input is JSON");
    let job = json!({"jobId": id.to_string(), "input": input, "idempotencyKey": key, "leaseToken": token.to_string()});
    Ok((StatusCode::OK, Json(json!({"job": job}))))
}

async fn report(
    State(bare): State<Bare>,
    headers: HeaderMap,
    Path(job): Path<i64>,
    Json(body): Json<Value>,
) -> Result<Json<Value>, StatusCode> {
    bare.admit(&headers)?;
    let token =
        body["leaseToken"].as_str().and_then(|text| text.parse().ok()).ok_or(StatusCode::BAD_REQUEST)?;
    let done = bare.jobs.report(job, token, &body["output"].to_string()).await;
    if done { Ok(Json(json!({"accepted": true}))) } else { Err(StatusCode::UNPROCESSABLE_ENTITY) }
}

impl Jobs {
    async fn open(store: &str) -> Self {
        if let Some(file) = store.strip_prefix("sqlite:") {
            let options = SqliteConnectOptions::new()
                .filename(file)
                .create_if_missing(true)
                .journal_mode(SqliteJournalMode::Wal)
                .synchronous(SqliteSynchronous::Full);
            // It has one writer at a time in any case.
            let pool =
                SqlitePoolOptions::new().max_connections(1).connect_with(options).await.expect("it opens");
            sqlx::raw_sql(SQLITE_TABLE).execute(&pool).await.expect("the table is made");
            return Self::Sqlite(pool);
        }
        let pool = PgPoolOptions::new().max_connections(CONNECTIONS).connect(store).await.expect("it opens");
        sqlx::raw_sql(POSTGRES_TABLE).execute(&pool).await.expect("the table is made");
        Self::Postgres(pool)
    }

    async fn enqueue(&self, key: &str) {
        let input = r#"{"order":1,"customer":"c_4711","cents":1999}"#;
        match self {
            Self::Postgres(pool) => {
                let insert =
                    "INSERT INTO job (operation, version, key, input) VALUES ('charge', '1', $1, $2)";
                sqlx::query(insert).bind(key).bind(input).execute(pool).await.expect("it is on record");
            }
            Self::Sqlite(pool) => {
                let insert =
                    "INSERT INTO job (operation, version, key, input) VALUES ('charge', '1', ?1, ?2)";
                sqlx::query(insert).bind(key).bind(input).execute(pool).await.expect("it is on record");
            }
        }
    }

    async fn claim(&self, worker: &str) -> Option<Leased> {
        let leased = match self {
            Self::Postgres(pool) => {
                sqlx::query_as(POSTGRES_CLAIM)
                    .bind(worker)
                    .bind("charge")
                    .bind("1")
                    .fetch_optional(pool)
                    .await
            }
            Self::Sqlite(pool) => {
                sqlx::query_as(SQLITE_CLAIM).bind(worker).bind("charge").bind("1").fetch_optional(pool).await
            }
        };
        leased.expect("a job is leased")
    }

    /// Whether the job was leased with this token.
    async fn report(&self, job: i64, token: i64, result: &str) -> bool {
        let rows = match self {
            Self::Postgres(pool) => {
                let done =
                    sqlx::query(POSTGRES_REPORT).bind(job).bind(token).bind(result).execute(pool).await;
                done.map(|done| done.rows_affected())
            }
            Self::Sqlite(pool) => {
                let done = sqlx::query(SQLITE_REPORT).bind(job).bind(token).bind(result).execute(pool).await;
                done.map(|done| done.rows_affected())
            }
        };
        rows.expect("a job is completed") == 1
    }
}
