//! What the processes of this suite execute.

use std::time::Duration;

use ratchet::{
    Closed, Context, Contract, Failure, Fingerprint, Found, Input, Inquiry, Outcome, Registry, RetryPolicy,
    State,
};
use ratchet_core::{Cause, CauseKind};
use serde::{Deserialize, Serialize};

use super::till::{Receipt, Till};
use crate::planted::Mutation;

const BANK: Contract = Contract::header("Idempotency-Key").remembers_forever();

const QUICK: RetryPolicy = RetryPolicy::doubling(20, Duration::from_millis(20), Duration::from_millis(100));

/// So short that its records are purged while others are made.
const FLEETING: RetryPolicy = QUICK.within(Duration::from_millis(200));

#[derive(Debug, Clone, Serialize, Deserialize, Input)]
pub(super) struct Bill {
    pub(super) id: u64,
}

#[ratchet::operation(name = "pay", version = "1", key = "pay:<id>", destination = BANK, retry = QUICK)]
pub(super) async fn pay(ctx: Context, State(till): State<Till>, bill: Bill) -> Result<String, Failure> {
    send(&ctx, &till, &bill, true).await
}

#[ratchet::operation(name = "print", version = "1", key = "print:<id>", retry = QUICK)]
pub(super) async fn print(ctx: Context, State(till): State<Till>, bill: Bill) -> Result<String, Failure> {
    send(&ctx, &till, &bill, false).await
}

#[ratchet::operation(name = "book", version = "1", key = "book:<id>", destination = none, reconcile = look_up,
    retry = QUICK)]
pub(super) async fn book(ctx: Context, State(till): State<Till>, bill: Bill) -> Result<String, Failure> {
    send(&ctx, &till, &bill, false).await
}

#[ratchet::operation(name = "flash", version = "1", key = "flash:<id>", destination = BANK, retry = FLEETING,
    timeout = "100ms", retention = "1s")]
pub(super) async fn flash(ctx: Context, State(till): State<Till>, bill: Bill) -> Result<String, Failure> {
    send(&ctx, &till, &bill, true).await
}

#[ratchet::operation(name = "deliver", version = "1", key = "deliver:<id>", destination = steps, retry = QUICK)]
pub(super) async fn deliver(ctx: Context, State(till): State<Till>, bill: Bill) -> Result<String, Failure> {
    let pay = async |step: Context| send(&step, &till, &bill, true).await;
    let receipt = ctx.step("pay").to(BANK).run(pay).await?;
    ctx.step("ship").to(BANK).run(async |step: Context| send(&step, &till, &bill, true).await).await?;
    Ok(receipt)
}

/// The operation whose unknown effects are found out about.
pub(super) const IS_ASKED_ABOUT: &str = "book";

pub(super) fn registry() -> Registry {
    ratchet::registry![pay, print, book, flash, deliver]
}

async fn look_up(about: Inquiry, _bill: Bill) -> Result<Found<String>, Failure> {
    let till: Till = about.state()?;
    Ok(if till.ask_and_close(about.key())? {
        Found::Applied(about.key().to_owned())
    } else {
        Found::NotApplied(Closed::ByTheDestination)
    })
}

async fn send(ctx: &Context, till: &Till, bill: &Bill, recognises_keys: bool) -> Result<String, Failure> {
    let pin = ctx.pin("till", Fingerprint::of(&bill.id.to_be_bytes())).await?;
    let key = if till.broken == Some(Mutation::AttemptInKey) {
        format!("{}:{}", pin.wire_key, ctx.attempt())
    } else {
        pin.wire_key
    };
    let sending = ctx.begin_send();
    match till.act(&key, recognises_keys)? {
        Receipt::Acted => {
            sending.acted();
            Ok(key)
        }
        Receipt::Refused => {
            let cause = Cause::new(CauseKind::Status(409), "closed");
            Err(sending.failed(Failure::new(Outcome::Rejected { cause, after_lookup: true })))
        }
    }
}
