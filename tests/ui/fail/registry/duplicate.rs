//! Two operations of one name and version in one crate: no registry is needed to see it.

mod first {
    // Not at the margin, where the compiler would warn of what is declared inside functions.
    #[ratchet::operation(name = "send_mail", version = "1", key = "mail:<order_id>:v1")]
    async fn send(order_id: u64, total: u64) -> Result<(), ratchet::Failure> {
        let _ = (order_id, total);
        Ok(())
    }
}

#[ratchet::operation(name = "send_mail", version = "1", key = "mail:<order_id>:v1")]
async fn send(order_id: u64, total: u64) -> Result<(), ratchet::Failure> {
    let _ = (order_id, total);
    Ok(())
}

#[ratchet::operation(name = "send_mail", version = "1", key = "mail:<order_id>:v1")]
async fn send_again(order_id: u64, total: u64) -> Result<(), ratchet::Failure> {
    let _ = (order_id, total);
    Ok(())
}

#[ratchet::operation(name = "send_mail", version = "2", key = "mail:<order_id>:v1")]
async fn send_newer(order_id: u64, total: u64) -> Result<(), ratchet::Failure> {
    let _ = (order_id, total);
    Ok(())
}

fn main() {}
