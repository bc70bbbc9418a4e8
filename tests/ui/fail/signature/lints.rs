//! Lints see the user's code as before: a body with a mistake, an operation that nobody uses, a call of one that is out
//! of use.
#![deny(unused, deprecated)]

use ratchet::Failure;

#[ratchet::operation(name = "a", version = "1", key = "a:<id>")]
pub async fn unused_in_the_body(id: u64, line: u64) -> Result<(), Failure> {
    let also = 1;
    Ok(())
}

#[ratchet::operation(name = "b", version = "1", key = "b:<id>")]
async fn never_used(id: u64, line: u64) -> Result<u64, Failure> {
    Ok(id + line)
}

#[deprecated = "use another"]
#[ratchet::operation(name = "c", version = "1", key = "c:<id>")]
async fn old(id: u64, line: u64) -> Result<u64, Failure> {
    Ok(id + line)
}

fn main() {
    let _ = old::key(&1, &2);
    let _ = ratchet::registry![unused_in_the_body];
}
