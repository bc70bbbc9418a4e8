//! Collects 200 invoices through a payment service, while the worker is killed again and again at the worst moments.
//!
//! ```text
//! cargo run --example collect_invoice                   # one charge per invoice
//! cargo run --example collect_invoice -- --without-key  # what happens where the destination cannot recognise a repetition
//! cargo run --features postgres --example collect_invoice -- --store postgres://postgres@localhost/test
//! cargo run --features restate --example collect_invoice -- --store restate://127.0.0.1:8080
//! ```
//!
//! Three processes take part, all of them this program: the parent, which enqueues and kills; the payment service, which
//! has its own database; and the worker. On a Restate engine a fourth one serves the records, as a database does elsewhere.

mod destination;
mod invoices;
mod operations;
mod parent;
mod report;
#[cfg(feature = "restate")]
mod serve;
mod worker;

use std::error::Error;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use tokio::io::AsyncReadExt as _;

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

#[derive(Parser)]
#[command(about = "Collects 200 invoices while the worker is killed at the worst moments")]
struct Arguments {
    /// Send no key, to a destination that cannot recognise a repeated request.
    #[arg(long)]
    without_key: bool,
    /// Print the figures as one JSON object on the last line.
    #[arg(long)]
    json: bool,
    /// Keep the records in this store, which must have none of this example yet, instead of a new file of `SQLite`.
    #[arg(long, value_name = "ADDRESS")]
    store: Option<String>,
    #[command(subcommand)]
    part: Option<Part>,
}

/// What the child processes do; the parent passes it.
#[derive(Subcommand)]
enum Part {
    /// Plays the payment service.
    #[command(hide = true)]
    Destination { database: PathBuf },
    /// Executes operations until standard input closes.
    #[command(hide = true)]
    Worker { store: String, destination: String, address: Option<SocketAddr> },
    /// Serves the records of an engine, and no operation, until standard input closes.
    #[cfg(feature = "restate")]
    #[command(hide = true)]
    Records { store: String },
}

/// Ready when the parent is gone or wants this process to end.
async fn standard_input_closed() {
    let mut rest = Vec::new();
    // An error says as plainly as the end that nobody is there any more.
    let _ = tokio::io::stdin().read_to_end(&mut rest).await;
}

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let ended = match arguments.part {
        None => parent::run(arguments.store, arguments.without_key, arguments.json).await,
        Some(Part::Destination { database }) => destination::run(&database).await.map(|()| ExitCode::SUCCESS),
        Some(Part::Worker { store, destination, address }) => {
            let worker = worker::run(&store, address, destination, arguments.without_key);
            worker.await.map(|()| ExitCode::SUCCESS)
        }
        #[cfg(feature = "restate")]
        Some(Part::Records { store }) => serve::records(&store).await.map(|()| ExitCode::SUCCESS),
    };
    ended.unwrap_or_else(|error| {
        eprintln!("error: {error}");
        ExitCode::FAILURE
    })
}
