//! Contexts for unit tests of operations with several parameters, of which only the key is at hand.

use std::marker::PhantomData;

use ratchet_key::{Key, KeyError};

use super::{Call, Codec, Declared, Operation, Spec};
use crate::context::Context;
use crate::model::{Payload, PayloadError};

/// `O`, with its key in place of its input.
struct OfKey<O>(PhantomData<fn() -> O>);

struct NoInput;

/// A context as the first attempt of `O` under `key` sees it.
///
/// # Errors
/// If the identity that the destination would receive is too long.
pub(crate) fn of_key<O: Operation>(key: &Key) -> Result<Context, KeyError> {
    Context::of_unit_test::<OfKey<O>>(key)
}

impl<O: Operation> Operation for OfKey<O> {
    type Input = Key;
    type Return = O::Return;
    type Codec = NoInput;
    const DECLARED: Declared = O::DECLARED;

    fn spec() -> &'static Spec {
        O::spec()
    }

    fn key(input: &Key) -> Result<Key, KeyError> {
        Ok(input.clone())
    }

    async fn call(_: Call, _: Key) -> O::Return {
        unreachable!("only its key is asked for")
    }
}

impl Codec<Key> for NoInput {
    fn encode(_: &Key) -> Result<Payload, PayloadError> {
        Err(PayloadError::NotJson)
    }

    fn decode(_: &Payload) -> Result<Key, PayloadError> {
        Err(PayloadError::NotJson)
    }
}
