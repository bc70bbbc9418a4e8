//! Claims and completes in large batches, with a fence.

use tokio_postgres::{Client, Statement};

use super::{spawn, statements::connect};
use crate::board;
use crate::job::Job;
use crate::subject::Result;

const BATCH: i64 = 1_000;

/// Probes the primary key, whatever the statistics say.
pub(super) const CLAIM: &str = "
    UPDATE jobs SET state = 1, token = token + 1, lease_until = now() + interval '30 seconds'
    WHERE id = ANY(ARRAY(
        SELECT id FROM jobs WHERE state = 0 AND operation = 'job' AND version = '1' AND ready_at <= now()
        ORDER BY ready_at, id LIMIT $1 FOR UPDATE SKIP LOCKED
    )) RETURNING id, token, input";

pub(super) const COMPLETE: &str = "
    UPDATE jobs SET state = 2, lease_until = NULL, result = done.result
    FROM unnest($1::bigint[], $2::bigint[], $3::text[]) AS done(id, token, result)
    WHERE jobs.id = done.id AND jobs.token = done.token AND jobs.state = 1";

/// The two statements, planned once and for probing.
pub(super) struct Cycle {
    client: Client,
    claim: Statement,
    complete: Statement,
}

impl Cycle {
    pub(super) async fn open(url: &str) -> Result<Self> {
        let client = connect(url).await?;
        client
            .batch_execute(
                "SET plan_cache_mode = force_generic_plan; SET enable_hashjoin = off; SET enable_mergejoin = off;
                 SET enable_seqscan = off",
            )
            .await?;
        let claim = client.prepare(CLAIM).await?;
        let complete = client.prepare(COMPLETE).await?;
        Ok(Self { client, claim, complete })
    }

    /// Claims, runs and completes what is there. Answers how many that were.
    pub(super) async fn turn(&self, most: i64) -> Result<usize> {
        let claimed = self.client.query(&self.claim, &[&most]).await?;
        let (mut ids, mut tokens, mut results) = (Vec::new(), Vec::new(), Vec::new());
        for row in &claimed {
            let job: Job = serde_json::from_str(row.get(2))?;
            board::started(job.id);
            ids.push(row.get::<_, i64>(0));
            tokens.push(row.get::<_, i64>(1));
            results.push(serde_json::to_string(&job.amount_cents)?);
        }
        if ids.is_empty() {
            return Ok(0);
        }
        let completed = self.client.execute(&self.complete, &[&ids, &tokens, &results]).await?;
        if usize::try_from(completed)? == ids.len() { Ok(ids.len()) } else { Err("a lease was lost".into()) }
    }
}

pub(super) async fn start(url: &str) -> Result<()> {
    let cycle = Cycle::open(url).await?;
    spawn(async move {
        while cycle.turn(BATCH).await? > 0 {}
        Ok(())
    });
    Ok(())
}
