//! Operations that other macros write, inside function bodies, with conditions.
#![deny(warnings)]

use ratchet::{Failure, Input};

macro_rules! declare {
    ($(#[$attr:meta])* $vis:vis $name:ident, $text:literal, $key:literal, $input:ty, $body:block) => {
        $(#[$attr])*
        #[ratchet::operation(name = $text, version = "1", key = $key, timeout = "5s", priority = 1 + 1)]
        $vis async fn $name(_input: $input) -> Result<u64, Failure> $body
    };
    (two $name:ident, $ty:ty, $key:expr) => {
        #[ratchet::operation(name = "two", version = "1", key = $key)]
        async fn $name(a: $ty, b: $ty) -> Result<$ty, Failure> {
            Ok(a + b)
        }
    };
}

#[derive(serde::Serialize, serde::Deserialize, Input)]
struct Order {
    id: u64,
    owner: Owner,
}

#[derive(serde::Serialize, serde::Deserialize)]
struct Owner {
    id: u64,
}

declare!(#[cfg(all())] pub(crate) first, "first", "first:<owner.id>:<id>", Order, { Ok(1) });
declare!(
    #[cfg(any())]
    first,
    "first",
    "first:<id>",
    Order,
    { Ok(1) }
);
declare!(two second, u64, ("second:<a>:<b>"));

#[cfg_attr(all(), ratchet::operation(name = "third", version = "1", key = "third:<id>"))]
#[cfg_attr(any(), deprecated)]
/// Documented.
#[inline]
#[must_use]
async fn third(input: Order) -> Result<u64, Failure> {
    Ok(input.id)
}

#[deprecated = "use another"]
#[ratchet::operation(name = "old", version = "1", key = "old:<id>")]
async fn old(input: Order) -> Result<u64, Failure> {
    Ok(input.id)
}

#[allow(deprecated)]
fn main() {
    #[derive(serde::Serialize, serde::Deserialize, Input)]
    struct Inner {
        id: u64,
    }

    #[ratchet::operation(name = "inner", version = "1", key = "inner:<id>")]
    async fn inner(input: Inner) -> Result<u64, Failure> {
        Ok(input.id)
    }

    #[ratchet::operation(name = "inner_two", version = "1", key = "inner_two:<a>")]
    async fn inner_two(a: u64, _b: u64) -> Result<u64, Failure> {
        Ok(a)
    }

    let order = || Order { id: 1, owner: Owner { id: 2 } };
    assert_eq!(first::key(&order()).unwrap().as_str(), "first:2:1");
    assert_eq!(second::key(&1, &2).unwrap().as_str(), "second:1:2");
    assert_eq!(third::key(&order()).unwrap().as_str(), "third:1");
    assert_eq!(inner::key(&Inner { id: 4 }).unwrap().as_str(), "inner:4");
    assert_eq!(ratchet::registry![first, second, third, old, inner, inner_two].served().count(), 6);
}
