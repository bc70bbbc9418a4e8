//! R002: clocks and the times of an attempt.

use crate::finding::Code;
use crate::lexicon::rule::{List, Rule, Scope, Topic};

/// Times that are part of the action itself, like a due date.
const BUSINESS: List = "\
    scheduled, due, starts, start, ends, end, expires, expiry, valid, slot, booking, period, departs, \
    departure, arrival, effective, planned, run, send, deliver, remind, next, renews, begins, opens, closes, \
    visit, appointment, meeting, pickup, reservation, look";

pub(super) const TOPIC: Topic = Topic {
    code: Code::R002,
    category: None,
    neutral_tails: "\
        ms, millis, milliseconds, ns, nanos, nano, us, micros, sec, secs, seconds, utc, iso, local, str, \
        string, unix, date, suffix",
    rules: &[
        Rule {
            scope: Scope::Anywhere,
            phrases: "\
                now, utcnow, todays date, current millis, current ms, current nanos, current seconds, \
                execution time, timestamp, timestamps, time stamp, datestamp, date stamp, date time stamp, \
                today, yesterday, tomorrow, epoch ms, epoch millis, epoch seconds, epoch secs, epoch nanos, \
                epoch micros, epoch time, unix time, unixtime, unix epoch, unix ms, unix seconds, \
                unix timestamp, posix time, current time, current date, current datetime, current date time, \
                current timestamp, current minute, current hour, current day, current week, current month, \
                current quarter, current year, next minute, next hour, previous hour, last hour, this hour, \
                system time, wall clock, wall time, server time, local time, system clock, clock time, \
                time bucket, minute bucket, hour bucket, day bucket, bucket start, window bucket, \
                time window, time slice, timeslice, receive time, received time, request time, create time, \
                created time, creation time, creation date, update time, updated time, modified time, \
                modification time, created date, updated date, modified date, created on, updated on, \
                modified on, sent on, sent time, send time, publish time, trigger time, fire time, log time, \
                last modified, last updated, last update, last seen, last sync, lastmod, mtime, ctime, \
                time millis, time ms, nanotime, nano time, yyyymmdd, yyyymmddhh, yyyymmddhhmm, \
                yyyymmddhhmmss, ymdhis, hhmm, hhmmss, jetzt, heute, zeitstempel, uhrzeit, ahora, hoy, \
                fecha actual, hora actual, marca de tiempo, maintenant, horodatage, agora, hoje, \
                carimbo de tempo, adesso, oggi, teraz, dzisiaj, сейчас, erstellt am, aktualisiert am, \
                criado em, atualizado em, creado en, actualizado en, fecha creacion, fecha hora, data hora",
        },
        // A logical clock counts versions.
        Rule { scope: Scope::Unless("vector, logical, lamport, hybrid"), phrases: "clock" },
        // The `ts` of a Slack message is its id.
        Rule { scope: Scope::Unless("thread, message, slack"), phrases: "ts" },
        Rule { scope: Scope::UnlessPart(BUSINESS), phrases: "* at" },
        Rule {
            scope: Scope::Alone,
            phrases: "\
                at, time, datetime, date time, instant, stamp, millis, nanos, micros, hour, minute, elapsed, \
                uptime",
        },
    ],
    why: "is a time, and a time taken anew on each attempt gives each attempt another key, so nothing would be \
          deduplicated",
    help: "name what the action is about, such as an id or a business period; if the time is stored with the record \
           before the first attempt, pass it as a number or a text, and write `allow(R002 = \"where it is stored\")`",
};
