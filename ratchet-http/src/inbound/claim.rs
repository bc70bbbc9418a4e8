//! Asks the ledger what is to be done with a request: execute it, or answer it from what is on record.

use ratchet_core::decide::{Answer, Command, Refusal};
use ratchet_core::ledger::Order;
use ratchet_core::model::State;
use ratchet_core::{Execution, LedgerError, Payload, RecordId, Submission, Submitted};

use super::answer::Kept;
use super::problem::Problem;
use super::settings::Settings;

/// What is to be done with a request.
pub(super) enum Claim {
    /// It is executed now, by this one alone.
    Execute(Box<Execution>),
    /// It was answered.
    Repeat(Kept),
    /// It is not executed now, or not at all.
    Refuse(Problem),
}

/// How often the record may change under the eyes of one request.
const LOOKS: usize = 4;

/// Puts the request on record and takes it, if nobody has, or says what is known about it. A store that fails, or does
/// not answer in the time of a lease, leads to no execution.
pub(super) async fn claim(settings: &Settings, submission: Submission) -> Claim {
    let key = submission.id.digest();
    match tokio::time::timeout(settings.lease, decided(settings, submission)).await {
        Ok(Ok(claim)) => claim,
        Ok(Err(error)) => {
            tracing::error!(%key, %error, "a request was refused, since it could not be looked up");
            Claim::Refuse(Problem::StoreUnavailable)
        }
        Err(_) => {
            tracing::error!(%key, "a request was refused, since the store did not answer");
            Claim::Refuse(Problem::StoreUnavailable)
        }
    }
}

async fn decided(settings: &Settings, submission: Submission) -> Result<Claim, LedgerError> {
    for _ in 0..LOOKS {
        if let Some(claim) = look(settings, submission.clone()).await? {
            return Ok(claim);
        }
    }
    Ok(Claim::Refuse(Problem::InFlight))
}

/// `None` if the record changed meanwhile.
async fn look(settings: &Settings, submission: Submission) -> Result<Option<Claim>, LedgerError> {
    let answers = settings.ledger.submit(vec![submission]).await?;
    let (id, state, result) = match answers.into_iter().next().ok_or(LedgerError::Closed)? {
        Submitted::New { id } => (id, State::Pending, None),
        Submitted::Existing { id, state, result, .. } => (id, state, result),
        Submitted::Conflict(_) => return Ok(Some(Claim::Refuse(Problem::KeyReused))),
        Submitted::Expired { ended_on, state } => {
            return Ok(Some(Claim::Refuse(Problem::Expired { ended: ended_on, state })));
        }
    };
    match state {
        State::Pending => begin(settings, id).await,
        State::Running => expire(settings, id).await,
        State::Succeeded => Ok(Some(repeat(result.as_ref()))),
        State::Uncertain | State::Abandoned => Ok(Some(Claim::Refuse(Problem::OutcomeUnknown))),
        State::Waiting => Ok(Some(Claim::Refuse(Problem::InFlight))),
        State::Failed | State::Exhausted | State::Cancelled | State::Skipped => {
            Ok(Some(Claim::Refuse(Problem::Closed)))
        }
    }
}

async fn begin(settings: &Settings, id: RecordId) -> Result<Option<Claim>, LedgerError> {
    let key = id.digest();
    if !settings.restored.may_execute().await {
        return Ok(Some(Claim::Refuse(Problem::HeldBack)));
    }
    Ok(match Execution::begin(settings.ledger.clone(), id, settings.executor()).await? {
        Ok(execution) => Some(Claim::Execute(Box::new(execution))),
        Err(Refusal::Superseded | Refusal::NotDue(_)) => Some(Claim::Refuse(Problem::InFlight)),
        Err(Refusal::NotRepeatable(_)) => Some(Claim::Refuse(Problem::OutcomeUnknown)),
        Err(Refusal::State(_) | Refusal::Cancelled) => None,
        Err(refusal) => {
            tracing::error!(%key, %refusal, "a request was refused, since its record cannot be executed");
            Some(Claim::Refuse(Problem::StoreUnavailable))
        }
    })
}

/// Whether a lease is over is for the store's clock to say. What follows for the record is decided as everywhere; no
/// worker serves it, so nobody else would ask.
async fn expire(settings: &Settings, id: RecordId) -> Result<Option<Claim>, LedgerError> {
    let orders = vec![Order { id, command: Command::Expire }];
    let answers = settings.ledger.apply(orders).await?;
    Ok(match answers.into_iter().next().ok_or(LedgerError::Closed)? {
        Ok(Answer::Released | Answer::Settled(_)) | Err(Refusal::State(_)) => None,
        _ => Some(Claim::Refuse(Problem::InFlight)),
    })
}

fn repeat(result: Option<&Payload>) -> Claim {
    match result.and_then(|result| result.decode::<Kept>().ok()) {
        Some(kept) => Claim::Repeat(kept),
        None => Claim::Refuse(Problem::AnswerNotKept(None)),
    }
}
