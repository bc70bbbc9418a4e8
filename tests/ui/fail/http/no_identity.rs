//! A request that nobody can tell from its repetition.

use ratchet::Failure;

async fn charge(http: ratchet::http::Client) -> Result<(), Failure> {
    http.post("http://127.0.0.1/charges").json(&1200).deliver().await?;
    Ok(())
}

fn main() {}
