//! A handler without its types, as a worker holds it.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use super::marks::{Mark, hidden_paths, volatile_fields};
use super::{Codec, Declared, Kind, Operation, Returns, Schemas, Spec, State, States};
use crate::context::Context;
use crate::key_part::Form;
use crate::model::{Cause, CauseKind, HiddenPaths, Outcome, Payload, VolatileFields};
use crate::reconcile::{self, Inquiry, Question};

/// What a handler is given beside its input.
#[derive(Debug, Clone)]
pub struct Call {
    context: Context,
    states: Arc<States>,
}

impl Call {
    pub(crate) const fn new(context: Context, states: Arc<States>) -> Self {
        Self { context, states }
    }

    /// The context of the attempt.
    #[must_use]
    pub fn context(&self) -> Context {
        self.context.clone()
    }

    /// The worker's state of type `T`.
    ///
    /// # Panics
    /// If the worker has none; it is checked when the worker is built, before the first attempt.
    #[must_use]
    pub fn state<T: Clone + Send + Sync + 'static>(&self) -> State<T> {
        match self.states.get() {
            Some(value) => State(value),
            None => unreachable!(
                "no state of type `{}`: workers check this when they are built",
                std::any::type_name::<T>()
            ),
        }
    }
}

type Attempt = Pin<Box<dyn Future<Output = Outcome> + Send>>;

/// An operation without its types.
#[derive(Debug, Clone, Copy)]
pub struct Handler {
    declared: Declared,
    spec: fn() -> &'static Spec,
    marks: &'static [Mark],
    rewritten: &'static [&'static str],
    renamed: &'static [(&'static str, &'static str)],
    schemas: Option<fn() -> Schemas>,
    run: fn(Call, Payload) -> Attempt,
    ask: fn(Inquiry, &Payload) -> Question,
}

impl Handler {
    /// The handler of an operation.
    #[must_use]
    pub const fn of<O: Operation>() -> Self {
        Self {
            declared: O::DECLARED,
            spec: O::SPEC,
            marks: O::Codec::MARKS,
            rewritten: O::Codec::REWRITTEN,
            renamed: O::Codec::RENAMED,
            schemas: O::SCHEMAS,
            run: |call, input| Box::pin(attempt::<O>(call, input)),
            ask: reconcile::ask::<O>,
        }
    }

    /// Name, version and template.
    #[must_use]
    pub const fn declared(&self) -> &Declared {
        &self.declared
    }

    /// What the attribute says.
    #[must_use]
    pub fn spec(&self) -> &'static Spec {
        (self.spec)()
    }

    /// What of an input is not shown to people.
    #[must_use]
    pub fn hidden(&self) -> HiddenPaths {
        hidden_paths(self.marks)
    }

    /// What of an input is no part of its fingerprint.
    #[must_use]
    pub fn volatile(&self) -> VolatileFields {
        volatile_fields(self.marks)
    }

    /// In which form JSON has the values of the placeholders, in order.
    #[must_use]
    pub fn forms(&self) -> Vec<Form> {
        let Spec { template, parts, .. } = self.spec();
        let form = |(place, kind): (&str, &Kind)| {
            let field = place.split(['.', '>']).next().unwrap_or_default();
            if self.rewritten.contains(&field) { Form::Opaque } else { kind.form }
        };
        template.split('<').skip(1).zip(*parts).map(form).collect()
    }

    /// Where JSON has the values of the placeholders, and in which form, in order. Other than [`forms`](Self::forms), for
    /// readers that need not find a value by its name in Rust.
    #[must_use]
    pub fn places(&self) -> Vec<(Vec<String>, Form)> {
        let Spec { template, parts, .. } = self.spec();
        let place = |((place, kind), form): ((&str, &Kind), Form)| {
            let mut path = place.split('>').next().unwrap_or_default().split('.').map(str::to_owned);
            let field = path.next().unwrap_or_default();
            let renamed = self.renamed.iter().find(|(name, _)| *name == field);
            let (first, form) = renamed.map_or((field, form), |(_, json)| ((*json).to_owned(), kind.form));
            (std::iter::once(first).chain(path).collect(), form)
        };
        template.split('<').skip(1).zip(*parts).zip(self.forms()).map(place).collect()
    }

    /// What JSON it takes and leaves, if its attribute says `schema`.
    #[must_use]
    pub fn schemas(&self) -> Option<Schemas> {
        self.schemas.map(|describe| describe())
    }

    /// Runs one attempt.
    pub(crate) fn run(&self, call: Call, input: Payload) -> Attempt {
        (self.run)(call, input)
    }

    /// Asks the destination what happened.
    pub(crate) fn ask(&self, about: Inquiry, input: &Payload) -> Question {
        (self.ask)(about, input)
    }
}

async fn attempt<O: Operation>(call: Call, input: Payload) -> Outcome {
    let input = match O::Codec::decode(&input) {
        Ok(input) => input,
        // Nothing was done, and the same bytes will not fit the next time either.
        Err(error) => {
            let cause = Cause::new(CauseKind::UnreadableInput, error);
            return Outcome::Rejected { cause, after_lookup: false };
        }
    };
    match O::call(call, input).await.into_result() {
        Err(failure) => failure.into_outcome(),
        Ok(output) => match Payload::encode(&output, Payload::LARGEST_RESULT) {
            Ok(result) => Outcome::done(result),
            // The effect happened: that its result cannot be kept changes nothing about it.
            Err(error) => {
                Outcome::Done { result: None, missing: Some(Cause::new(CauseKind::UnstorableResult, error)) }
            }
        },
    }
}
