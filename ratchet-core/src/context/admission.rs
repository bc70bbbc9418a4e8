//! Asking the gate of a destination before a send, and telling it how the send ended.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;

use super::orders::{not_written, unfitting};
use super::{Attempt, CancelReason, Context};
use crate::admission::{Destination, GateAnswer, GateCommand, GateOrder, Health, Permit};
use crate::failure::Failure;
use crate::model::{Cause, CauseKind, Outcome};
use crate::telemetry;

/// The permit for one send. Its end is to be reported; dropped without a report, it says nothing about the destination,
/// unless the attempt ran out of time.
#[must_use = "a permit that is dropped is given back"]
pub struct Admitted {
    attempt: Arc<Attempt>,
    destination: Destination,
    permit: Permit,
    end: Option<(Health, Option<Duration>)>,
}

impl Context {
    /// Asks for the permission to send to a destination that is shared with others, before [`pin`](Self::pin).
    ///
    /// The limits hold for all workers of the store together. `ratchet::http::Client::to` asks by itself; this is for
    /// clients of other protocols.
    ///
    /// ```
    /// # use ratchet_core::{Context, Destination, Failure, Fingerprint};
    /// # use ratchet_core::admission::Health;
    /// # async fn transmit(_: &[u8]) -> std::io::Result<()> { Ok(()) }
    /// const RELAY: Destination = Destination::new("relay").at_most(4);
    ///
    /// async fn send(ctx: &Context, message: &[u8]) -> Result<(), Failure> {
    ///     let admitted = ctx.admit(&RELAY).await?;
    ///     ctx.pin("relay", Fingerprint::of(message)).await?;
    ///     let sending = ctx.begin_send();
    ///     let sent = transmit(message).await;
    ///     admitted.report(if sent.is_ok() { Health::Answered } else { Health::Failed }, None);
    ///     sent?;
    ///     Ok(sending.acted())
    /// }
    /// ```
    ///
    /// # Errors
    /// A failure that says that nothing was sent, for the handler to pass on: the attempt is made again later, and none is
    /// spent. Its outcome is unknown if an earlier send of this attempt may have had an effect.
    pub async fn admit(&self, destination: &Destination) -> Result<Admitted, Failure> {
        self.check_place()?;
        self.check_lease()?;
        let order = GateOrder { destination: destination.clone(), command: GateCommand::Enter };
        match self.attempt.orders.gate(order).await {
            Ok(GateAnswer::Admitted(permit)) => {
                telemetry::admitted(destination.name());
                Ok(Admitted {
                    attempt: Arc::clone(&self.attempt),
                    destination: destination.clone(),
                    permit,
                    end: None,
                })
            }
            Ok(GateAnswer::Wait { span, why }) => {
                telemetry::postponed(destination.name(), why);
                let why = format_args!("`{}`: {}", destination.name(), why.as_str());
                let cause = Cause::new(CauseKind::NotAdmitted, why);
                Err(self.unsent(Failure::new(Outcome::NotApplied { cause, retry_after: Some(span) })))
            }
            Ok(_) => Err(self.unsent(unfitting())),
            Err(error) => Err(self.unsent(not_written(&error))),
        }
    }
}

impl Admitted {
    /// Says how the send ended, and for how long the destination asked everybody to wait.
    ///
    /// It is written down in the background: what is known about the effect waits for nothing. A report that is lost costs
    /// the place until [`Destination::longest_send`] is over.
    pub fn report(mut self, health: Health, pause: Option<Duration>) {
        self.end = Some((health, pause));
    }

    /// A destination that let an attempt run out of time has failed; all else that drops a send is its own affair.
    fn unreported(&self) -> (Health, Option<Duration>) {
        let timed_out = self.attempt.cancellation.reason() == Some(CancelReason::Timeout);
        (if timed_out { Health::Failed } else { Health::NotSent }, None)
    }
}

impl Drop for Admitted {
    fn drop(&mut self) {
        let (health, pause) = self.end.take().unwrap_or_else(|| self.unreported());
        let command = GateCommand::Leave { permit: self.permit, health, pause };
        let order = GateOrder { destination: self.destination.clone(), command };
        let attempt = Arc::clone(&self.attempt);
        let Ok(runtime) = Handle::try_current() else { return };
        runtime.spawn(async move {
            let name = order.destination.name().clone();
            match attempt.orders.gate(order).await {
                Ok(GateAnswer::Left { opened: true }) => telemetry::breaker_opened(&name),
                Ok(_) => {}
                Err(error) => {
                    tracing::warn!(%error, "the end of a send could not be reported to the gate of its destination");
                }
            }
        });
    }
}

impl fmt::Debug for Admitted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Admitted")
            .field("destination", &self.destination.name())
            .field("permit", &self.permit)
            .finish_non_exhaustive()
    }
}
