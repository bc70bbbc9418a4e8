//! One statement for one enqueue, prepared, on a connection for each caller.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use tokio_postgres::{Client, NoTls, Statement};

use super::transaction::Guarded;
use super::{OPEN, RECORDS, TABLE, drain, fingerprint, listen};
use crate::job::Job;
use crate::subject::{Result, Role, Subject};
use crate::work::{CALLERS, Tuning, Work};

#[derive(Clone)]
pub(crate) struct Statements(Arc<Connections>);

struct Connections {
    url: String,
    each: Vec<Connection>,
    next: AtomicUsize,
    /// Whether a worker listens.
    heard: AtomicBool,
}

pub(super) struct Connection {
    pub(super) client: Client,
    insert: Statement,
    insert_and_notify: Statement,
    insert_many: Statement,
    guarded: Guarded,
}

/// A duplicate gets the row on record and its fingerprint, to be compared, in the same round trip.
const INSERT: &str = "
    WITH new AS (
        INSERT INTO jobs (operation, key, version, fingerprint, input) VALUES ('job', $1, '1', $2, $3)
        ON CONFLICT DO NOTHING RETURNING id, fingerprint
    )
    SELECT id, fingerprint FROM new UNION ALL SELECT id, fingerprint FROM jobs WHERE operation = 'job' AND key = $1
    LIMIT 1";

const INSERT_AND_NOTIFY: &str = "
    WITH new AS (
        INSERT INTO jobs (operation, key, version, fingerprint, input) VALUES ('job', $1, '1', $2, $3)
        ON CONFLICT DO NOTHING RETURNING id, fingerprint
    )
    SELECT id, fingerprint, pg_notify('jobs', '') FROM new";

pub(super) const INSERT_MANY: &str = "
    INSERT INTO jobs (operation, key, version, fingerprint, input)
    SELECT 'job', key, '1', fingerprint, input FROM unnest($1::text[], $2::bytea[], $3::text[]) AS new(key, fingerprint, input)
    ON CONFLICT DO NOTHING RETURNING key";

/// Connects, and lets the connection work in the background.
pub(super) async fn connect(url: &str) -> Result<Client> {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
    tokio::spawn(connection);
    Ok(client)
}

impl Connection {
    async fn open(url: &str) -> Result<Self> {
        let client = connect(url).await?;
        let insert = client.prepare(INSERT).await?;
        let insert_and_notify = client.prepare(INSERT_AND_NOTIFY).await?;
        let insert_many = client.prepare(INSERT_MANY).await?;
        let guarded = Guarded::prepare(&client).await?;
        Ok(Self { client, insert, insert_and_notify, insert_many, guarded })
    }
}

/// Keys, fingerprints and inputs.
type Columns = (Vec<String>, Vec<Vec<u8>>, Vec<String>);

/// The columns of these jobs.
pub(super) fn columns(ids: impl Iterator<Item = u64>) -> Result<Columns> {
    let (mut keys, mut fingerprints, mut inputs) = (Vec::new(), Vec::new(), Vec::new());
    for id in ids {
        let job = Job::new(id);
        keys.push(job.key());
        fingerprints.push(fingerprint(id));
        inputs.push(serde_json::to_string(&job)?);
    }
    Ok((keys, fingerprints, inputs))
}

impl Statements {
    /// The callers take turns: none waits for another's statement as long as there are no more callers than connections.
    fn connection(&self) -> &Connection {
        let turn = self.0.next.fetch_add(1, Ordering::Relaxed);
        &self.0.each[turn % self.0.each.len()]
    }
}

impl Subject for Statements {
    const NAME: &'static str = "bare SQL";
    const PACKAGE: &'static str = "tokio-postgres";
    const ROLE: Role = Role::Limit;
    const OPEN: &'static str = OPEN;
    const RECORDS: &'static str = RECORDS;

    fn offers(work: Work) -> bool {
        // There is nothing to install.
        !matches!(work, Work::DrainInstalled | Work::PickupInstalled)
    }

    async fn open(url: &str) -> Result<Self> {
        connect(url).await?.batch_execute(TABLE).await?;
        let mut each = Vec::new();
        for _ in 0..CALLERS {
            each.push(Connection::open(url).await?);
        }
        let (next, heard) = (AtomicUsize::new(0), AtomicBool::new(false));
        Ok(Self(Arc::new(Connections { url: url.to_owned(), each, next, heard })))
    }

    async fn enqueue(&self, id: u64) -> Result<()> {
        let (job, fingerprint) = (Job::new(id), fingerprint(id));
        let connection = self.connection();
        let heard = self.0.heard.load(Ordering::Relaxed);
        let statement = if heard { &connection.insert_and_notify } else { &connection.insert };
        let input = serde_json::to_string(&job)?;
        let row = connection.client.query_one(statement, &[&job.key(), &fingerprint, &input]).await?;
        let on_record: Vec<u8> = row.get(1);
        if on_record == fingerprint { Ok(()) } else { Err("another input".into()) }
    }

    async fn enqueue_batch(&self, ids: Range<u64>) -> Result<()> {
        let expected = ids.end - ids.start;
        let (keys, fingerprints, inputs) = columns(ids)?;
        let connection = self.connection();
        let new = connection.client.query(&connection.insert_many, &[&keys, &fingerprints, &inputs]).await?;
        if u64::try_from(new.len())? == expected { Ok(()) } else { Err("a duplicate".into()) }
    }

    async fn start_worker(&self, tuning: Tuning) -> Result<()> {
        if tuning == Tuning::Latency {
            self.0.heard.store(true, Ordering::Relaxed);
            return listen::start(&self.0.url).await;
        }
        for _ in 0..2 {
            drain::start(&self.0.url).await?;
        }
        Ok(())
    }

    async fn effect(&self, id: u64) -> Result<()> {
        let connection = self.connection();
        connection.guarded.run(&connection.client, id).await
    }
}
