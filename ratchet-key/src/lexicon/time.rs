//! R002: clocks and the times of an attempt.

use crate::finding::Code;
use crate::lexicon::rule::{List, Rule, Scope, Topic};

/// Times that are part of the action itself, like a due date.
const BUSINESS: List = "\
    scheduled, due, starts, start, ends, end, expires, expiry, valid, slot, booking, period, departs, \
    departure, arrival, effective, planned, look";

pub(super) const TOPIC: Topic = Topic {
    code: Code::R002,
    category: None,
    neutral_tails: "\
        ms, millis, milliseconds, ns, nanos, nano, us, micros, sec, secs, seconds, utc, iso, str, string, \
        unix",
    rules: &[
        Rule {
            scope: Scope::Anywhere,
            phrases: "\
                now, utcnow, todays date, current millis, current ms, execution time, timestamp, timestamps, ts, jetzt, ahora, maintenant, agora, adesso, today, epoch ms, \
                epoch millis, epoch seconds, epoch secs, epoch nanos, epoch micros, epoch time, unix time, \
                unixtime, unix epoch, unix ms, unix seconds, current time, current date, current datetime, \
                system time, wall clock, wall time, server time, clock, time bucket, hour bucket, \
                minute bucket, day bucket, current hour, current minute, receive time, received time, \
                request time, create time, created time, creation time, update time, updated time, \
                modified time, created date, updated date, modified date, created on, updated on, \
                modified on, sent on, last modified, last updated, last seen, time millis, time ms, \
                nanotime, nano time, yyyymmdd, hhmm, hhmmss",
        },
        Rule { scope: Scope::Unless(BUSINESS), phrases: "* at" },
        Rule { scope: Scope::Alone, phrases: "at, time, datetime, date time, instant" },
    ],
    why: "is a time, and a time taken anew on each attempt gives each attempt another key, so nothing would be \
          deduplicated",
    help: "name what the action is about, such as an id or a business date; if the time is stored with the record \
           before the first attempt, allow R002 with that reason",
};
