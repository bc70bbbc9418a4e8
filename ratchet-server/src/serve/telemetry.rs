//! Where the server tells what it does: its log, and traces for those who asked for them.

use std::io;

use clap::Args;
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::SdkTracerProvider;
use tracing_subscriber::Layer as _;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::error::Error;

#[derive(Args)]
pub(super) struct Telemetry {
    /// What is logged on standard error, as JSON: `off`, `error`, `warn`, `info`, `debug`.
    #[arg(long, default_value = "info")]
    log: LevelFilter,
    /// Sends traces to the OpenTelemetry collector at this address (OTLP over HTTP), such as `http://127.0.0.1:4318`. Without
    /// it, to where `OTEL_EXPORTER_OTLP_ENDPOINT` or `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT` says.
    #[arg(long, value_name = "URL")]
    otlp: Option<String>,
}

/// Ends the traces in order.
pub(super) struct Installed(Option<SdkTracerProvider>);

/// What the OpenTelemetry specification calls these variables.
const ENDPOINTS: [&str; 2] = ["OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"];

/// Where a collector takes traces, behind its address.
const TRACES: &str = "/v1/traces";

impl Telemetry {
    /// Has everything that follows told. Not within a runtime: the exporter has a thread of its own.
    pub(super) fn install(&self) -> Result<Installed, Error> {
        let log = tracing_subscriber::fmt::layer().json().flatten_event(true).with_span_list(false);
        let log = log.with_writer(io::stderr).with_filter(self.log);
        let provider = self.provider()?;
        let traces = provider.as_ref().map(|provider| {
            let layer = tracing_opentelemetry::layer().with_tracer(provider.tracer("ratchet"));
            let layer = layer.with_location(false).with_threads(false).with_tracked_inactivity(false);
            // Other crates' spans may hold anything.
            layer.with_filter(Targets::new().with_target("ratchet", LevelFilter::INFO))
        });
        tracing_subscriber::registry().with(log).with(traces).init();
        Ok(Installed(provider))
    }

    fn provider(&self) -> Result<Option<SdkTracerProvider>, Error> {
        let named =
            ENDPOINTS.into_iter().any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()));
        if self.otlp.is_none() && !named {
            return Ok(None);
        }
        let mut exporter = SpanExporter::builder().with_http().with_protocol(Protocol::HttpBinary);
        if let Some(address) = &self.otlp {
            exporter = exporter.with_endpoint(format!("{}{TRACES}", address.trim_end_matches('/')));
        }
        let exporter = exporter.build().map_err(Error::Collector)?;
        // `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES` say more.
        let resource = match std::env::var_os("OTEL_SERVICE_NAME") {
            Some(_) => Resource::builder().build(),
            None => Resource::builder().with_service_name("ratchet").build(),
        };
        Ok(Some(SdkTracerProvider::builder().with_resource(resource).with_batch_exporter(exporter).build()))
    }
}

impl Installed {
    /// Sends what is not sent yet.
    pub(super) fn end(self) {
        let Some(provider) = self.0 else { return };
        if let Err(error) = provider.shutdown() {
            tracing::warn!(%error, "the last traces were not sent");
        }
    }
}
