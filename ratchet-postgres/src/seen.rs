//! What a row was like when it was read.

use sqlx::encode::IsNull;
use sqlx::error::BoxDynError;
use sqlx::postgres::types::Oid;
use sqlx::postgres::{PgArgumentBuffer, PgHasArrayType, PgTypeInfo, PgValueRef};
use sqlx::{Decode, Encode, Postgres, Type};

/// The transaction that wrote a row last, its `xmin`. Any write gives it another one.
///
/// It travels as what it is, since a cast would lead through a text for each row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Seen([u8; 4]);

/// The types `xid` and `xid[]`, which have these numbers on every server.
const XID: PgTypeInfo = PgTypeInfo::with_oid(Oid(28));
const XID_ARRAY: PgTypeInfo = PgTypeInfo::with_oid(Oid(1011));

impl Type<Postgres> for Seen {
    fn type_info() -> PgTypeInfo {
        XID
    }
}

impl PgHasArrayType for Seen {
    fn array_type_info() -> PgTypeInfo {
        XID_ARRAY
    }
}

impl Encode<'_, Postgres> for Seen {
    fn encode_by_ref(&self, buffer: &mut PgArgumentBuffer) -> Result<IsNull, BoxDynError> {
        buffer.extend(self.0);
        Ok(IsNull::No)
    }
}

impl Decode<'_, Postgres> for Seen {
    fn decode(value: PgValueRef<'_>) -> Result<Self, BoxDynError> {
        Ok(Self(value.as_bytes()?.try_into()?))
    }
}
