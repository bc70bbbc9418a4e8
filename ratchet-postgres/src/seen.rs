//! What a row was like when it was read.

use sqlx::encode::IsNull;
use sqlx::error::BoxDynError;
use sqlx::postgres::types::Oid;
use sqlx::postgres::{PgArgumentBuffer, PgHasArrayType, PgTypeInfo, PgValueRef};
use sqlx::{Decode, Encode, Postgres, Type};

/// The version of a row: the transaction that wrote it, and where it stands. Any write gives it others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) by: Writer,
    pub(crate) place: Place,
}

/// The transaction that wrote a row last, its `xmin`.
///
/// It travels as what it is, since a cast would lead through a text for each row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Writer([u8; 4]);

/// Where a version of a row stands, its `ctid`: the way to it that needs no index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place([u8; 6]);

macro_rules! travels_as_it_is {
    ($name:ident, $oid:literal, $array:literal) => {
        impl Type<Postgres> for $name {
            fn type_info() -> PgTypeInfo {
                PgTypeInfo::with_oid(Oid($oid))
            }
        }

        impl PgHasArrayType for $name {
            fn array_type_info() -> PgTypeInfo {
                PgTypeInfo::with_oid(Oid($array))
            }
        }

        impl Encode<'_, Postgres> for $name {
            fn encode_by_ref(&self, buffer: &mut PgArgumentBuffer) -> Result<IsNull, BoxDynError> {
                buffer.extend(self.0);
                Ok(IsNull::No)
            }
        }

        impl Decode<'_, Postgres> for $name {
            fn decode(value: PgValueRef<'_>) -> Result<Self, BoxDynError> {
                Ok(Self(value.as_bytes()?.try_into()?))
            }
        }
    };
}

// `xid` and `tid` with their arrays, which have these numbers on every server.
travels_as_it_is!(Writer, 28, 1011);
travels_as_it_is!(Place, 27, 1010);
