//! R001: counters of attempts, retries and deliveries.

use crate::finding::Code;
use crate::lexicon::rule::{List, Rule, Scope, Topic};

/// Words that make a try a business fact, or a bound on tries rather than their number.
const BUSINESS: List =
    "exam, quiz, test, assessment, question, exercise, course, max, min, maximum, allowed, limit";

pub(super) const TOPIC: Topic = Topic {
    code: Code::R001,
    category: None,
    neutral_tails: "\
        count, counter, cnt, number, num, no, nr, n, index, idx, seq, ordinal, total, made, used, left, \
        remaining, done, length, len, size, suffix, tag, label, str",
    rules: &[
        Rule {
            scope: Scope::Unless(BUSINESS),
            phrases: "\
                attempt, attempts, reattempt, reattempts, retry, retries, retried, retrying, try, tries, \
                redelivery, redeliveries, redelivered, redrive, redrives, retransmission, retransmissions, \
                resend, resends, resent, rerun, reruns, requeue, requeues, requeued, versuch, versuche, \
                wiederholung, wiederholungen, tentativa, tentativas, retentativa, retentativas, intento, \
                intentos, reintento, reintentos, essai, essais, tentatives, numero tentative, num tentative, \
                tentativo, tentativi, poging, pogingen, próba, proba, próby, försök, forsok, попытка, \
                попытки",
        },
        Rule {
            scope: Scope::Anywhere,
            phrases: "\
                attempt count, retry count, delivery count, receive count, dequeue count, dispatch count, \
                claim count, execution count, invocation count, send count, restart count, failure count, \
                failures count, error count, failed count, fail count, failures, deliveries, \
                deliveries so far, failures so far, attempts so far, tries so far, retries so far, \
                times delivered, times tried, times received, times sent, times executed, num delivered, \
                num deliveries, executions, delivery tag, receipt handle",
        },
        // NATS counts per consumer: another number for each delivery of one message.
        Rule { scope: Scope::Of("sequence, seq"), phrases: "consumer" },
        Rule { scope: Scope::Of("consumer"), phrases: "sequence, seq" },
    ],
    why: "counts attempts, so every retry would carry another key and nothing would be deduplicated",
    help: "to read the attempt, take a `ctx: ratchet::Context` and call `ctx.attempt()`",
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

/// What an engine says of the run that is under way. A `run_id` alone is most often the id of a record, such as a payroll
/// run, and that of a scheduler's run stays the same while it is repeated.
pub(super) const RUNS: Topic = Topic {
    code: Code::R001,
    category: None,
    neutral_tails: "value, str, string",
    rules: &[Rule {
        scope: Scope::Of("workflow info, workflow execution, workflow context, activity info, temporal"),
        phrases: "run id, workflow run id",
    }],
    why: "is another one for each run of the workflow, so a run that is begun again would repeat what is done",
    help: "name the id of the workflow, or of the record that it is about",
};
