//! Types of operations, and operations among them.

use core::time::Duration;
use ratchet::Failure;
use serde::{Deserialize, Serialize};

/// An order.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[derive(ratchet::Input)]
pub struct Order {
    /// Its id.
    #[key]
    pub id: u64,
    /// Its owner.
    pub owner: Owner,
    /// How it came in.
    pub channel: Channel,
}

/// A visit, with marks that only ratchet knows.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[derive(ratchet::Input)]
pub struct Visit {
    /// Its id.
    pub id: u64,
    /// How it came in.
    pub channel: Channel,
    /// Who came.
    #[pii]
    pub email: String,
    /// When it was asked for.
    #[volatile]
    pub asked_at: u64,
    /// What for.
    pub orders: Vec<Order>,
}

/// An owner.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Owner {
    /// The id.
    pub id: OwnerId,
}

/// An id.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[derive(ratchet::KeyPart)]
pub struct OwnerId(String);

/// How an order comes in.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
#[derive(ratchet::KeyPart)]
pub enum Channel {
    /// On paper.
    #[default]
    Mail,
    /// By line.
    PushMessage,
}

/// What a worker has.
#[derive(Debug, Clone, Default)]
pub struct Client {
    /// A name.
    pub name: String,
}

/// Where payments go.
pub const BANK: ratchet::Contract = ratchet::Contract::header("Idempotency-Key");

/// How long records are kept.
pub const KEPT: Duration = Duration::from_secs(90 * 24 * 60 * 60);

/// Out of use.
#[ratchet::operation(name = "old", version = "1", key = "old:<id>:<part>")]
#[deprecated = "use another"]
#[must_use = "as all of them"]
#[inline]
pub async fn old(id: u64, part: u64) -> Result<u64, Failure> {
    Ok(id ^ part)
}

/// In a body, with types of its own.
pub async fn nested() {
    /// A type that nobody else sees.
    #[derive(Serialize, Deserialize)]
    #[derive(ratchet::Input)]
    struct Inner {
        /// An id.
        id: u64,
    }

    /// An operation that nobody else sees.
    #[ratchet::operation(name = "inner", version = "1", key = "inner:<id>")]
    async fn inner(input: Inner) -> Result<u64, Failure> {
        Ok(input.id)
    }

    drop(inner(Inner { id: 1 }).await);
}
