//! What may become part of a key.

use std::borrow::Cow;
use std::num::{
    NonZeroI8, NonZeroI16, NonZeroI32, NonZeroI64, NonZeroI128, NonZeroIsize, NonZeroU8, NonZeroU16,
    NonZeroU32, NonZeroU64, NonZeroU128, NonZeroUsize,
};
use std::rc::Rc;
use std::sync::Arc;

use ratchet_key::{KeyError, PartWriter};

mod form;
mod refused;

pub use form::Form;

/// A value that can be part of a key: it has one text form, the same on every attempt.
///
/// Integers, `bool`, `char`, strings, `uuid::Uuid` (feature `uuid`) and calendar dates (`jiff`; features `chrono`, `time`)
/// are. Newtypes and enums without data become one by `#[derive(KeyPart)]`. Floats, clocks, `Option` and collections
/// are not; the compiler says why.
///
/// The types say nothing about where a value comes from: a `String` that was filled from a random source passes.
#[diagnostic::on_unimplemented(
    message = "R008: `{Self}` cannot be part of a key: ratchet knows no text form of it that is always the same",
    label = "a key holds ids, numbers, strings and calendar dates",
    note = "use a field that identifies the business record, such as its id",
    note = "`Uuid` and the dates of `chrono` and `time` are known with the features `uuid`, `chrono` and `time`",
    note = "for a newtype or an enum without data: #[derive(ratchet::KeyPart)]"
)]
pub trait KeyPart {
    /// Whether values of this type can tell records apart. A `bool` or an enum cannot: a key made of them alone is the
    /// same key for nearly everyone.
    const DISTINGUISHES: bool = true;

    /// How serde writes values of this type, for programs in other languages. Unless it is stated, they are kept from
    /// making keys of it.
    ///
    /// A type whose `Deserialize` changes what it reads, as by trimming it, is [`Form::Opaque`]. So the form of a type that
    /// is written by hand is stated only where serde writes it as the same text:
    ///
    /// ```
    /// use ratchet_core::{Form, KeyError, KeyPart, PartWriter};
    ///
    /// #[derive(serde::Serialize, serde::Deserialize)]
    /// struct InvoiceId(String);
    ///
    /// impl KeyPart for InvoiceId {
    ///     const FORM: Form = Form::Text;
    ///
    ///     fn write(&self, part: PartWriter<'_>) -> Result<(), KeyError> {
    ///         part.text(&self.0)
    ///     }
    /// }
    /// ```
    const FORM: Form = Form::Opaque;

    /// Writes the value as one part of a key.
    ///
    /// # Errors
    /// If the value is refused: empty, with control characters or surrounded by white space.
    fn write(&self, part: PartWriter<'_>) -> Result<(), KeyError>;
}

/// The largest ones of 128 bits are left out, which fit into no JSON that is stored.
const fn bounded(least: i128, most: u128) -> Form {
    let most = if most > i128::MAX.unsigned_abs() { i128::MAX } else { most.cast_signed() };
    Form::Integer { least, most }
}

macro_rules! integer {
    ($type:ty $(, .$get:ident())?) => {{
        #[allow(
            clippy::cast_possible_wrap,
            clippy::cast_sign_loss,
            clippy::cast_lossless,
            reason = "the least is no large number, and the most no negative one"
        )]
        bounded(<$type>::MIN$(.$get())? as i128, <$type>::MAX$(.$get())? as u128)
    }};
}

macro_rules! unsigned {
    ($($type:ty)*) => {$(
        impl KeyPart for $type {
            const FORM: Form = integer!($type);

            fn write(&self, part: PartWriter<'_>) -> Result<(), KeyError> {
                part.unsigned((*self).into())
            }
        }
    )*};
}

macro_rules! signed {
    ($($type:ty)*) => {$(
        impl KeyPart for $type {
            const FORM: Form = integer!($type);

            fn write(&self, part: PartWriter<'_>) -> Result<(), KeyError> {
                part.integer((*self).into())
            }
        }
    )*};
}

macro_rules! non_zero {
    ($($type:ty)*) => {$(
        impl KeyPart for $type {
            const FORM: Form = integer!($type, .get());

            fn write(&self, part: PartWriter<'_>) -> Result<(), KeyError> {
                self.get().write(part)
            }
        }
    )*};
}

unsigned!(u8 u16 u32 u64 u128);
signed!(i8 i16 i32 i64 i128);
non_zero!(NonZeroU8 NonZeroU16 NonZeroU32 NonZeroU64 NonZeroU128 NonZeroUsize);
non_zero!(NonZeroI8 NonZeroI16 NonZeroI32 NonZeroI64 NonZeroI128 NonZeroIsize);

impl KeyPart for usize {
    const FORM: Form = integer!(usize);

    fn write(&self, part: PartWriter<'_>) -> Result<(), KeyError> {
        part.unsigned(*self as u128)
    }
}

impl KeyPart for isize {
    const FORM: Form = integer!(isize);

    fn write(&self, part: PartWriter<'_>) -> Result<(), KeyError> {
        part.integer(*self as i128)
    }
}

impl KeyPart for bool {
    const DISTINGUISHES: bool = false;
    const FORM: Form = Form::Boolean;

    fn write(&self, part: PartWriter<'_>) -> Result<(), KeyError> {
        part.boolean(*self)
    }
}

impl KeyPart for char {
    const FORM: Form = Form::Character;

    fn write(&self, part: PartWriter<'_>) -> Result<(), KeyError> {
        part.text(self.encode_utf8(&mut [0; 4]))
    }
}

impl KeyPart for str {
    const FORM: Form = Form::Text;

    fn write(&self, part: PartWriter<'_>) -> Result<(), KeyError> {
        part.text(self)
    }
}

impl KeyPart for String {
    const FORM: Form = Form::Text;

    fn write(&self, part: PartWriter<'_>) -> Result<(), KeyError> {
        part.text(self)
    }
}

macro_rules! pointer {
    ($($type:ty)*) => {$(
        impl<T: KeyPart + ?Sized> KeyPart for $type {
            const DISTINGUISHES: bool = T::DISTINGUISHES;
            const FORM: Form = T::FORM;

            fn write(&self, part: PartWriter<'_>) -> Result<(), KeyError> {
                T::write(self, part)
            }
        }
    )*};
}

pointer!(&T Box<T> Arc<T> Rc<T>);

impl<T: KeyPart + ToOwned + ?Sized> KeyPart for Cow<'_, T> {
    const DISTINGUISHES: bool = T::DISTINGUISHES;
    const FORM: Form = T::FORM;

    fn write(&self, part: PartWriter<'_>) -> Result<(), KeyError> {
        T::write(self, part)
    }
}

/// The date as `2026-11-29`.
impl KeyPart for jiff::civil::Date {
    const FORM: Form = Form::Date;

    fn write(&self, part: PartWriter<'_>) -> Result<(), KeyError> {
        part.text(&self.to_string())
    }
}

/// The usual form with hyphens, in lower case.
#[cfg(feature = "uuid")]
impl KeyPart for uuid::Uuid {
    const FORM: Form = Form::Uuid;

    fn write(&self, part: PartWriter<'_>) -> Result<(), KeyError> {
        part.text(self.hyphenated().encode_lower(&mut uuid::Uuid::encode_buffer()))
    }
}

/// The date as `2026-11-29`.
#[cfg(feature = "chrono")]
impl KeyPart for chrono::NaiveDate {
    const FORM: Form = Form::Date;

    fn write(&self, part: PartWriter<'_>) -> Result<(), KeyError> {
        part.text(&self.to_string())
    }
}

/// The date as `2026-11-29`.
#[cfg(feature = "time")]
impl KeyPart for time::Date {
    const FORM: Form = Form::Date;

    fn write(&self, part: PartWriter<'_>) -> Result<(), KeyError> {
        part.text(&self.to_string())
    }
}

#[cfg(test)]
mod tests {
    use ratchet_key::KeyWriter;

    use super::*;

    fn rendered(value: &(impl KeyPart + ?Sized)) -> String {
        let mut key = KeyWriter::new();
        value.write(key.part()).unwrap();
        key.finish().unwrap().to_string()
    }

    #[test]
    fn values_have_one_text_form() {
        assert_eq!(rendered(&-42_i64), "-42");
        assert_eq!(rendered(&u128::MAX), "340282366920938463463374607431768211455");
        assert_eq!(rendered(&true), "true");
        assert_eq!(rendered(&'ü'), "%C3%BC");
        assert_eq!(rendered(&NonZeroI8::MIN), "-128");
        assert_eq!(rendered("a b"), "a%20b");
        assert_eq!(rendered(&Arc::<str>::from("inv_1")), "inv_1");
        assert_eq!(rendered(&jiff::civil::date(2026, 1, 9)), "2026-01-09");
    }

    #[cfg(feature = "uuid")]
    #[test]
    fn a_uuid_is_written_in_lower_case_with_hyphens() {
        let id = uuid::Uuid::from_u128(0xA1A2_A3A4_B1B2_C1C2_D1D2_D3D4_D5D6_D7D8);
        assert_eq!(rendered(&id), "a1a2a3a4-b1b2-c1c2-d1d2-d3d4d5d6d7d8");
    }

    #[cfg(all(feature = "chrono", feature = "time"))]
    #[test]
    fn dates_of_all_crates_are_written_alike() {
        assert_eq!(rendered(&chrono::NaiveDate::from_ymd_opt(2026, 1, 9).unwrap()), "2026-01-09");
        let date = time::Date::from_calendar_date(2026, time::Month::January, 9).unwrap();
        assert_eq!(rendered(&date), "2026-01-09");
    }

    #[test]
    fn a_form_is_that_of_the_value_inside() {
        assert_eq!(u8::FORM, Form::Integer { least: 0, most: 255 });
        assert_eq!(NonZeroU8::FORM, Form::Integer { least: 1, most: 255 });
        assert_eq!(<Cow<'_, i64>>::FORM, Form::Integer { least: i64::MIN.into(), most: i64::MAX.into() });
        assert_eq!(u128::FORM, Form::Integer { least: 0, most: i128::MAX });
        assert_eq!((<&str>::FORM, <Arc<bool>>::FORM), (Form::Text, Form::Boolean));
    }

    #[test]
    fn a_type_says_whether_it_tells_records_apart() {
        const { assert!(u64::DISTINGUISHES && <&str>::DISTINGUISHES) };
        const { assert!(!bool::DISTINGUISHES && !<Box<bool>>::DISTINGUISHES) };
    }
}
