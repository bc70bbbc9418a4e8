//! R001: counters of attempts, retries and deliveries.

use crate::finding::Code;
use crate::lexicon::rule::{List, Rule, Scope, Topic};

/// Words that make a try a business fact, or a bound on tries rather than their number.
const BUSINESS: List = "exam, quiz, test, assessment, max, min, maximum, allowed";

pub(super) const TOPIC: Topic = Topic {
    code: Code::R001,
    category: None,
    neutral_tails: "\
        count, counter, number, num, no, nr, n, index, idx, seq, made, used, left, remaining, str",
    rules: &[
        Rule {
            scope: Scope::Unless(BUSINESS),
            phrases: "\
                attempt, attempts, reattempt, reattempts, retry, retries, retried, try, tries, redelivery, \
                redeliveries, redelivered, retransmission, retransmissions, versuch, versuche, tentativa, \
                tentativas, intento, intentos",
        },
        Rule {
            scope: Scope::Anywhere,
            phrases: "\
                attempt count, retry count, delivery count, receive count, failure count, error count, \
                deliveries so far, failures so far, attempts so far, tries so far, retries so far, \
                times delivered, times tried, times received, num delivered, failed count",
        },
    ],
    why: "counts attempts, so every retry would carry another key and nothing would be deduplicated",
    help: "the handler can read the attempt from `ctx.attempt()`",
};

/// Tokens that fence one attempt off from the next: no credentials, and new each time.
pub(super) const TOKENS: Topic = Topic {
    code: Code::R001,
    category: None,
    neutral_tails: "value, str, string, number",
    rules: &[Rule { scope: Scope::Of("fencing, lease, attempt"), phrases: "token" }],
    why: "is another one for each attempt, so every retry would carry another key and nothing would be deduplicated",
    help: "the handler can read it from `ctx.token()`",
};
