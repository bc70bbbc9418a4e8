//! The operations that a worker executes.

use std::collections::BTreeMap;

use crate::ledger::{Declaration, Offer, Served};
use crate::model::Queue;
use crate::operation::{Declared, Handler, first_clash};

/// The operations that a worker executes, made by `ratchet::registry![…]`, which checks it while compiling.
#[derive(Debug, Clone, Default)]
pub struct Registry {
    handlers: BTreeMap<Served, Handler>,
}

/// Two operations that cannot live in one registry.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("R014: `{one}` and `{other}` clash: {why}")]
pub struct RegistryError {
    one: String,
    other: String,
    why: &'static str,
}

impl Registry {
    /// A registry of these handlers.
    ///
    /// # Errors
    /// If two of them have one name and version, two names and templates that can render one key, or one name and two
    /// templates without a `new_identity`.
    pub fn new(handlers: impl IntoIterator<Item = Handler>) -> Result<Self, RegistryError> {
        let handlers: Vec<Handler> = handlers.into_iter().collect();
        let declared: Vec<Declared> = handlers.iter().map(|handler| *handler.declared()).collect();
        if let Some(clash) = first_clash(&declared) {
            let (one, other) = clash.places();
            let named = |at: usize| {
                declared
                    .get(at)
                    .map_or_else(String::new, |d| format!("{} {}", d.name.text(), d.version.text()))
            };
            return Err(RegistryError { one: named(one), other: named(other), why: clash.explain() });
        }
        Ok(Self { handlers: handlers.into_iter().map(|handler| (handler.served(), handler)).collect() })
    }

    /// What it serves.
    pub fn served(&self) -> impl Iterator<Item = &Served> {
        self.handlers.keys()
    }

    /// Those of them that can ask their destination what happened.
    pub(crate) fn reconciled(&self) -> impl Iterator<Item = Served> {
        let asks = |(_, handler): &(&Served, &Handler)| handler.spec().policy.reconciles;
        self.handlers.iter().filter(asks).map(|(served, _)| served.clone())
    }

    /// What a worker for it offers unless told otherwise: each operation from the queue that it declares.
    pub fn offers(&self) -> impl Iterator<Item = Offer> {
        self.handlers().map(|handler| handler.offer(handler.spec().queue.clone()))
    }

    /// The handlers.
    pub fn handlers(&self) -> impl Iterator<Item = &Handler> {
        self.handlers.values()
    }

    /// The handler of an operation and version.
    #[must_use]
    pub fn get(&self, served: &Served) -> Option<&Handler> {
        self.handlers.get(served)
    }

    pub(crate) fn declarations(&self) -> Vec<Declaration> {
        let declaration = |handler: &Handler| Declaration {
            operation: handler.spec().name.clone(),
            version: handler.spec().version.clone(),
            template: handler.spec().template.to_owned(),
            forms: handler.forms(),
            new_identity: handler.spec().new_identity.map(str::to_owned),
            hidden: handler.hidden(),
            volatile: handler.volatile(),
            policy: handler.spec().policy.clone(),
            contract: handler.spec().contract.terms(),
            priority: handler.spec().priority,
            queue: handler.spec().queue.clone(),
            concurrency: handler.spec().concurrency,
        };
        self.handlers.values().map(declaration).collect()
    }
}

impl Handler {
    /// The operation and version that it executes.
    #[must_use]
    pub fn served(&self) -> Served {
        Served { operation: self.spec().name.clone(), version: self.spec().version.clone() }
    }

    /// The offer to execute it from a queue.
    pub(crate) fn offer(&self, queue: Queue) -> Offer {
        Offer { served: self.served(), queue, at_most: self.spec().concurrency }
    }
}
