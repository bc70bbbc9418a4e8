//! Types that cannot stand in a key, by the name under which they are written.

use crate::finding::Code;
use crate::lexicon::{Category, NameFinding};

struct Kind {
    code: Code,
    names: &'static [&'static str],
    why: &'static str,
    help: &'static str,
}

const KINDS: &[Kind] = &[
    Kind {
        code: Code::R002,
        names: &[
            "SystemTime",
            "Instant",
            "DateTime",
            "NaiveDateTime",
            "NaiveTime",
            "OffsetDateTime",
            "UtcDateTime",
            "PrimitiveDateTime",
            "Timestamp",
            "Zoned",
            "Utc",
            "Local",
        ],
        why: "is a clock or a time of day, and a time taken anew on each attempt gives each attempt another key",
        help: "use an id or a calendar date without a time of day",
    },
    Kind {
        code: Code::R005,
        names: &["SecretString", "SecretBox", "SecretVec", "Secret"],
        why: "holds a secret, and keys are copied into logs and the records of the destination",
        help: "use an opaque id from your own records",
    },
    Kind {
        code: Code::R008,
        names: &["f32", "f64"],
        why: "is a float, and one number has several texts (`0.1 + 0.2`, `-0`, `NaN`)",
        help: "use an integer in the smallest unit, such as cents",
    },
    Kind {
        code: Code::R008,
        names: &["Option"],
        why: "may hold nothing, and all records without a value would share one key",
        help: "make the field required, or use another that always has a value",
    },
    Kind {
        code: Code::R008,
        names: &[
            "Vec",
            "VecDeque",
            "LinkedList",
            "HashMap",
            "BTreeMap",
            "IndexMap",
            "HashSet",
            "BTreeSet",
            "IndexSet",
            "BinaryHeap",
            "Bytes",
            "[]",
            "()",
        ],
        why: "is a collection, and has no single stable text form",
        help: "use the id of the record that owns it, or put each part into a field of its own",
    },
    Kind {
        code: Code::R008,
        names: &["Duration", "TimeDelta", "SignedDuration"],
        why: "is a duration, and one length of time has many texts, such as `60s` and `1m`",
        help: "use an integer in a fixed unit, such as `period_days`, or the id of the record",
    },
    Kind {
        code: Code::R008,
        names: &["Value"],
        why: "has more than one text for one value",
        help: "use an integer or an id in its place",
    },
];

/// Judges a type by its name as it is written in a signature, such as `Option<u64>` or `chrono::DateTime<Utc>`.
///
/// Looks at the last path segment only: an alias hides the type from it, and the trait bound of a key part has
/// the last word. `None` says nothing about the type but that its name is not a known fault.
///
/// ```
/// use ratchet_key::{Code, judge_type};
///
/// assert_eq!(judge_type("chrono::DateTime<Utc>").map(|found| found.code), Some(Code::R002));
/// assert_eq!(judge_type("&[u8]").map(|found| found.code), Some(Code::R008));
/// assert_eq!(judge_type("uuid::Uuid"), None);
/// ```
#[must_use]
pub fn judge_type(type_name: &str) -> Option<NameFinding> {
    let name = last_segment(type_name);
    let kind = KINDS.iter().find(|kind| kind.names.contains(&name))?;
    let word = match name {
        "[]" | "()" => type_name.trim().to_owned(),
        _ => name.to_owned(),
    };
    let category = (kind.code == Code::R005).then_some(Category::Credential);
    Some(NameFinding { code: kind.code, word, category, why: kind.why, help: kind.help })
}

/// The type's own name without path, generics and references; `[]` and `()` for the forms without a name.
fn last_segment(type_name: &str) -> &str {
    let mut name = type_name.trim().trim_start_matches('&').trim_start();
    if name.starts_with('\'') {
        name = name.split_once(' ').map_or("", |(_, rest)| rest);
    }
    name = name.trim_start().strip_prefix("mut ").unwrap_or(name).trim_start();
    if name.starts_with('[') {
        return "[]";
    }
    if name.starts_with('(') {
        return "()";
    }
    let path = name.split('<').next().unwrap_or_default();
    path.rsplit("::").next().unwrap_or_default().trim()
}
