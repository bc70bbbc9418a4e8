//! What went wrong, as a page: what happened, why, and what to do.

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use maud::html;
use ratchet::{LedgerError, ManageError};

use super::layout::document;
use super::session::NoRandomness;

/// Why a page cannot be shown, or an act was not carried out.
#[derive(Debug, thiserror::Error)]
pub(super) enum Fault {
    #[error("there is no such page: go back to the overview")]
    NoPage,
    #[error("there is no record at this place, or your key is not for it: look for it in the list")]
    NoRecord,
    #[error(
        "this form was not sent from these pages, or its session is over: nothing was done; open the page again"
    )]
    NotOurs,
    #[error("the form cannot be read: nothing was done; go back and send it again")]
    Unreadable,
    #[error("the store did not answer: {0}")]
    Ledger(#[from] LedgerError),
    #[error("the store did not answer: nothing was done; try again in a moment")]
    NoAnswer,
    #[error(transparent)]
    NoRandomness(#[from] NoRandomness),
}

impl Fault {
    fn status(&self) -> StatusCode {
        match self {
            Self::NoPage | Self::NoRecord => StatusCode::NOT_FOUND,
            Self::NotOurs => StatusCode::FORBIDDEN,
            Self::Unreadable => StatusCode::BAD_REQUEST,
            Self::Ledger(_) | Self::NoAnswer | Self::NoRandomness(_) => StatusCode::SERVICE_UNAVAILABLE,
        }
    }
}

impl IntoResponse for Fault {
    fn into_response(self) -> Response {
        let title = match self.status() {
            StatusCode::NOT_FOUND => "Not found",
            StatusCode::SERVICE_UNAVAILABLE => "Not available",
            _ => "Not done",
        };
        let page = document(
            title,
            None,
            &html! {
                main #main .alone {
                    h1 { (title) }
                    p { (super::words::sentence(&self.to_string())) "." }
                    p { a href="/" { "Overview" } }
                }
            },
        );
        (self.status(), page).into_response()
    }
}

/// What the ledger says to an act: a refusal is told beside the form, a failure is none of the person's business.
pub(super) fn refused(error: ManageError) -> Result<String, Fault> {
    match error {
        ManageError::Ledger(error) => Err(error.into()),
        refusal => Ok(refusal.to_string()),
    }
}
