//! Functions that cannot reconcile the operation that names them, and closures that cannot reconcile their step.
#![allow(unused)]

use ratchet::{Context, Failure, Found, Input, Inquiry};

#[derive(serde::Serialize, serde::Deserialize, Input)]
struct Order {
    id: u64,
}

async fn of_a_number(about: Inquiry, input: u64) -> Result<Found<String>, Failure> {
    Ok(Found::StillUnknown)
}

#[ratchet::operation(name = "another_input", version = "1", key = "a:<id>", reconcile = of_a_number)]
async fn another_input(input: Order) -> Result<String, Failure> {
    Ok(String::new())
}

async fn leaves_a_number(about: Inquiry, input: Order) -> Result<Found<u64>, Failure> {
    Ok(Found::StillUnknown)
}

#[ratchet::operation(name = "another_result", version = "1", key = "b:<id>", reconcile = leaves_a_number)]
async fn another_result(input: Order) -> Result<String, Failure> {
    Ok(String::new())
}

fn blocking(about: Inquiry, input: Order) -> Result<Found<String>, Failure> {
    Ok(Found::StillUnknown)
}

#[ratchet::operation(name = "not_async", version = "1", key = "c:<id>", reconcile = blocking)]
async fn not_async(input: Order) -> Result<String, Failure> {
    Ok(String::new())
}

async fn knows_nothing() -> Result<Found<String>, Failure> {
    Ok(Found::StillUnknown)
}

#[ratchet::operation(name = "no_inquiry", version = "1", key = "d:<id>", reconcile = knows_nothing)]
async fn no_inquiry(input: Order) -> Result<String, Failure> {
    Ok(String::new())
}

async fn a_step_that_leaves_something_else(ctx: &Context) -> Result<u64, Failure> {
    let ask = async |about: Inquiry| Ok(Found::Applied(about.key().to_owned()));
    ctx.step("charge").reconcile(ask).run(async |_: Context| Ok(7_u64)).await
}

async fn a_step_that_is_asked_for_a_plain_value(ctx: &Context) -> Result<String, Failure> {
    let ask = async |about: Inquiry| Ok::<_, Failure>(about.key().to_owned());
    ctx.step("charge").reconcile(ask).run(async |_: Context| Ok(String::new())).await
}

fn main() {}
