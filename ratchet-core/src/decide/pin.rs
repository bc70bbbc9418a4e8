//! Pins: what is about to be sent is written down, and nothing else is sent under the same identity.

use super::command::{Answer, Decision, Difference, PinRequest, Refusal};
use super::lease::started;
use super::settle::repeatable;
use crate::model::{Effect, Pin, Record, RequestFingerprint, StepName, StepState, Token};
use crate::time::Timestamp;

pub(super) fn pin(
    record: &Record,
    token: Token,
    step: Option<&StepName>,
    request: &PinRequest,
    now: Timestamp,
) -> Result<Decision, Refusal> {
    started(record, token)?;
    let mut pinned = record.clone();
    let (effect, reconciles) = match step {
        None => (&mut pinned.effect, false),
        Some(name) => match pinned.steps.get_mut(name) {
            Some(step) if step.state == StepState::Started => (&mut step.effect, step.reconciles),
            // Only a step that was entered is marked when the attempt falls silent.
            _ => return Err(Refusal::NoStep),
        },
    };
    // What may have been sent can be asked for again, to find out; nothing else is started.
    if record.cancel_requested && !effect.may_be_applied && !request.sent_before {
        return Err(Refusal::Cancelled);
    }
    // A send of this very attempt counts as much as one of an earlier attempt: the window may have ended meanwhile.
    if effect.may_be_applied || request.sent_before {
        repeatable(effect, reconciles, record, now).map_err(Refusal::NotRepeatable)?;
    }
    // The record would be sent again, trusting in a destination that looks at nothing.
    if effect.contract.deduplicates() && !request.deduplicates {
        return Err(Refusal::RequestChanged(Difference::Place));
    }
    let pin = match &effect.pin {
        Some(existing) if keeps(existing, request, effect, token)? => {
            // This attempt may send it as well, so only one that comes after it may replace it.
            Box::new(Pin { by: token, ..Pin::clone(existing) })
        }
        earlier => Box::new(new(request, token, first_at(effect, earlier.as_deref(), now))),
    };
    effect.pin = Some(pin.clone());
    Ok(Decision::new(pinned, Answer::Pinned(pin)))
}

/// Whether what is pinned stays and is what goes out.
fn keeps(existing: &Pin, request: &PinRequest, effect: &Effect, token: Token) -> Result<bool, Refusal> {
    match difference(existing, request) {
        None => Ok(true),
        // The author wants the first request to be sent, whatever a later attempt has.
        Some(what) if what.is_of_the_request() && existing.kept.is_some() && request.kept.is_some() => {
            Ok(true)
        }
        // What a destination certainly never acted on may be replaced, but only by a later attempt: this one may have
        // sent it.
        Some(what) if what.is_of_the_request() && !effect.may_be_applied && existing.by < token => Ok(false),
        Some(what) => Err(Refusal::RequestChanged(what)),
    }
}

fn first_at(effect: &Effect, earlier: Option<&Pin>, now: Timestamp) -> Timestamp {
    match earlier {
        Some(earlier) => earlier.first_at,
        // An attempt that pinned nothing may have sent the identity by itself, so the window is open since then.
        None if effect.may_be_applied => effect.first_started_at.unwrap_or(now),
        None => now,
    }
}

fn new(request: &PinRequest, by: Token, first_at: Timestamp) -> Pin {
    Pin {
        wire_key: request.wire_key.clone(),
        recipe: request.recipe,
        secret: request.secret.clone(),
        place: request.place.clone(),
        scope: request.scope.clone(),
        request: request.request.clone(),
        kept: request.kept.clone(),
        by,
        first_at,
    }
}

/// What makes the request another one than the pinned. A new recipe or secret does not: the pinned key goes out.
fn difference(pin: &Pin, request: &PinRequest) -> Option<Difference> {
    let made_alike = pin.recipe == request.recipe && pin.secret == request.secret;
    [
        (pin.place != request.place, Difference::Place),
        (pin.scope.destination != request.scope.destination, Difference::Destination),
        (pin.scope.account != request.scope.account, Difference::Account),
        (pin.scope.region != request.scope.region, Difference::Region),
        (pin.scope.route != request.scope.route, Difference::Route),
        (pin.request.method != request.request.method, Difference::Method),
        (pin.request.url != request.request.url, Difference::Url),
        (made_alike && pin.wire_key != request.wire_key, Difference::WireKey),
    ]
    .into_iter()
    .find_map(|(differs, what)| differs.then_some(what))
    .or_else(|| body_difference(&pin.request, &request.request))
}

fn body_difference(pinned: &RequestFingerprint, now: &RequestFingerprint) -> Option<Difference> {
    let fields = || now.fields.changed_since(&pinned.fields);
    (pinned.body != now.body).then(|| Difference::Body { fields: fields() })
}
