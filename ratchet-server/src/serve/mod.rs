//! `ratchet serve`: one store for producers, workers and operators of any language, over HTTP.

mod app;
pub(crate) mod auth;
mod body;
mod connections;
mod declarations;
mod health;
pub(crate) mod jobs;
pub(crate) mod keys;
mod limits;
mod maintenance;
mod metrics;
pub(crate) mod named;
pub(crate) mod observe;
mod patient;
pub(crate) mod problem;
mod rate;
pub(crate) mod shelf;
mod stop;
mod store_clock;
mod telemetry;
#[cfg(feature = "testing")]
pub(crate) mod testing;
pub(crate) mod waiting;

use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use axum::Router;
use clap::Args;
use ratchet::ledger::HighWaterFile;
use tokio::net::TcpListener;

pub(crate) use app::App;
pub(crate) use body::{Json, read as read_body, read_in_pieces};
use limits::Limits;
use stop::StopSignals;
use telemetry::Telemetry;

use crate::error::Error;
use crate::operate::store::StoreAddress;
use crate::{pages, wire};

#[derive(Args)]
pub(crate) struct ServeArguments {
    #[command(flatten)]
    store: StoreAddress,
    /// Where to listen; port 0 takes a free one. Put a proxy that speaks TLS in front of it for other machines.
    #[arg(long, default_value = "127.0.0.1:8080")]
    listen: SocketAddr,
    #[command(flatten)]
    telemetry: Telemetry,
    /// A file that outlives the server, on another disk than the store, in which the store's high-water mark is kept: a
    /// restored backup is recognised by it. Unless named, a store in a file has it beside that, and one on a server has none.
    #[arg(long)]
    high_water_file: Option<PathBuf>,
    #[command(flatten)]
    limits: Limits,
}

/// Serves until SIGTERM or SIGINT, and then until what is under way has ended.
pub(crate) fn run(arguments: &ServeArguments) -> Result<ExitCode, Error> {
    let telemetry = arguments.telemetry.install()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let served = runtime.block_on(serve(arguments));
    telemetry.end();
    served.map(|()| ExitCode::SUCCESS)
}

/// Prints the description of the protocol.
pub(crate) fn print_openapi() -> Result<ExitCode, Error> {
    let (_, description) = wire::router();
    let text = description.to_pretty_json().map_err(io::Error::other)?;
    crate::operate::output::write(|out| writeln!(out, "{text}"))?;
    Ok(ExitCode::SUCCESS)
}

async fn serve(arguments: &ServeArguments) -> Result<(), Error> {
    let mark = arguments.high_water_file.as_deref().map(HighWaterFile::new);
    let app = App::open(&arguments.store, mark, arguments.limits.clone()).await?;
    let address = arguments.listen;
    let listener =
        TcpListener::bind(address).await.map_err(|reason| Error::NotListening { address, reason })?;
    let signals = StopSignals::listen();
    announce(listener.local_addr()?)?;
    let housekeeping = tokio::spawn(maintenance::run(app.clone()));
    connections::serve(listener, router(&app), &app, stop::asked(&app, signals)).await;
    // It ends between two of its writes, which are each whole.
    housekeeping.abort();
    app.look_at_store_once_more().await;
    tracing::info!("stopped");
    Ok(())
}

/// The first line on standard output; whoever started the program waits for it.
fn announce(address: SocketAddr) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "listening on http://{address}")?;
    out.flush()
}

fn router(app: &App) -> Router {
    let (protocol, _) = wire::router();
    let routes = health::router().merge(protocol).merge(pages::router(app)).fallback(problem::no_such_page);
    observe::observed(routes.method_not_allowed_fallback(problem::wrong_method), app).with_state(app.clone())
}
