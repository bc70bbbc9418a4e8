//! The gates of destinations.

use std::collections::{BTreeMap, BTreeSet};

use ratchet_core::admission::{Gate, GateAnswer, GateOrder, KnownGate, decide_all};
use ratchet_core::{DestinationName, Timestamp};
use sqlx::{Connection as _, PgConnection};

use crate::error::{Fault, While as _};
use crate::options::Sources;
use crate::row::{as_json, now};

const DOING: &str = "ask the gate of a destination";

/// Carries orders out under the locks of their gates, by the database's clock.
pub(crate) async fn admit(
    connection: &mut PgConnection,
    orders: &[&GateOrder],
    sources: &Sources,
) -> Result<Vec<GateAnswer>, Fault> {
    let names: BTreeSet<&str> = orders.iter().map(|order| order.destination.name().as_str()).collect();
    let names: Vec<&str> = names.into_iter().collect();
    let mut transaction = connection.begin().await.while_trying(DOING)?;
    let mut locked = lock(&mut transaction, &names, sources).await?;
    if locked.gates.len() < names.len() {
        make(&mut transaction, &names).await?;
        locked = lock(&mut transaction, &names, sources).await?;
    }
    let answers = decide_all(&mut locked.gates, orders.iter().copied(), locked.now);
    store(&mut transaction, &locked.gates).await?;
    transaction.commit().await.while_trying(DOING)?;
    Ok(answers)
}

/// Gates that nobody else changes, and the moment at which they are decided about.
struct Locked {
    gates: BTreeMap<DestinationName, Gate>,
    now: Timestamp,
}

async fn lock(connection: &mut PgConnection, names: &[&str], sources: &Sources) -> Result<Locked, Fault> {
    // The clock is read when all locks are held. Everybody takes them in the order of the names.
    const LOCK: &str = concat!(
        "WITH locked AS MATERIALIZED (SELECT destination, gate FROM ratchet.gates WHERE destination = ANY($2) \
             ORDER BY destination FOR UPDATE) \
         SELECT destination, gate, ",
        now!("$1"),
        " FROM locked ORDER BY destination"
    );
    let rows: Vec<(String, String, i64)> = sqlx::query_as(LOCK)
        .bind(sources.now())
        .bind(names)
        .fetch_all(connection)
        .await
        .while_trying(DOING)?;
    let now = rows.iter().map(|(_, _, now)| *now).max().unwrap_or_default();
    let known = rows.into_iter().filter_map(|(name, gate, _)| KnownGate::from_stored(name, &gate));
    let gates = known.map(|known| (known.destination, known.gate)).collect();
    Ok(Locked { gates, now: Timestamp::from_millis(now) })
}

/// Makes the gates of destinations that nobody has asked about so far.
async fn make(connection: &mut PgConnection, names: &[&str]) -> Result<(), Fault> {
    const MAKE: &str = "INSERT INTO ratchet.gates (destination, gate) \
        SELECT destination, $2 FROM unnest($1::text[]) AS destination ORDER BY destination \
        ON CONFLICT (destination) DO NOTHING";
    sqlx::query(MAKE)
        .bind(names)
        .bind(as_json(&Gate::default())?)
        .execute(connection)
        .await
        .while_trying(DOING)?;
    Ok(())
}

async fn store(connection: &mut PgConnection, gates: &BTreeMap<DestinationName, Gate>) -> Result<(), Fault> {
    const STORE: &str = "UPDATE ratchet.gates AS g SET gate = changed.gate \
        FROM unnest($1::text[], $2::text[]) AS changed (destination, gate) \
        WHERE g.destination = changed.destination";
    let names: Vec<&str> = gates.keys().map(DestinationName::as_str).collect();
    let states = gates.values().map(as_json).collect::<Result<Vec<String>, Fault>>()?;
    sqlx::query(STORE).bind(names).bind(states).execute(connection).await.while_trying(DOING)?;
    Ok(())
}

/// All gates, in the order of their names.
pub(crate) async fn all(connection: &mut PgConnection) -> Result<Vec<KnownGate>, Fault> {
    let rows: Vec<(String, String)> =
        sqlx::query_as("SELECT destination, gate FROM ratchet.gates ORDER BY destination")
            .fetch_all(connection)
            .await
            .while_trying("read the gates of destinations")?;
    Ok(rows
        .into_iter()
        .filter_map(|(destination, gate)| KnownGate::from_stored(destination, &gate))
        .collect())
}
