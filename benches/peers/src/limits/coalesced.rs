//! One writer for all callers: it takes what has come meanwhile into one statement and one commit, and waits for nothing.

use std::collections::HashSet;

use tokio::sync::{mpsc, oneshot};
use tokio_postgres::{Client, Statement};

use super::statements::{INSERT_MANY, columns, connect};
use super::{OPEN, RECORDS, TABLE, fingerprint};
use crate::job::Job;
use crate::subject::{Result, Role, Subject};
use crate::work::Work;

/// The most jobs in one statement.
const MOST: usize = 1_000;

#[derive(Clone)]
pub(crate) struct Coalesced(mpsc::Sender<Call>);

struct Call {
    id: u64,
    /// Whether the row on record holds the same input.
    same: oneshot::Sender<bool>,
}

struct Writer {
    client: Client,
    insert: Statement,
    find: Statement,
}

const FIND: &str = "SELECT key, fingerprint FROM jobs WHERE operation = 'job' AND key = ANY($1)";

impl Writer {
    async fn run(self, mut calls: mpsc::Receiver<Call>) {
        let mut taken = Vec::with_capacity(MOST);
        while calls.recv_many(&mut taken, MOST).await > 0 {
            let Ok(same) = self.write(&taken).await else { return };
            for (call, same) in taken.drain(..).zip(same) {
                let _ = call.same.send(same);
            }
        }
    }

    /// For each call whether its row is new or holds the same input.
    async fn write(&self, calls: &[Call]) -> Result<Vec<bool>> {
        let (keys, fingerprints, inputs) = columns(calls.iter().map(|call| call.id))?;
        let new = self.client.query(&self.insert, &[&keys, &fingerprints, &inputs]).await?;
        if new.len() == calls.len() {
            return Ok(vec![true; calls.len()]);
        }
        let mut same: HashSet<String> = new.iter().map(|row| row.get(0)).collect();
        let old: Vec<&String> = keys.iter().filter(|key| !same.contains(*key)).collect();
        for row in self.client.query(&self.find, &[&old]).await? {
            let key: String = row.get(0);
            let call = keys.iter().position(|other| *other == key).map(|position| &calls[position]);
            if call.is_some_and(|call| fingerprint(call.id) == row.get::<_, Vec<u8>>(1)) {
                same.insert(key);
            }
        }
        Ok(calls.iter().map(|call| same.contains(&Job::new(call.id).key())).collect())
    }
}

impl Subject for Coalesced {
    const NAME: &'static str = "bare SQL, coalesced";
    const PACKAGE: &'static str = "tokio-postgres";
    const ROLE: Role = Role::Limit;
    const OPEN: &'static str = OPEN;
    const RECORDS: &'static str = RECORDS;

    fn offers(work: Work) -> bool {
        matches!(work, Work::Enqueue | Work::Duplicate)
    }

    async fn open(url: &str) -> Result<Self> {
        let client = connect(url).await?;
        client.batch_execute(TABLE).await?;
        let insert = client.prepare(INSERT_MANY).await?;
        let find = client.prepare(FIND).await?;
        let (calls, received) = mpsc::channel(MOST);
        tokio::spawn(Writer { client, insert, find }.run(received));
        Ok(Self(calls))
    }

    async fn enqueue(&self, id: u64) -> Result<()> {
        let (same, answer) = oneshot::channel();
        self.0.send(Call { id, same }).await?;
        if answer.await? { Ok(()) } else { Err("another input".into()) }
    }
}
