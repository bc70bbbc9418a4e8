//! What stands beside the attribute stays on the function, in its order and once.
#![deny(warnings)]

use ratchet::{Failure, Input};

#[derive(serde::Serialize, serde::Deserialize, Input)]
struct Order {
    id: u64,
}

#[doc = concat!("A ", "text")]
#[inline]
#[ratchet::operation(name = "above_and_below", version = "1", key = "a:<id>")]
#[must_use]
#[cold]
#[doc(alias = "other")]
async fn above_and_below(input: Order) -> Result<u64, Failure> {
    Ok(input.id)
}

// It is met once, so an attribute that were copied would be unfulfilled.
#[ratchet::operation(name = "expecting", version = "1", key = "b:<id>")]
#[expect(unused_variables, reason = "it is the key only")]
async fn expecting(input: Order) -> Result<(), Failure> {
    Ok(())
}

#[allow(unused_variables)]
#[ratchet::operation(name = "allowing", version = "1", key = "c:<a>:<b>")]
async fn allowing(#[allow(unused_mut)] mut a: u64, b: u64) -> Result<(), Failure> {
    Ok(())
}

#[allow(non_snake_case)]
#[ratchet::operation(name = "cased", version = "1", key = "d:<a>:<b>")]
async fn CollectInvoice(a: u64, b: u64) -> Result<u64, Failure> {
    Ok(a + b)
}

#[ratchet::operation(name = "gone", version = "1", key = "e:<id>")]
#[cfg(any())]
async fn gone(input: Absent) -> Result<u64, Failure> {
    Ok(input.id)
}

mod inner {
    #[ratchet::operation(name = "restricted", version = "1", key = "f:<a>:<b>")]
    pub(in super::inner) async fn restricted(a: u64, b: u64) -> Result<u64, ratchet::Failure> {
        Ok(a + b)
    }

    pub(super) fn registry() -> ratchet::Registry {
        ratchet::registry![restricted]
    }
}

type Answer = Result<u64, Failure>;

#[ratchet::operation(name = "aliased", version = "1", key = "g:<id>")]
async fn aliased(#[expect(unused_variables)] input: Order) -> Answer {
    // What this crate's own parser does not know is no business of it.
    let closure = async |id: u64| {
        if let 1 = id
            && id == 1
        {
            id
        } else {
            0
        }
    };
    Ok(closure(1).await)
}

fn main() {
    let all = ratchet::registry![above_and_below, expecting, allowing, CollectInvoice, aliased];
    assert_eq!(all.served().count() + inner::registry().served().count(), 6);
}
