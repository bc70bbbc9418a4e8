//! Operations of every kind of destination, as a user writes them.

use std::time::Duration;

use ratchet::{
    Closed, Context, Contract, Failure, Fingerprint, Found, Input, Inquiry, Outcome, Registry, RetryPolicy,
    State,
};
use ratchet_core::{Cause, CauseKind};
use serde::{Deserialize, Serialize};

use super::bank::{Bank, MEMORY, NoReply, Recognises, Reply};
use crate::planted::Mutation;

const BANK: Contract = Contract::header("Idempotency-Key").remembers_for(MEMORY);

const QUICK: RetryPolicy =
    RetryPolicy::doubling(5, Duration::from_secs(1), Duration::from_secs(20)).within(Duration::from_mins(20));

/// What every operation here is given.
#[derive(Debug, Clone, Serialize, Deserialize, Input)]
pub(crate) struct Bill {
    pub(crate) id: u64,
}

/// Its destination recognises a repetition.
#[ratchet::operation(name = "charge", version = "1", key = "charge:<id>", destination = BANK, retry = QUICK,
    timeout = "20s")]
pub(crate) async fn charge(ctx: Context, State(bank): State<Bank>, bill: Bill) -> Result<String, Failure> {
    send(&ctx, &bank, &bill, Recognises::Keys).await
}

/// Its destination recognises nothing, and can be asked.
#[ratchet::operation(name = "transfer", version = "1", key = "transfer:<id>", destination = none, reconcile = look_up,
    retry = QUICK, timeout = "20s")]
pub(crate) async fn transfer(ctx: Context, State(bank): State<Bank>, bill: Bill) -> Result<String, Failure> {
    send(&ctx, &bank, &bill, Recognises::Nothing).await
}

/// Nobody knows anything of its destination: what is unknown is left to people.
#[ratchet::operation(name = "fax", version = "1", key = "fax:<id>", retry = QUICK, timeout = "20s")]
pub(crate) async fn fax(ctx: Context, State(bank): State<Bank>, bill: Bill) -> Result<String, Failure> {
    send(&ctx, &bank, &bill, Recognises::Nothing).await
}

/// Rather never than twice.
#[ratchet::operation(name = "remind", version = "1", key = "remind:<id>", destination = none, on_unknown = may_lose,
    retry = QUICK, timeout = "20s")]
pub(crate) async fn remind(ctx: Context, State(bank): State<Bank>, bill: Bill) -> Result<String, Failure> {
    send(&ctx, &bank, &bill, Recognises::Nothing).await
}

/// Two effects, one after the other.
#[ratchet::operation(name = "order", version = "1", key = "order:<id>", destination = steps, retry = QUICK,
    timeout = "40s")]
pub(crate) async fn order(ctx: Context, State(bank): State<Bank>, bill: Bill) -> Result<String, Failure> {
    let pay = async |step: Context| send(&step, &bank, &bill, Recognises::Keys).await;
    let receipt = ctx.step("pay").to(BANK).run(pay).await?;
    let ship = ctx.step("ship").to(Contract::NONE).reconcile(async |about: Inquiry| ask(about).await);
    ship.run(async |step: Context| send(&step, &bank, &bill, Recognises::Nothing).await).await?;
    Ok(receipt)
}

pub(crate) fn registry() -> Registry {
    ratchet::registry![charge, transfer, fax, remind, order]
}

async fn look_up(about: Inquiry, _bill: Bill) -> Result<Found<String>, Failure> {
    ask(about).await
}

async fn ask(about: Inquiry) -> Result<Found<String>, Failure> {
    let bank: Bank = about.state()?;
    match bank.ask_and_close(about.key()).await {
        Ok(true) => Ok(Found::Applied(about.key().to_owned())),
        Ok(false) => Ok(Found::NotApplied(Closed::ByTheDestination)),
        Err(_) => Ok(Found::StillUnknown),
    }
}

/// Sends as a destination client does: written down first, and its answer read with care.
async fn send(ctx: &Context, bank: &Bank, bill: &Bill, recognises: Recognises) -> Result<String, Failure> {
    let pin = ctx.pin("bank", Fingerprint::of(&bill.id.to_be_bytes())).await?;
    let key = if bank.is_broken(Mutation::AttemptInKey) {
        format!("{}:{}", pin.wire_key, ctx.attempt())
    } else {
        pin.wire_key
    };
    let sending = ctx.begin_send();
    let failure = match bank.send(&key, recognises).await {
        Ok(Reply::Acted) => {
            sending.acted();
            return Ok(key);
        }
        Ok(Reply::Refused) => Failure::rejected("refused"),
        Ok(Reply::RefusedAfterLookup) => {
            let cause = Cause::new(CauseKind::Status(402), "declined");
            Failure::new(Outcome::Rejected { cause, after_lookup: true })
        }
        Ok(Reply::Busy) => Failure::unknown("busy").retry_after(Duration::from_secs(3)),
        Err(NoReply::NoConnection) => Failure::not_applied("no connection"),
        Ok(Reply::Failed) | Err(NoReply::Broken) if bank.is_broken(Mutation::UnknownIsFailure) => {
            Failure::rejected("taken for a refusal")
        }
        Ok(Reply::Failed) | Err(NoReply::Broken) => Failure::unknown("the connection broke"),
    };
    Err(sending.failed(failure))
}
