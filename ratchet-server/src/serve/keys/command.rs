//! `ratchet keys`: makes, lists and revokes keys.

use std::collections::BTreeSet;
use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use clap::{Args, Subcommand};
use ratchet::{OperationName, Ratchet, Timestamp};

use super::{KEPT_IN, Scope, Secret, StoredKey};
use crate::error::Error;
use crate::operate::store::StoreArguments;
use crate::operate::{output, table};
use crate::serve::shelf::Shelf;

#[derive(Subcommand)]
pub(crate) enum Task {
    /// Makes a key and prints it, alone, on standard output. It is shown only now.
    Create(CreateArguments),
    /// Lists the keys of all namespaces.
    List(ListArguments),
    /// Has a key open nothing any more, within two seconds.
    Revoke(RevokeArguments),
}

#[derive(Args)]
pub(crate) struct CreateArguments {
    #[command(flatten)]
    store: StoreArguments,
    /// What the key is for; several if it is given several times.
    #[arg(long, required = true)]
    scope: Vec<Scope>,
    /// Only for this operation; several if it is given several times.
    #[arg(long)]
    operation: Vec<String>,
    /// Who uses it, for audit trails. Keys of one name see each other's runs, so a successor takes the name over. The id of
    /// the key unless said otherwise.
    #[arg(long, value_parser = label)]
    name: Option<String>,
    /// For how long it is good: a number with `m`, `h` or `d` behind it. For ever unless said otherwise.
    #[arg(long, value_parser = span)]
    expires: Option<Duration>,
}

#[derive(Args)]
pub(crate) struct ListArguments {
    #[command(flatten)]
    store: StoreArguments,
}

#[derive(Args)]
pub(crate) struct RevokeArguments {
    #[command(flatten)]
    store: StoreArguments,
    /// The id of the key, which stands between `ratchet_` and the next `_`.
    id: String,
}

pub(crate) fn run(task: &Task) -> Result<ExitCode, Error> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    runtime.block_on(async {
        match task {
            Task::Create(arguments) => create(arguments).await,
            Task::List(arguments) => list(&arguments.store.open().await?).await,
            Task::Revoke(arguments) => revoke(&arguments.store.open().await?, &arguments.id).await,
        }
    })?;
    Ok(ExitCode::SUCCESS)
}

async fn create(arguments: &CreateArguments) -> Result<(), Error> {
    let operations: Result<BTreeSet<_>, _> =
        arguments.operation.iter().cloned().map(OperationName::new).collect();
    // A key is often the first thing that a store is made for.
    let ratchet = arguments.store.create().await?;
    let secret = Secret::new()?;
    let key = StoredKey {
        name: arguments.name.clone().unwrap_or_else(|| secret.id.clone()),
        scopes: arguments.scope.iter().copied().collect(),
        namespace: ratchet.namespace().clone(),
        operations: operations?,
        hash: secret.hash(),
        created_at: now(),
        expires_at: arguments.expires.map(|span| now().after(span)),
        revoked_at: None,
    };
    shelf(&ratchet).create(&KEPT_IN, &secret.id, &key).await?;
    output::write(|out| writeln!(out, "{}", secret.shown()))
}

async fn list(ratchet: &Ratchet) -> Result<(), Error> {
    let keys = shelf(ratchet).all::<StoredKey>(&KEPT_IN).await?;
    let rows: Vec<Vec<String>> = keys.iter().map(|(id, key)| row(id, key)).collect();
    let head = ["ID", "NAME", "SCOPES", "NAMESPACE", "OPERATIONS", "CREATED", "STATE"];
    output::write(|out| table::write(out, &head, &rows))
}

fn row(id: &str, key: &StoredKey) -> Vec<String> {
    let listed = |words: Vec<String>| words.join(",");
    let operations = match key.operations.len() {
        0 => "all".to_owned(),
        _ => listed(key.operations.iter().map(ToString::to_string).collect()),
    };
    let state = match (key.revoked_at, key.expires_at) {
        (Some(at), _) => format!("revoked at {at}"),
        (None, Some(end)) if end <= now() => format!("expired at {end}"),
        (None, Some(end)) => format!("good until {end}"),
        (None, None) => "good".to_owned(),
    };
    vec![
        id.to_owned(),
        key.name.clone(),
        listed(key.scopes.iter().map(ToString::to_string).collect()),
        key.namespace.to_string(),
        operations,
        key.created_at.to_string(),
        state,
    ]
}

async fn revoke(ratchet: &Ratchet, id: &str) -> Result<(), Error> {
    let revoked = |key: Option<StoredKey>| {
        let key = key?;
        Some(StoredKey { revoked_at: key.revoked_at.or(Some(now())), ..key })
    };
    match shelf(ratchet).change(&KEPT_IN, id, revoked).await? {
        Some(_) => output::write(|out| writeln!(out, "revoked {id}")),
        None => Err(Error::NoKey { id: id.to_owned() }),
    }
}

fn shelf(ratchet: &Ratchet) -> Shelf {
    Shelf::new(ratchet.ledger().clone())
}

fn now() -> Timestamp {
    SystemTime::now().into()
}

fn label(text: &str) -> Result<String, String> {
    let sound = (1..=64).contains(&text.chars().count()) && !text.contains(char::is_control);
    if sound { Ok(text.to_owned()) } else { Err("1 to 64 characters on one line".to_owned()) }
}

fn span(text: &str) -> Result<Duration, String> {
    const EXPECTED: &str = "a number from 1 on and a unit behind it: 30m, 12h or 90d";
    let unit = match text.chars().last() {
        Some('m') => 60,
        Some('h') => 60 * 60,
        Some('d') => 24 * 60 * 60,
        _ => return Err(EXPECTED.to_owned()),
    };
    match text[..text.len() - 1].parse::<u32>() {
        Ok(number @ 1..) => Ok(Duration::from_secs(u64::from(number) * unit)),
        _ => Err(EXPECTED.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_has_a_unit() {
        assert_eq!(span("90d"), Ok(Duration::from_hours(2160)));
        assert_eq!(span("30m"), Ok(Duration::from_mins(30)));
        for wrong in ["", "d", "0d", "-1h", "12", "1.5h", "9999999999d", "1ä"] {
            assert!(span(wrong).is_err(), "{wrong}");
        }
    }
}
