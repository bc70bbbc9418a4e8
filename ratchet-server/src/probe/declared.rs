//! What the sandbox's documentation says: a contract of the catalogue, or flags, or both.

use std::time::Duration;

use clap::Args;
use ratchet::contract::{Contract, Marker, Meaning, Mechanism, Repeats, Signal};
use ratchet::contracts;
use ratchet::http::reqwest::header::HeaderName;

use super::span::{self, spelled};
use crate::error::Error;

/// What is said by a flag counts in the place of what the contract says.
#[derive(Args, Default)]
pub(crate) struct DeclaredArguments {
    /// A contract of the catalogue, such as `stripe::V1`.
    #[arg(value_name = "CONTRACT")]
    contract: Option<String>,
    /// The header that carries the key; `Idempotency-Key` without a contract.
    #[arg(long)]
    header: Option<HeaderName>,
    /// The header that marks a repeated answer, such as `Idempotent-Replayed`.
    #[arg(long, value_name = "HEADER")]
    replay_marker: Option<HeaderName>,
    /// The status for a request whose key is being executed, such as 409.
    #[arg(long, value_name = "STATUS")]
    in_flight: Option<u16>,
    /// The status for another input under a key that was used, such as 422.
    #[arg(long, value_name = "STATUS")]
    mismatch: Option<u16>,
    /// For how long a key is remembered, such as `90s`, `15m`, `24h` or `30d`.
    #[arg(long, value_name = "SPAN", value_parser = span::parse)]
    remembers_for: Option<Duration>,
}

/// What observations are compared with.
#[derive(Debug)]
pub(super) struct Declared {
    pub(super) contract: Contract,
    /// Where a request has its key.
    pub(super) place: Mechanism,
}

impl DeclaredArguments {
    pub(super) fn read(&self) -> Result<Declared, Error> {
        let mut contract = match &self.contract {
            Some(name) => named(name)?,
            None => Contract::header("Idempotency-Key")
                .remembers_for_unstated_time()
                .repeats(Repeats::FirstAnswer),
        };
        let place = match &self.header {
            Some(name) => Mechanism::Header(for_good(name)),
            None => *contract.mechanism(),
        };
        if !place.carries_key() {
            let why = "the contract says that the destination recognises no request, so there is nothing to compare";
            return Err(Error::BadProbe(why.to_owned()));
        }
        if let Some(span) = self.remembers_for {
            contract = contract.remembers_for(span);
        }
        if let Some(name) = &self.replay_marker {
            // Whatever its value is.
            contract = contract.marks_replays(for_good(name), "");
        }
        contract = contract.signals(Vec::leak(self.signals(&contract)));
        Ok(Declared { contract, place })
    }

    /// Those of the contract that no flag replaces. What looks at more than the status comes first.
    fn signals(&self, contract: &Contract) -> Vec<Signal> {
        let is_replaced = |signal: &Signal| match signal.meaning() {
            Meaning::InFlight => self.in_flight.is_some(),
            Meaning::Mismatch => self.mismatch.is_some(),
            _ => false,
        };
        let kept = contract.all_signals().iter().filter(|signal| !is_replaced(signal));
        let (plain, marked): (Vec<Signal>, Vec<Signal>) =
            kept.partition(|signal| signal.marker() == Marker::None);
        let flags = [self.in_flight.map(Signal::in_flight), self.mismatch.map(Signal::mismatch)];
        marked.into_iter().chain(flags.into_iter().flatten()).chain(plain).collect()
    }
}

/// Contracts are constants, and this one lives as long as the program too.
fn for_good(name: &HeaderName) -> &'static str {
    String::leak(name.to_string())
}

fn named(name: &str) -> Result<Contract, Error> {
    let all = contracts::ALL;
    all.iter().find(|contract| contract.name().eq_ignore_ascii_case(name)).copied().ok_or_else(|| {
        let module = name.split("::").next().unwrap_or_default().to_ascii_lowercase();
        let alike: Vec<&str> =
            all.iter().map(Contract::name).filter(|known| known.starts_with(&module)).collect();
        let known = if alike.is_empty() { all.iter().map(Contract::name).collect() } else { alike };
        Error::UnknownContract { name: name.to_owned(), known: known.join(", ") }
    })
}

impl Declared {
    /// The statuses that a meaning is known by, such as `409, 400 to 499`; nothing if there are none.
    pub(super) fn statuses(&self, meaning: Meaning) -> Option<String> {
        let told = |signal: &&Signal| signal.meaning() == meaning;
        let written = |signal: &Signal| match signal.statuses() {
            (first, last) if first == last => first.to_string(),
            (first, last) => format!("{first} to {last}"),
        };
        let mut statuses: Vec<String> =
            self.contract.all_signals().iter().filter(told).map(written).collect();
        statuses.dedup();
        (!statuses.is_empty()).then(|| statuses.join(", "))
    }

    /// For how long a repetition is safe, as the contract is read.
    pub(super) fn window(&self) -> Option<Duration> {
        let end = self.contract.terms().window_end(ratchet::Timestamp::EPOCH)?;
        u64::try_from(end.as_millis()).ok().map(Duration::from_millis)
    }

    pub(super) fn recognised_until(&self) -> Option<String> {
        Some(format!("recognised for {}", spelled(self.window()?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named_and(name: &str, change: impl FnOnce(&mut DeclaredArguments)) -> Result<Declared, Error> {
        let mut arguments = DeclaredArguments { contract: Some(name.to_owned()), ..Default::default() };
        change(&mut arguments);
        arguments.read()
    }

    #[test]
    fn a_contract_is_found_by_its_name_and_an_unknown_one_names_those_of_its_provider() {
        let declared = named_and("stripe::v1", |_| {}).unwrap();
        assert_eq!(
            (declared.contract.name(), declared.place),
            ("stripe::V1", Mechanism::Header("Idempotency-Key"))
        );
        let message = |name| named_and(name, |_| {}).unwrap_err().to_string();
        assert!(
            message("stripe::V3").ends_with("the catalogue has: stripe::V1, stripe::V2"),
            "{}",
            message("stripe::V3")
        );
        assert!(message("nobody").contains("adyen::PAYMENTS, aws::EC2_RUN_INSTANCES"));
        assert!(message("postmark::EMAIL").contains("recognises no request"));
    }

    #[test]
    fn a_flag_counts_in_the_place_of_what_the_contract_says_and_the_rest_stays() {
        let declared = named_and("resend::EMAILS", |arguments| {
            arguments.header = Some(HeaderName::from_static("x-key"));
            arguments.in_flight = Some(425);
            arguments.remembers_for = Some(Duration::from_secs(10));
        });
        let declared = declared.unwrap();
        assert_eq!(declared.place, Mechanism::Header("x-key"));
        assert_eq!(declared.statuses(Meaning::InFlight).as_deref(), Some("425"));
        assert_eq!(declared.statuses(Meaning::Mismatch).as_deref(), Some("409"));
        assert_eq!(declared.window(), Some(Duration::from_secs(9)));
    }
}
