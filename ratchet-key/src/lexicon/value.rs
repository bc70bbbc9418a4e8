//! What a field can hold, by its type: the evidence that a name alone does not give.

use crate::lexicon::Category;
use crate::lexicon::rule::{List, contains, entries};

/// What the values of a type are, as far as a judgement on names needs to know.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Value {
    /// Yes or no: a fact about something, never the thing itself.
    Flag,
    /// A whole number.
    Number,
    /// A number with a fraction, or money.
    Decimal,
    /// A date or a time.
    Time,
    /// An id made by a machine.
    Uuid,
    /// One of a short list.
    Choice,
    /// The key of another record.
    Link,
    /// Text, bytes, a bag of values, or a type that says nothing.
    Open,
}

const FLAGS: List = "bool, boolean, bit, check, checkbox";

const NUMBERS: List = "\
    int, integer, bigint, smallint, mediumint, tinyint, int2, int4, int8, int16, int32, int64, uint, uint8, uint16, \
    uint32, uint64, uint256, serial, bigserial, smallserial, increments, bigincrements, unsignedinteger, \
    unsignedbiginteger, biginteger, smallinteger, unsigned, number, long, short, i8, i16, i32, i64, i128, isize, u8, \
    u16, u32, u64, u128, usize, rating, int8range";

const DECIMALS: List = "\
    decimal, numeric, float, float4, float8, double, real, money, currency, percent, f32, f64, bigdecimal";

const TIMES: List = "\
    date, datetime, datetime2, timestamp, timestamptz, timestamps, time, timetz, interval, duration, naivedate, \
    naivedatetime, offsetdatetime, systemtime, instant, localdate, localdatetime, zoneddatetime, year";

const UUIDS: List = "uuid, guid, ulid, uniqueidentifier";

const CHOICES: List = "enum, select, set";

const LINKS: List = "link, dynamic, references, foreignkey, belongsto";

impl Value {
    /// Reads a type as it is written in SQL, a schema file or a program: `varchar(255)`, `Option<bool>`, `datetime(0)`.
    pub(super) fn of(type_name: &str) -> Self {
        let core = innermost(type_name);
        let end = core.find(|char: char| !char.is_ascii_alphanumeric()).unwrap_or(core.len());
        let (word, rest) = core.split_at_checked(end).unwrap_or((core, ""));
        let is = |listed: List| entries(listed).any(|name| name.eq_ignore_ascii_case(word));
        match word {
            _ if is(FLAGS) || (word.eq_ignore_ascii_case("tinyint") && rest.starts_with("(1)")) => Self::Flag,
            _ if is(NUMBERS) => Self::Number,
            _ if is(DECIMALS) => Self::Decimal,
            _ if is(TIMES) => Self::Time,
            _ if is(UUIDS) => Self::Uuid,
            _ if is(CHOICES) => Self::Choice,
            _ if is(LINKS) => Self::Link,
            _ => Self::Open,
        }
    }

    /// Whether such values can be data of a category, where `phrase` is what the name speaks of.
    pub(super) fn can_be(self, category: Category, phrase: &str) -> bool {
        let last = phrase.rsplit(['_', ' ']).next().unwrap_or_default();
        // Gender, pay, position, birth, doses: a word or a number of any kind can say something of a person.
        let is_said = matches!(category, Category::IndirectPii | Category::Health);
        match self {
            Self::Open => true,
            Self::Flag => false,
            Self::Number => match category {
                Category::DirectPii => contains(NUMBERED, last),
                Category::Credential => contains(CODES, last),
                _ => !contains(PICTURES, last),
            },
            Self::Time => is_said || category == Category::FinancialAccount,
            Self::Uuid => category == Category::Credential,
            Self::Link => is_said && !contains(AMOUNTS, last),
            Self::Decimal | Self::Choice => is_said,
        }
    }
}

/// What is written in digits though it names or reaches a person.
const NUMBERED: List = "\
    number, no, phone, mobile, tel, telephone, cell, fax, msisdn, whatsapp, ssn, pan, aadhaar, nino, cpf, curp, dni, \
    rut, bsn, pesel, telefon, telefono, telefone, security, mrn, id";

/// Secrets that are written in digits.
const CODES: List = "pin, otp, totp, code, cvv, cvc, passcode";

/// What is no number: that is the id of a file.
const PICTURES: List = "image, photo, avatar, picture, signature";

/// What is no key of another record.
const AMOUNTS: List = "salary, pay, income, amount";

/// The type inside references, paths and wrappers: `bool` of `Option<std::primitive::bool>`.
fn innermost(type_name: &str) -> &str {
    const WRAPPERS: List = "Option, Box, Arc, Rc, Nullable, Maybe";
    let mut name = type_name.trim().trim_start_matches('&').trim();
    loop {
        let head = name.split(['<', '(', ' ']).next().unwrap_or_default();
        if let Some(at) = head.rfind("::") {
            name = name.get(at + 2..).unwrap_or_default();
            continue;
        }
        match name.split_once('<') {
            Some((head, rest)) if contains(WRAPPERS, head.trim()) => name = rest.trim(),
            _ => return name,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Value;

    #[test]
    fn types_of_several_languages() {
        for (written, value) in [
            ("bool", "flag"),
            ("Option<bool>", "flag"),
            ("Option < bool >", "flag"),
            ("tinyint(1)", "flag"),
            ("tinyint", "number"),
            ("core::option::Option<u64>", "number"),
            ("BIGINT UNSIGNED", "number"),
            ("decimal(10,2)", "decimal"),
            ("timestamp with time zone", "time"),
            ("chrono::DateTime<Utc>", "time"),
            ("datetime(0)", "time"),
            ("uuid::Uuid", "uuid"),
            ("select", "choice"),
            ("dynamic link", "link"),
            ("varchar(255)", "open"),
            ("&'static str", "open"),
            ("jsonb", "open"),
            ("", "open"),
            ("<", "open"),
        ] {
            let found = match Value::of(written) {
                Value::Flag => "flag",
                Value::Number => "number",
                Value::Decimal => "decimal",
                Value::Time => "time",
                Value::Uuid => "uuid",
                Value::Choice => "choice",
                Value::Link => "link",
                Value::Open => "open",
            };
            assert_eq!(found, value, "{written}");
        }
    }
}
