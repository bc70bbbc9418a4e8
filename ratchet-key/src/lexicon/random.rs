//! R003: random values.

use crate::finding::Code;
use crate::lexicon::rule::{Rule, Scope, Topic};

pub(super) const TOPIC: Topic = Topic {
    code: Code::R003,
    category: None,
    neutral_tails: "str, string, hex, bytes, value, v, suffix, number",
    rules: &[
        Rule {
            scope: Scope::Anywhere,
            phrases: "\
                random, rand, rnd, nonce, salt, entropy, zufall, zufallszahl, aleatorio, random id, \
                random key, random uuid, random token, random part, rand id, new uuid, new guid, new ulid, \
                fresh id, fresh uuid, correlation id, trace id, span id, nanoid",
        },
        // An `order_uuid` is a stored id; a bare `uuid` most often is not.
        Rule { scope: Scope::Alone, phrases: "uuid, guid, ulid" },
    ],
    why: "is a random value, so every attempt that draws it anew would carry another key and nothing would be \
          deduplicated",
    help: "name an id that is stored before the first attempt; if this value is such an id, name it after its \
           record (`<order_uuid>`) or allow R003 with that reason",
};
