//! R014: operations that cannot live in one registry.
#![allow(unused)]

use ratchet::Failure;

mod first {
    use super::Failure;

    #[ratchet::operation(name = "send_mail", version = "1", key = "mail:<order>/<line>")]
    pub async fn send(order: u64, line: u64) -> Result<(), Failure> {
        Ok(())
    }
}

#[ratchet::operation(name = "send_mail", version = "1", key = "mail:<order>/<line>")]
async fn again(order: u64, line: u64) -> Result<(), Failure> {
    Ok(())
}

#[ratchet::operation(name = "send_letter", version = "1", key = "mail:<a>/<b>")]
async fn letter(a: u64, b: u64) -> Result<(), Failure> {
    Ok(())
}

#[ratchet::operation(name = "send_mail", version = "2", key = "mail/<order>/<line>")]
async fn second(order: u64, line: u64) -> Result<(), Failure> {
    Ok(())
}

#[ratchet::operation(name = "file_mail", version = "1", key = "mail:<folder>/all")]
async fn file(folder: u64, line: u64) -> Result<(), Failure> {
    Ok(())
}

#[ratchet::operation(name = "send_mail", version = "3", key = "mail:<mail>/<line>")]
async fn renamed(mail: u64, line: u64) -> Result<(), Failure> {
    Ok(())
}

async fn plain() {}

fn main() {
    let _ = ratchet::registry![first::send, again];
    let _ = ratchet::registry![first::send, letter];
    let _ = ratchet::registry![first::send, second];
    let _ = ratchet::registry![first::send, file];
    let _ = ratchet::registry![first::send, renamed];
    let _ = ratchet::registry![first::send, second, first::send];
    let _ = ratchet::registry![first::send, plain, absent];
    let _ = ratchet::registry![first::send; letter];
    let _ = ratchet::registry!["a"];
    let _ = ratchet::registry![letter()];
}
