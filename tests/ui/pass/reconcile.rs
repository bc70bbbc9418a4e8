//! Functions that ask, for each form of an operation, and closures that ask for a step.
#![deny(warnings)]

use ratchet::{Closed, Context, Failure, Found, Input, Inquiry, State};

#[derive(serde::Serialize, serde::Deserialize, Input)]
struct Order {
    id: u64,
}

mod bank {
    use super::{Closed, Failure, Found, Inquiry, Order};

    pub async fn look_up(about: Inquiry, input: Order) -> Result<Found<String>, Failure> {
        Ok(if input.id == 0 { Found::StillUnknown } else { Found::Applied(about.key().to_owned()) })
    }

    pub async fn by_tuple(_about: Inquiry, (from, to): (u64, u64)) -> Result<Found<u64>, Failure> {
        Ok(if from == to { Found::NotApplied(Closed::ByTheDestination) } else { Found::InFlight })
    }
}

#[ratchet::operation(name = "one", version = "1", key = "one:<id>", destination = none, reconcile = bank::look_up)]
async fn one(_ctx: Context, input: Order) -> Result<String, Failure> {
    Ok(input.id.to_string())
}

#[ratchet::operation(name = "several", version = "1", key = "several:<from>:<to>", destination = none,
    reconcile = bank::by_tuple, reconcile_after = "2m")]
async fn several(State(fee): State<u64>, from: u64, to: u64) -> Result<u64, Failure> {
    Ok(from + to + fee)
}

#[ratchet::operation(name = "in_steps", version = "1", key = "steps:<id>", destination = steps)]
async fn in_steps(ctx: Context, input: Order) -> Result<String, Failure> {
    let charge = ctx.step("charge").reconcile(async |about: Inquiry| Ok(Found::Applied(about.attempts())));
    let charged = charge.run(async |step: Context| Ok(step.attempt())).await?;
    let ask = async |_: Inquiry| Ok(Found::StillUnknown);
    ctx.step("notify").reconcile(ask).run(async |_: Context| Ok(format!("{}: {charged}", input.id))).await
}

fn main() {
    let _ = ratchet::registry![one, several, in_steps];
}
