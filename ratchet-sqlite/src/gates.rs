//! The gates of destinations.

use std::collections::BTreeMap;

use ratchet_core::admission::{Gate, GateAnswer, GateOrder, KnownGate, decide_all};
use ratchet_core::{DestinationName, Timestamp, serde_json};
use sqlx::{SqliteConnection, SqlitePool};

use crate::error::{Fault, While as _};

/// Carries orders out, under the write lock.
pub(crate) async fn admit(
    connection: &mut SqliteConnection,
    orders: &[&GateOrder],
    now: Timestamp,
) -> Result<Vec<GateAnswer>, Fault> {
    let mut gates = BTreeMap::new();
    for order in orders {
        let name = order.destination.name();
        if !gates.contains_key(name) {
            gates.insert(name.clone(), load(connection, name).await?);
        }
    }
    let answers = decide_all(&mut gates, orders.iter().copied(), now);
    for (name, gate) in &gates {
        store(connection, name, gate).await?;
    }
    Ok(answers)
}

async fn load(connection: &mut SqliteConnection, name: &DestinationName) -> Result<Gate, Fault> {
    let gate: Option<String> = sqlx::query_scalar("SELECT gate FROM ratchet_gates WHERE destination = ?1")
        .bind(name.as_str())
        .fetch_optional(connection)
        .await
        .while_trying("read the gate of a destination")?;
    Ok(gate.map(|gate| Gate::from_stored(name, &gate)).unwrap_or_default())
}

async fn store(connection: &mut SqliteConnection, name: &DestinationName, gate: &Gate) -> Result<(), Fault> {
    const WRITE: &str = "INSERT INTO ratchet_gates (destination, gate) VALUES (?1, ?2) \
        ON CONFLICT (destination) DO UPDATE SET gate = excluded.gate";
    let gate = serde_json::to_string(gate).map_err(|_| Fault::Damaged("a gate cannot be written as JSON"))?;
    sqlx::query(WRITE)
        .bind(name.as_str())
        .bind(gate)
        .execute(connection)
        .await
        .while_trying("write the gate of a destination")?;
    Ok(())
}

/// All gates, in the order of their names.
pub(crate) async fn all(readers: &SqlitePool) -> Result<Vec<KnownGate>, Fault> {
    let rows: Vec<(String, String)> =
        sqlx::query_as("SELECT destination, gate FROM ratchet_gates ORDER BY destination")
            .fetch_all(readers)
            .await
            .while_trying("read the gates of destinations")?;
    Ok(rows
        .into_iter()
        .filter_map(|(destination, gate)| KnownGate::from_stored(destination, &gate))
        .collect())
}
