//! R003: random values.

use crate::finding::Code;
use crate::lexicon::rule::{Rule, Scope, Topic};

pub(super) const TOPIC: Topic = Topic {
    code: Code::R003,
    category: None,
    neutral_tails: "str, string, hex, bytes, value, v, suffix, number, num, int, digits, chars, part",
    rules: &[
        Rule {
            scope: Scope::Anywhere,
            phrases: "\
                random, rand, rnd, rng, salt, entropy, randomness, randstr, randhex, randint, zufall, \
                zufallszahl, zufallswert, aleatorio, aleatoria, aleatório, aleatoire, aléatoire, azar, \
                casuale, losowy, losowa, willekeurig, rastgele, случайное, random id, random key, \
                random uuid, random guid, random token, random seed, random name, random code, rand id, \
                new uuid, new guid, new ulid, fresh id, fresh uuid, fresh guid, fresh key, generated uuid, \
                correlation id, trace id, span id, traceparent, trace parent, nanoid, nano id, cache buster, \
                cachebuster, unique suffix",
        },
        // The nonce of an account on a chain is a number of its transactions.
        Rule {
            scope: Scope::Unless("account, wallet, chain, tx, transaction, signer, block"),
            phrases: "nonce",
        },
        // An `order_uuid` is a stored id; a bare `uuid` most often is not.
        Rule {
            scope: Scope::Alone,
            phrases: "\
                uuid, guid, ulid, uuidv, ksuid, shortid, short id, shortuuid, uniq, unique, uniqueness, \
                uniquifier",
        },
    ],
    why: "is a random value, so every attempt that draws it anew would carry another key and nothing would be \
          deduplicated",
    help: "name an id that is stored before the first attempt; if this value is such an id, name it after its \
           record (`<order_uuid>`) or write `allow(R003 = \"where it is stored\")`",
};
