//! Expressions that give another value on every attempt, as they are written.

use proc_macro2::Delimiter;

use super::tokens::Scope;

/// A value that differs from one attempt to the next.
#[derive(Clone)]
pub(super) struct Source {
    /// How it is made, as it is written.
    pub(super) text: String,
    pub(super) why: &'static str,
}

const RANDOM: &str = "gives a new value on every attempt";
const CLOCK: &str = "gives another time on every attempt";
const COUNTER: &str = "counts the attempts";
const FENCE: &str = "is another one on every attempt";

/// Random values: a type or module, and its functions.
const RANDOM_PATHS: [(&str, &[&str]); 8] = [
    ("Uuid", &["new_v4", "new_v7", "now_v1", "now_v6", "now_v7"]),
    ("Ulid", &["new", "generate"]),
    ("Ksuid", &["new", "generate"]),
    ("ObjectId", &["new"]),
    ("rand", &["random", "random_bool", "random_iter", "random_range", "random_ratio", "rng", "thread_rng"]),
    (
        "fastrand",
        &[
            "alphabetic",
            "alphanumeric",
            "bool",
            "char",
            "choice",
            "digit",
            "f32",
            "f64",
            "i8",
            "i16",
            "i32",
            "i64",
            "i128",
            "isize",
            "lowercase",
            "u8",
            "u16",
            "u32",
            "u64",
            "u128",
            "uppercase",
            "usize",
        ],
    ),
    ("getrandom", &["u32", "u64"]),
    ("cuid2", &["create_id"]),
];

/// Readings of a clock.
const CLOCK_PATHS: [(&str, &[&str]); 9] = [
    ("Utc", &["now", "today"]),
    ("Local", &["now", "today"]),
    ("SystemTime", &["now"]),
    ("Instant", &["now"]),
    ("OffsetDateTime", &["now_utc", "now_local"]),
    ("UtcDateTime", &["now"]),
    ("DateTime", &["now"]),
    ("Timestamp", &["now"]),
    ("Zoned", &["now"]),
];

/// What `rng` is asked for.
const DRAWS: [&str; 7] =
    ["gen", "gen_range", "next_u32", "next_u64", "random", "random_bool", "random_range"];

/// The source that begins at `at`, and the place of its last name.
pub(super) fn path(scope: &Scope<'_>, at: usize) -> Option<(Source, usize)> {
    let name = scope.word(at)?;
    if let Some(found) = associated(scope, at, name) {
        return Some(found);
    }
    let imported = !scope.ends_path(at) && !scope.is_mark_back(at, 1, '.');
    let is_call = scope.has_group(at + 1, Delimiter::Parenthesis) || scope.is_path(at + 1);
    match name {
        "nanoid" if scope.is_mark(at + 1, '!') => Some((source("nanoid!".to_owned(), RANDOM), at)),
        "OsRng" => Some((source(name.to_owned(), RANDOM), at)),
        "random" | "thread_rng" if imported && is_call => Some((source(name.to_owned(), RANDOM), at)),
        "UNIX_EPOCH" if scope.is_mark(at + 1, '.') && scope.word(at + 2) == Some("elapsed") => {
            Some((source("UNIX_EPOCH.elapsed".to_owned(), CLOCK), at + 2))
        }
        _ => None,
    }
}

/// `Uuid::new_v4` and the like.
fn associated(scope: &Scope<'_>, at: usize, owner: &str) -> Option<(Source, usize)> {
    let function = scope.word(at + 3).filter(|_| scope.is_path(at + 1))?;
    let among = |paths: &[(&str, &[&str])]| {
        paths.iter().any(|(known, functions)| *known == owner && functions.contains(&function))
    };
    let why = if among(&RANDOM_PATHS) {
        RANDOM
    } else if among(&CLOCK_PATHS) {
        CLOCK
    } else {
        return None;
    };
    Some((source(format!("{owner}::{function}"), why), at + 3))
}

/// What differs between attempts of what the variable at `at` gives, if it is the context of the attempt.
pub(super) fn of_context(scope: &Scope<'_>, at: usize) -> Option<(Source, usize)> {
    let method = method(scope, at)?;
    let why = match method {
        "attempt" => COUNTER,
        "token" => FENCE,
        _ => return None,
    };
    Some((source(format!("{}.{method}", scope.word(at)?), why), at + 2))
}

/// A value that the variable at `at` draws, if it is a generator of random values.
pub(super) fn of_generator(scope: &Scope<'_>, at: usize) -> Option<(Source, usize)> {
    let name = scope.word(at).filter(|name| *name == "rng")?;
    let method = method(scope, at).filter(|method| DRAWS.contains(method))?;
    Some((source(format!("{name}.{method}"), RANDOM), at + 2))
}

/// The method that is called on the variable.
fn method<'a>(scope: &'a Scope<'_>, at: usize) -> Option<&'a str> {
    scope.word(at + 2).filter(|_| scope.is_mark(at + 1, '.'))
}

fn source(text: String, why: &'static str) -> Source {
    Source { text, why }
}
