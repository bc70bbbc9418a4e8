//! What one caller may take of the server.

use std::time::Duration;

use clap::Args;

#[derive(Debug, Clone, Args)]
pub(crate) struct Limits {
    /// How many connections may be open at once; more wait to be accepted.
    #[arg(long, default_value_t = 4096)]
    pub(crate) connections: usize,
    /// How many of them one address may have, such as that of a proxy; more are closed at once.
    #[arg(long, default_value_t = 2048)]
    pub(crate) connections_of_peer: usize,
    /// How many requests may be under way at once; more are answered with 503.
    #[arg(long, default_value_t = 1024)]
    pub(crate) requests: usize,
    /// How many requests a key may make in a second; more are answered with 429.
    #[arg(long, default_value_t = 500)]
    pub(crate) rate: u32,
    /// How many seconds a claim waits for a job when nothing is due, up to 10, since clients wait for 15 seconds for an answer;
    /// 0 answers at once.
    #[arg(long, default_value = "2", value_parser = short_wait)]
    pub(crate) claim_wait: Duration,
    /// The most bytes that the body of a request may have.
    #[arg(long, default_value_t = 512 * 1024)]
    pub(crate) body: usize,
    /// How many seconds a client may take to send the head of a request, again its body, and to read something of the answer.
    #[arg(long, default_value = "10", value_parser = seconds)]
    pub(crate) patience: Duration,
    /// How many seconds workers may take to report on their jobs after the server was asked to stop.
    #[arg(long, default_value = "20", value_parser = seconds)]
    pub(crate) grace: Duration,
}

fn short_wait(text: &str) -> Result<Duration, String> {
    match text.parse() {
        Ok(seconds @ 0..=10) => Ok(Duration::from_secs(seconds)),
        _ => Err("a number of seconds from 0 to 10".to_owned()),
    }
}

fn seconds(text: &str) -> Result<Duration, String> {
    match text.parse() {
        Ok(seconds @ 1..=3600) => Ok(Duration::from_secs(seconds)),
        _ => Err("a number of seconds from 1 to 3600".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A job that is handed out to a client which has given its claim up is lost until its lease ends.
    #[test]
    fn no_claim_waits_for_longer_than_clients_do() {
        assert_eq!(short_wait("0"), Ok(Duration::ZERO));
        assert_eq!(short_wait("10"), Ok(Duration::from_secs(10)));
        for wrong in ["11", "60", "-1", "1.5", ""] {
            assert!(short_wait(wrong).is_err(), "{wrong}");
        }
    }
}
