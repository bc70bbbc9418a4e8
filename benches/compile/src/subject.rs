//! What is compared: one function two hundred times over, and what is written on it.

use std::fmt::Write;

/// One way to write the functions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Subject {
    Plain,
    Instrument,
    InstrumentSkipAll,
    AsyncTrait,
    Restate,
    Ratchet,
    /// The input structs alone, as they are for everyone.
    Inputs,
    /// The input structs with `derive(Input)`.
    RatchetInputs,
}

pub(crate) const SUBJECTS: [Subject; 8] = [
    Subject::Plain,
    Subject::Instrument,
    Subject::InstrumentSkipAll,
    Subject::AsyncTrait,
    Subject::Restate,
    Subject::Ratchet,
    Subject::Inputs,
    Subject::RatchetInputs,
];

impl Subject {
    /// Its name in file names.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Instrument => "instrument",
            Self::InstrumentSkipAll => "instrument_skip_all",
            Self::AsyncTrait => "async_trait",
            Self::Restate => "restate",
            Self::Ratchet => "ratchet",
            Self::Inputs => "inputs",
            Self::RatchetInputs => "ratchet_inputs",
        }
    }

    /// Its name for readers.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Plain => "plain `async fn`",
            Self::Instrument => "`#[tracing::instrument]`",
            Self::InstrumentSkipAll => "`#[tracing::instrument(skip_all)]`",
            Self::AsyncTrait => "`#[async_trait]`, trait and impl",
            Self::Restate => "`#[restate_sdk::service]`, one handler",
            Self::Ratchet => "`#[ratchet::operation]`",
            Self::Inputs => "input struct with serde's derives",
            Self::RatchetInputs => "`#[derive(ratchet::Input)]`",
        }
    }

    /// What its cost is counted over.
    pub(crate) fn base(self) -> Option<Self> {
        match self {
            Self::Plain | Self::Inputs => None,
            Self::RatchetInputs => Some(Self::Inputs),
            _ => Some(Self::Plain),
        }
    }

    /// A crate with this many functions, and with what calls them.
    pub(crate) fn source(self, items: usize, called: bool) -> String {
        let mut source = self.prelude().to_owned();
        for item in 0..items {
            source.push_str(&self.item(item));
        }
        if called {
            source.push_str(&self.calls(items));
        }
        source
    }

    fn prelude(self) -> &'static str {
        match self {
            Self::Plain | Self::AsyncTrait | Self::Instrument | Self::InstrumentSkipAll => {
                "use inputs::*;
use std::{future::Future, pin::Pin};
#[derive(Debug)]
pub struct Failure;
pub fn refused() -> Failure { Failure }
pub async fn settle(invoice: &str, due: u64) -> Result<(), Failure> {
    if invoice.len() as u64 > due { Err(refused()) } else { Ok(()) }
}
pub type Called = Pin<Box<dyn Future<Output = Result<u64, Failure>> + Send>>;
"
            }
            Self::Restate => {
                "use inputs::*;
use restate_sdk::prelude::*;
pub type Failure = HandlerError;
pub fn refused() -> Failure { TerminalError::new(\"refused\").into() }
pub async fn settle(invoice: &str, due: u64) -> Result<(), Failure> {
    if invoice.len() as u64 > due { Err(refused()) } else { Ok(()) }
}
"
            }
            Self::Ratchet => {
                "use inputs::*;
use ratchet::Failure;
pub fn refused() -> Failure { Failure::rejected(\"refused\") }
pub async fn settle(invoice: &str, due: u64) -> Result<(), Failure> {
    if invoice.len() as u64 > due { Err(refused()) } else { Ok(()) }
}
"
            }
            Self::Inputs => "use serde::{Serialize, Deserialize};\n",
            Self::RatchetInputs => "use serde::{Serialize, Deserialize};\nuse ratchet::Input;\n",
        }
    }

    fn item(self, n: usize) -> String {
        let body = "{
    let due = input.amount.checked_sub(input.paid).ok_or_else(refused)?;
    settle(&input.invoice_id, due).await?;
    Ok(due)
}
";
        let function = format!("async fn collect_{n}(input: Invoice{n}) -> Result<u64, Failure> {body}");
        match self {
            Self::Plain => format!("pub {function}"),
            Self::Instrument => format!("#[tracing::instrument]\npub {function}"),
            Self::InstrumentSkipAll => format!("#[tracing::instrument(skip_all)]\npub {function}"),
            Self::AsyncTrait => {
                let method = format!("async fn collect(&self, input: Invoice{n}) -> Result<u64, Failure>");
                format!(
                    "pub struct Collect{n};
#[async_trait::async_trait]
pub trait Collecting{n} {{ {method}; }}
#[async_trait::async_trait]
impl Collecting{n} for Collect{n} {{ {method} {body} }}
"
                )
            }
            Self::Restate => format!(
                "pub struct Collect{n};
#[restate_sdk::service]
impl Collect{n} {{
#[handler]
async fn collect(&self, _ctx: Context<'_>, Json(input): Json<Invoice{n}>) -> Result<u64, Failure> {body} }}
"
            ),
            Self::Ratchet => format!(
                "#[ratchet::operation(name = \"collect_{n}\", version = \"1\", key = \"invoice:<invoice_id>:collect_{n}:v1\")]
pub {function}"
            ),
            Self::Inputs => input(n, "Debug, Serialize, Deserialize"),
            Self::RatchetInputs => input(n, "Debug, Serialize, Deserialize, Input"),
        }
    }

    /// What makes the compiler generate code for the functions: a boxed future, as each of the frameworks makes it.
    fn calls(self, items: usize) -> String {
        match self {
            Self::Plain | Self::Instrument | Self::InstrumentSkipAll => lines(items, |n| {
                format!("pub fn call_{n}(input: Invoice{n}) -> Called {{ Box::pin(collect_{n}(input)) }}")
            }),
            Self::Restate => format!(
                "pub fn served() -> Endpoint {{ Endpoint::builder()\n{}.build() }}\n",
                lines(items, |n| format!(".bind(Collect{n})"))
            ),
            Self::Ratchet => format!(
                "pub fn served() -> ratchet::Registry {{ ratchet::registry![\n{}] }}\n",
                lines(items, |n| format!("collect_{n},"))
            ),
            // The impl boxes its futures itself.
            Self::AsyncTrait | Self::Inputs | Self::RatchetInputs => String::new(),
        }
    }
}

/// The crate that holds the input structs of all subjects, so that serde's derives are no part of what is measured.
pub(crate) fn inputs(items: usize) -> String {
    let structs = lines(items, |n| input(n, "Debug, serde::Serialize, serde::Deserialize, ratchet::Input"));
    format!("//! Generated.\n{structs}")
}

fn input(n: usize, derives: &str) -> String {
    format!(
        "#[derive({derives})]
pub struct Invoice{n} {{ pub invoice_id: String, pub amount: u64, pub paid: u64 }}
"
    )
}

fn lines(items: usize, line: impl Fn(usize) -> String) -> String {
    (0..items).fold(String::new(), |mut text, n| {
        let _ = writeln!(text, "{}", line(n));
        text
    })
}
