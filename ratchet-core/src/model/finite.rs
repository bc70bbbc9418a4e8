//! Refuses NaN and infinity, which JSON cannot hold and `serde_json` writes as `null` without a word.

use std::cell::Cell;

use serde::ser::{
    Serialize, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple,
    SerializeTupleStruct, SerializeTupleVariant, Serializer,
};

/// A value whose floats are looked at on their way to any serializer.
pub(super) struct Finite<'a, T: ?Sized> {
    pub(super) value: &'a T,
    /// Set if one of them is no number.
    pub(super) refused: &'a Cell<bool>,
}

impl<T: Serialize + ?Sized> Serialize for Finite<'_, T> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.value.serialize(Looking { to, refused: self.refused })
    }
}

/// A serializer, or one of its compounds, that looks at floats.
struct Looking<'a, S> {
    to: S,
    refused: &'a Cell<bool>,
}

impl<'a, S> Looking<'a, S> {
    fn at<'b, T: ?Sized>(&self, value: &'b T) -> Finite<'b, T>
    where
        'a: 'b,
    {
        Finite { value, refused: self.refused }
    }

    fn float<E: serde::ser::Error>(&self, is_finite: bool) -> Result<(), E> {
        if is_finite {
            return Ok(());
        }
        self.refused.set(true);
        Err(E::custom("not a number"))
    }
}

macro_rules! plain {
    ($($name:ident($type:ty))*) => {$(
        fn $name(self, value: $type) -> Result<S::Ok, S::Error> {
            self.to.$name(value)
        }
    )*};
}

macro_rules! compound {
    ($($name:ident($($argument:ident: $type:ty),*) -> $compound:ident)*) => {$(
        fn $name(self, $($argument: $type),*) -> Result<Self::$compound, S::Error> {
            Ok(Looking { to: self.to.$name($($argument),*)?, refused: self.refused })
        }
    )*};
}

impl<'a, S: Serializer> Serializer for Looking<'a, S> {
    type Ok = S::Ok;
    type Error = S::Error;
    type SerializeSeq = Looking<'a, S::SerializeSeq>;
    type SerializeTuple = Looking<'a, S::SerializeTuple>;
    type SerializeTupleStruct = Looking<'a, S::SerializeTupleStruct>;
    type SerializeTupleVariant = Looking<'a, S::SerializeTupleVariant>;
    type SerializeMap = Looking<'a, S::SerializeMap>;
    type SerializeStruct = Looking<'a, S::SerializeStruct>;
    type SerializeStructVariant = Looking<'a, S::SerializeStructVariant>;

    plain! {
        serialize_bool(bool) serialize_i8(i8) serialize_i16(i16) serialize_i32(i32) serialize_i64(i64)
        serialize_i128(i128) serialize_u8(u8) serialize_u16(u16) serialize_u32(u32) serialize_u64(u64)
        serialize_u128(u128) serialize_char(char) serialize_str(&str) serialize_bytes(&[u8])
        serialize_unit_struct(&'static str)
    }

    compound! {
        serialize_seq(length: Option<usize>) -> SerializeSeq
        serialize_tuple(length: usize) -> SerializeTuple
        serialize_tuple_struct(name: &'static str, length: usize) -> SerializeTupleStruct
        serialize_tuple_variant(name: &'static str, index: u32, variant: &'static str, length: usize)
            -> SerializeTupleVariant
        serialize_map(length: Option<usize>) -> SerializeMap
        serialize_struct(name: &'static str, length: usize) -> SerializeStruct
        serialize_struct_variant(name: &'static str, index: u32, variant: &'static str, length: usize)
            -> SerializeStructVariant
    }

    fn serialize_f32(self, value: f32) -> Result<S::Ok, S::Error> {
        self.float::<S::Error>(value.is_finite())?;
        self.to.serialize_f32(value)
    }

    fn serialize_f64(self, value: f64) -> Result<S::Ok, S::Error> {
        self.float::<S::Error>(value.is_finite())?;
        self.to.serialize_f64(value)
    }

    fn serialize_none(self) -> Result<S::Ok, S::Error> {
        self.to.serialize_none()
    }

    fn serialize_unit(self) -> Result<S::Ok, S::Error> {
        self.to.serialize_unit()
    }

    fn serialize_unit_variant(
        self,
        name: &'static str,
        index: u32,
        variant: &'static str,
    ) -> Result<S::Ok, S::Error> {
        self.to.serialize_unit_variant(name, index, variant)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<S::Ok, S::Error> {
        let value = self.at(value);
        self.to.serialize_some(&value)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        value: &T,
    ) -> Result<S::Ok, S::Error> {
        let value = self.at(value);
        self.to.serialize_newtype_struct(name, &value)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        index: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<S::Ok, S::Error> {
        let value = self.at(value);
        self.to.serialize_newtype_variant(name, index, variant, &value)
    }

    fn is_human_readable(&self) -> bool {
        self.to.is_human_readable()
    }
}

macro_rules! elements {
    ($($trait:ident::$method:ident)*) => {$(
        impl<S: $trait> $trait for Looking<'_, S> {
            type Ok = S::Ok;
            type Error = S::Error;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), S::Error> {
                let value = self.at(value);
                self.to.$method(&value)
            }

            fn end(self) -> Result<S::Ok, S::Error> {
                self.to.end()
            }
        }
    )*};
}

macro_rules! fields {
    ($($trait:ident)*) => {$(
        impl<S: $trait> $trait for Looking<'_, S> {
            type Ok = S::Ok;
            type Error = S::Error;

            fn serialize_field<T: Serialize + ?Sized>(
                &mut self,
                name: &'static str,
                value: &T,
            ) -> Result<(), S::Error> {
                let value = self.at(value);
                self.to.serialize_field(name, &value)
            }

            fn end(self) -> Result<S::Ok, S::Error> {
                self.to.end()
            }
        }
    )*};
}

elements!(SerializeSeq::serialize_element SerializeTuple::serialize_element
    SerializeTupleStruct::serialize_field SerializeTupleVariant::serialize_field);
fields!(SerializeStruct SerializeStructVariant);

impl<S: SerializeMap> SerializeMap for Looking<'_, S> {
    type Ok = S::Ok;
    type Error = S::Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), S::Error> {
        let key = self.at(key);
        self.to.serialize_key(&key)
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), S::Error> {
        let value = self.at(value);
        self.to.serialize_value(&value)
    }

    fn end(self) -> Result<S::Ok, S::Error> {
        self.to.end()
    }
}
