//! Operations with several plain parameters: their payload is an object by parameter name.

use std::marker::PhantomData;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::{Codec, Mark, Operation};
use crate::model::{Payload, PayloadError};

/// What can be one of several parameters of an operation.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a parameter of an operation: it is not stored as JSON",
    label = "needs `serde::Serialize` and `serde::Deserialize`",
    note = "parameters are stored with the record, and read back for every attempt"
)]
pub trait Parameter: Sized {
    /// Writes the value.
    ///
    /// # Errors
    /// If it is no JSON.
    fn encode(&self) -> Result<Value, PayloadError>;

    /// Reads the value.
    ///
    /// # Errors
    /// If it does not fit the type.
    fn decode(value: Value) -> Result<Self, PayloadError>;
}

// What of the two is lacking is no error of its own.
#[diagnostic::do_not_recommend]
impl<T: Serialize + DeserializeOwned> Parameter for T {
    fn encode(&self) -> Result<Value, PayloadError> {
        Payload::value_of(self)
    }

    fn decode(value: Value) -> Result<Self, PayloadError> {
        serde_json::from_value(value).map_err(|error| PayloadError::mismatch::<T>(&error))
    }
}

/// One parameter: its name, and how it becomes JSON and comes back.
#[derive(Debug)]
pub struct Field<T> {
    name: &'static str,
    encode: fn(&T) -> Result<Value, PayloadError>,
    decode: fn(Value) -> Result<T, PayloadError>,
}

/// The parameter `name` of type `T`.
#[must_use]
pub const fn field<T: Parameter>(name: &'static str) -> Field<T> {
    Field { name, encode: T::encode, decode: T::decode }
}

impl<T> Field<T> {
    fn put(&self, value: &T, object: &mut Map<String, Value>) -> Result<(), PayloadError> {
        object.insert(self.name.to_owned(), (self.encode)(value)?);
        Ok(())
    }

    /// A missing parameter reads as `null`, which fits an `Option`.
    fn take(&self, object: &mut Map<String, Value>) -> Result<T, PayloadError> {
        (self.decode)(object.remove(self.name).unwrap_or(Value::Null))
    }
}

/// The parameters of an operation, as a tuple.
pub trait Fields<I> {
    /// Writes them.
    ///
    /// # Errors
    /// If one is no JSON.
    fn put(&self, input: &I, object: &mut Map<String, Value>) -> Result<(), PayloadError>;

    /// Reads them.
    ///
    /// # Errors
    /// If one does not fit its type.
    fn take(&self, object: &mut Map<String, Value>) -> Result<I, PayloadError>;
}

macro_rules! fields {
    ($($type:ident $at:tt)*) => {
        impl<$($type),*> Fields<($($type,)*)> for ($(Field<$type>,)*) {
            fn put(&self, input: &($($type,)*), object: &mut Map<String, Value>) -> Result<(), PayloadError> {
                $(self.$at.put(&input.$at, object)?;)*
                Ok(())
            }

            fn take(&self, object: &mut Map<String, Value>) -> Result<($($type,)*), PayloadError> {
                Ok(($(self.$at.take(object)?,)*))
            }
        }
    };
}

fields!(A 0 B 1);
fields!(A 0 B 1 C 2);
fields!(A 0 B 1 C 2 D 3);
fields!(A 0 B 1 C 2 D 3 E 4);
fields!(A 0 B 1 C 2 D 3 E 4 F 5);
fields!(A 0 B 1 C 2 D 3 E 4 F 5 G 6);
fields!(A 0 B 1 C 2 D 3 E 4 F 5 G 6 H 7);

/// Names the parameters of an operation.
pub trait Parameters: Operation {
    /// One [`Field`] for each parameter.
    type Fields: Fields<Self::Input>;
    /// The parameters, in order.
    const FIELDS: Self::Fields;
    /// Which of them are personal, and which are left out of the fingerprint.
    const MARKS: &'static [Mark] = &[];
}

/// The codec of operations with several parameters.
#[derive(Debug)]
pub struct ByName<O>(PhantomData<O>);

impl<O: Parameters> Codec<O::Input> for ByName<O> {
    const MARKS: &'static [Mark] = O::MARKS;
    // The macro sees the parameters, and has judged it.
    const KEYS: &'static [&'static str] = &[];

    fn encode(input: &O::Input) -> Result<Value, PayloadError> {
        let mut object = Map::new();
        O::FIELDS.put(input, &mut object)?;
        Ok(Value::Object(object))
    }

    fn decode(payload: &Payload) -> Result<O::Input, PayloadError> {
        O::FIELDS.take(&mut payload.decode()?)
    }
}
