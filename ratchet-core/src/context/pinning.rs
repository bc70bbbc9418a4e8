//! How an attempt writes down what it is about to send.

use super::Context;
use super::orders::unfitting;
use crate::contract::{Mechanism, ScopePart};
use crate::decide::{Answer, Command, Difference, PinRequest, Refusal};
use crate::effect_guard::is_in_transaction;
use crate::failure::Failure;
use crate::model::{Cause, CauseKind, KeptRequest, Outcome, Pin, RequestFingerprint, Scope};
use crate::wire_key::{self, Identity, NoSecret, WireKey};

impl Context {
    /// Writes down what is about to be sent, before it is sent, and says what to send as the identity.
    ///
    /// `scope` is within what the destination compares keys, and `request` what the request looks like: for clients without
    /// methods and URLs, the [`Fingerprint`](crate::Fingerprint) of what they send. Every later attempt must send the same,
    /// under the key that was written down first: a new secret or a changed contract does not change it.
    ///
    /// # Errors
    /// A failure if the request or its scope differs from the pinned one, if there is no secret for a key that the
    /// destination takes, if the lease is gone or if it may not be sent again; in each case this request was not sent.
    pub async fn pin(
        &self,
        scope: impl Into<Scope>,
        request: impl Into<RequestFingerprint>,
    ) -> Result<Pin, Failure> {
        self.pin_request(scope.into(), request.into(), None).await
    }

    /// The same for a request that is kept as well: what to send is [`kept`](Pin::kept) in the answer, which is the request
    /// of the first attempt that pinned one.
    ///
    /// # Errors
    /// As [`pin`](Self::pin), if the request has more than [`KeptRequest::LARGEST`] bytes, and if this attempt has pinned
    /// another one under this identity.
    pub async fn pin_kept(&self, scope: impl Into<Scope>, request: KeptRequest) -> Result<Pin, Failure> {
        if request.bytes() > KeptRequest::LARGEST {
            return Err(self.misused(format_args!(
                "a request to be kept may have {} bytes, and this one has {}",
                KeptRequest::LARGEST,
                request.bytes()
            )));
        }
        let fingerprint = request.fingerprint();
        if !self.effect.offers.is_first_or_same(&fingerprint) {
            let why = "this attempt has sent another request under the same identity: put each into a step of its own";
            return Err(self.unsent(changed(why)));
        }
        self.pin_request(scope.into(), fingerprint, Some(request)).await
    }

    async fn pin_request(
        &self,
        scope: Scope,
        request: RequestFingerprint,
        kept: Option<KeptRequest>,
    ) -> Result<Pin, Failure> {
        self.check_place()?;
        self.check_scope(&scope)?;
        self.check_lease()?;
        let WireKey { text, recipe, secret } = self.wire_key(&scope, &request)?;
        let request = PinRequest {
            wire_key: text,
            recipe,
            secret,
            place: self.contract().mechanism().to_string(),
            deduplicates: self.contract().deduplicates(),
            sent_before: self.effect.sends.may_have_acted(),
            scope,
            request,
            kept,
        };
        let command =
            Command::Pin { token: self.token(), step: self.effect.step.clone(), request: Box::new(request) };
        match self.ask(command).await? {
            Answer::Pinned(pin) if self.takes(&pin) => {
                self.check_lease()?;
                Ok(*pin)
            }
            Answer::Pinned(_) => Err(self.unsent(changed(Refusal::RequestChanged(Difference::Recipe)))),
            _ => Err(self.unsent(unfitting())),
        }
    }

    fn wire_key(&self, scope: &Scope, request: &RequestFingerprint) -> Result<WireKey, Failure> {
        let identity = Identity { id: self.id(), step: self.step_name(), text: self.key(), scope, request };
        // What is pinned was made with its own secret, and is compared with what that makes of the identity today.
        let secrets = &self.attempt.secrets;
        let pinned = self.attempt.pinned_with.get(&self.effect.step).and_then(|id| secrets.of(id));
        wire_key::make(identity, self.contract(), pinned.or(secrets.newest())).map_err(|NoSecret| {
            self.misused(
                "the destination takes no key like the identity itself, and the worker has no secret to make another one \
                 with: give it one with `.wire_secret(…)`",
            )
        })
    }

    /// Whether the contract still takes a key that was pinned, perhaps before the contract was written as it is now.
    fn takes(&self, pin: &Pin) -> bool {
        let as_it_is = pin.recipe == crate::model::Recipe::VERBATIM;
        let format = self.contract().key_format();
        !(as_it_is && self.contract().mechanism().carries_key()) || format.accepts(&pin.wire_key)
    }

    /// Whether this is a place to send from.
    pub(super) fn check_place(&self) -> Result<(), Failure> {
        if is_in_transaction() {
            return Err(self.misused(
                "a transaction of `once` is open: send before or after it, since a transaction that waits for a \
                 destination keeps everybody else waiting",
            ));
        }
        if *self.contract().mechanism() == Mechanism::Database {
            return Err(self.misused(
                "the contract says that the effect is in a database, and this is a request: put it into a step with \
                 the contract of its destination",
            ));
        }
        Ok(())
    }

    /// Whether what the destination forgets is named.
    fn check_scope(&self, scope: &Scope) -> Result<(), Failure> {
        if self.contract().scope().contains(&ScopePart::Credential) && scope.account.is_none() {
            return Err(self.misused(
                "the destination forgets every key when the credential changes: name the credential with `.account(…)`, so \
                 that another one is noticed; the name, never the credential itself",
            ));
        }
        Ok(())
    }
}

fn changed(why: impl std::fmt::Display) -> Failure {
    Failure::new(Outcome::unknown(Cause::new(CauseKind::RequestChanged, why)))
}
