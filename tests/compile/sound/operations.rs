//! Operations of every form. Without the lines that name a macro of ratchet, this is a plain module.

use crate::types::{BANK, Channel, Client, KEPT, Order, Visit};
use ratchet::{Context, Failure, State};

/// One input, public.
///
/// # Errors
/// If it is refused.
#[ratchet::operation(name = "one", version = "1", key = "one:<owner.id>:<channel>:<id>")]
pub async fn one(ctx: Context, input: Order) -> Result<u64, Failure> {
    let attempt = ctx.attempt();
    Ok(input.id + u64::from(attempt))
}

/// Several parameters, every argument.
///
/// # Errors
/// If it is refused.
#[ratchet::operation(name = "several", version = "1.0", key = "several:<order>:<gen>", destination = BANK, on_unknown = may_lose, retry = relaxed, timeout = "30s", retention = KEPT, priority = -5, new_identity = "the order came in")]
pub async fn several(
    order: u64,
    r#gen: u32,
    _: Context,
    State(client): State<Client>,
    mut note: Option<String>,
) -> Result<Option<String>, Failure> {
    if order == u64::from(r#gen) {
        note = Some(client.name);
    }
    Ok(note)
}

/// A pattern, seen in the crate only.
#[ratchet::operation(name = "pattern", version = "1", key = "pattern:<channel>", allow(R006 = "there are few of them"))]
pub(crate) async fn pattern(Visit { id, .. }: Visit) -> Result<(), Failure> {
    if id == 0 {
        return Err(Failure::unknown("no id"));
    }
    Ok(())
}

/// Its parameters have names that generated code has too.
#[ratchet::operation(name = "names", version = "1", key = "names:<call>/<input>/<client>/<it>/<key>/<request>")]
async fn names(
    call: u64,
    input: u64,
    client: u64,
    it: u64,
    key: u64,
    request: u64,
) -> Result<u64, Failure> {
    Ok(call ^ input ^ client ^ it ^ key ^ request)
}

/// Its name is a keyword elsewhere, and its parameters are unused.
#[ratchet::operation(name = "raw", version = "1", key = "raw:<type>:<async>")]
async fn r#try(r#type: Channel, r#async: u8) -> Result<(), Failure> {
    if matches!(r#type, Channel::Mail) && r#async == 0 {
        return Err(Failure::unknown("no part"));
    }
    Ok(())
}

macro_rules! declare {
    ($(#[$attr:meta])* $vis:vis $name:ident, $text:literal, $key:literal, $ty:ty, $body:block) => {
        $(#[$attr])*
        #[ratchet::operation(name = $text, version = "1", key = $key)]
        $vis async fn $name(one: $ty, other: $ty) -> Result<$ty, Failure> {
            if one == other {
                return Err(Failure::unknown("they are the same"));
            }
            $body
        }
    };
}

declare!(
    /// Written by another macro.
    pub(crate) declared, "declared", "declared:<one>:<other>", u64, { Ok(0) }
);

/// In a body.
pub async fn nested() {
    /// An operation that nobody else sees.
    #[ratchet::operation(name = "inner", version = "1", key = "inner:<id>")]
    async fn inner(input: Order) -> Result<u64, Failure> {
        Ok(input.id)
    }

    drop(inner(Order::default()).await);
    drop(names(1, 2, 3, 4, 5, 6).await);
    drop(r#try(Channel::Mail, 1).await);
    drop(declared(1, 2).await);
    drop(pattern(crate::types::Visit::default()).await);
}
