//! What calls do, by the names under which the languages and their usual libraries know them.
//!
//! Names are compared without regard to case and underscores: `random_uuid` stands for `randomUUID` too.
//! What a name says by itself (`now`, `random_suffix`) is left to the lexicons.

use crate::lexicon::List;

/// Clocks that are read by a call, whatever it is called on.
pub(super) const CLOCK_FUNCTIONS: List = "\
    microtime, hrtime, nano_time, nanotime, time_ns, perf_counter, perf_counter_ns, monotonic, monotonic_ns, \
    monotonic_time, system_time, get_tick_count, get_tick_count64, tick_count64, localtime, gmtime, \
    elapsed_realtime, elapsed_realtime_nanos, uptime_millis, mach_absolute_time, clock_gettime, \
    gettimeofday, unix_timestamp, utc_timestamp, systimestamp, sysdate, getdate, current_time_millis, \
    current_millis, get_current_time, get_system_time, date_now, elapsed, time_since";

/// Clocks that are read by a call on nothing, without arguments or with a format.
pub(super) const BARE_CLOCKS: List = "\
    time, date, gmdate, idate, datetime, date_time, dayjs, moment, clock, current_date, curdate, curtime, \
    timestamp, instant, zoned_date_time, carbon";

/// Clocks as the last two names of a path, called or not: Ruby and C# read them like a field.
pub(super) const CLOCK_MEMBERS: List = "\
    time.current, date.current, datetime.current, time.time, time.clock, time.ctime, time.since, \
    environment.tick_count, environment.tick_count64, stopwatch.get_timestamp, os.time, os.clock, os.date, \
    erlang.timestamp, hrtime.bigint, sys.time, system.os_time, os.timestamp, datetime.local, datetime.utc, \
    moment.utc, dayjs.utc, process.clock_gettime";

/// Objects that are clocks: whatever is asked of them is a time.
pub(super) const CLOCKS: List = "\
    clock, clk, system_clock, wall_clock, time_provider, time_source, clock_provider, date_time_provider, \
    stopwatch";

/// What brings a time into a text by a format.
pub(super) const FORMATS: List = "strftime, format, to_string, date_format, dateformat, gmstrftime";

/// Sources of randomness: whatever is asked of them is random.
pub(super) const RANDOM_SOURCES: List = "\
    random, rand, rng, prng, csprng, secure_random, thread_local_random, thread_rng, os_rng, fastrand, \
    getrandom, faker, fake, chance, random_string_utils, random_utils, random_number_generator, randomstring";

/// Random values by the name of the function, whatever it is called on.
pub(super) const RANDOM_FUNCTIONS: List = "\
    random, rand, rnd, rng, mt_rand, lcg_value, random_int, random_bytes, random_uuid, random_uuidv7, \
    get_random_values, get_random_bytes, urandom, getrandom, rand_bytes, strong_rand_bytes, \
    openssl_random_pseudo_bytes, pseudo_random_bytes, arc4random, arc4random_uniform, getrandbits, randint, \
    randrange, randbelow, token_hex, token_urlsafe, token_bytes, rand_string, rand_str, randstr, random_hex, \
    random_alphanumeric, random_alphabetic, random_numeric, next_int, next_long, next_double, next_bytes, \
    next_u32, next_u64, gen_range, intn, int63, int31n, int63n, array_rand, random_element, thread_rng, \
    uniqid, unique_integer, make_ref, get_random_file_name, tmpnam, mktemp";

/// Ids of which each one is another, as nouns: what they are called on and with decides.
pub(super) const IDS: List = "\
    uuid, guid, ulid, nanoid, nano_id, cuid, ksuid, xid, tsid, typeid, type_id, uid, shortid, short_id, \
    shortuuid, short_uuid, object_id, bson_object_id, snowflake, snowflake_id, unique_id";

/// Ids that are drawn where they are named, whatever they are called on and with.
pub(super) const DRAWN_IDS: List = "\
    uuid1, uuid4, uuid6, uuid7, uuidv1, uuidv4, uuidv6, uuidv7, uuid_v1, uuid_v4, uuid_v6, uuid_v7, guidv4, \
    nanoid, cuid2, ksuid_new, hyperid, ordered_uuid, uuid_generate, uuid_generate_v4, v4, v7, \
    gen_random_uuid, new_object_id, generate_uuid4, wp_generate_uuid4, uuid_create, com_create_guid, \
    create_cuid";

/// Objects that draw ids.
pub(super) const ID_LIBRARIES: List = "\
    crypto, str, util, utils, helper, helpers, id_generator, idgen, id_gen, generator, id_factory, \
    uuidv4, uuidv6, uuidv7, uuid_generator, guid_generator, id_provider, new_id, sequential_guid, id_worker, sonyflake, uuids, \
    idutil, id_util, ulids, uuid_creator, ulid_creator, tsid_creator, friendly_id";

/// What an id library calls the drawing of one, after the name of the library.
pub(super) const DRAWS: List = "\
    new, new_v1, new_v4, new_v6, new_v7, now_v1, now_v6, now_v7, new_string, new_random, v1, v4, v6, v7, \
    generate, generate_v4, generate_v7, gen, create, create_v4, create_v7, create_version7, create_str, \
    make, must_new, must_new_default, next, next_id, next_val, random_based, time_based, time_ordered, \
    time_ordered_epoch, get_time_ordered, get_ulid, get_monotonic_ulid, bingenerate, autogenerate, \
    sequential, fast_uuid, simple_uuid";

/// Words before an id in the name of the function that draws it.
pub(super) const MAKING: List =
    "new, create, generate, gen, make, next, random, fresh, unique, short, tiny, must, draw, mint";

/// Nouns at the end of what such a function draws.
pub(super) const KEY_NOUNS: List = "id, key, token, code, ref, reference, suffix, nonce, name";

/// Words before anything in the name of a function that draws it, if there is nothing from which to compute it.
pub(super) const GENERATING: List = "generate, gen, random, fresh";

/// Ids that are computed from a value, so the same each time.
pub(super) const DERIVED_IDS: List = "\
    uuid3, uuid5, uuidv3, uuidv5, uuid_v3, uuid_v5, v3, v5, new_v3, new_v5, new_v8, new_md5, new_sha1";

/// Functions that read a field by its name, which is the text among the arguments.
pub(super) const READERS: List = "\
    get, fetch, header, headers, value, values, param, params, input, query, post, form_value, getenv, env, \
    attr, getattr, dig, field, prop, property, get_string, get_item, get_property, get_header, \
    get_parameter, get_field, get_value, get_attribute, get_param, get_int, get_long, get_text, opt_string, \
    at, item, cookie, arg, argument, read, lookup, pluck, pick, data_get, array_get, read_attribute, \
    get_first, header_value, get_str, get_claim, claim, query_param, column, get_or_default, try_get, \
    get_query, get_header_line";

/// Words before the name of what is read: `get_email()` is an email.
pub(super) const READING: List = "get, fetch, read, load, retrieve, resolve, extract, find, require";

/// Calls that leave a value what it is: text forms, case, cuts, digests, encodings, defaults.
pub(super) const CONVERSIONS: List = "\
    trim, trim_space, trim_start, trim_end, trim_prefix, trim_suffix, strip, lstrip, rstrip, chomp, squish, \
    lower, lowercase, to_lower, to_lower_case, to_lower_invariant, strtolower, downcase, casefold, upper, \
    uppercase, to_upper, to_upper_case, to_upper_invariant, strtoupper, upcase, capitalize, normalize, \
    sanitize, slugify, parameterize, to_string, string, str, strval, to_s, to_str, to_owned, as_str, \
    as_string, as_ref, clone, into, from, copied, cloned, unwrap, unwrap_or, unwrap_or_default, \
    unwrap_or_else, or_else, ok_or, expect, must, to_i, int, integer, parse_int, number, intval, floor, \
    ceil, round, abs, trunc, div, value_of, as_bytes, to_bytes, get_bytes, bytes, to_byte_array, encode, \
    decode, hex, hexdigest, to_hex, to_hex_string, encode_to_string, digest, finalize, update, sum, sum256, \
    hash, hash_hex, hash_code, md5, sha, sha1, sha256, sha384, sha512, sha256_hex, sha256_sum, md5_hex, \
    hmac, create_hash, create_hmac, compute_hash, hash_data, crc32, xxhash, blake2b, blake3, fingerprint, \
    stable_hash, checksum, hash_string, base64, b64encode, urlsafe_b64encode, to_base64, base64_encode, \
    btoa, encode64, strict_encode64, encode16, bin2hex, escape, encode_uri_component, url_encode, urlencode, \
    query_escape, path_escape, stringify, dumps, to_json, json_encode, serialize, marshal, format, sprintf, \
    concat, join, implode, slice, substring, substr, sub, left, right, truncate, take, drop, split, replace, \
    replace_all, gsub, tr, str_replace, preg_replace, first, last, chars, pad_start, pad_end, pad_left, \
    pad_right, zfill, rjust, ljust, repeat, reverse, simple, hyphenated, urn, parse, parse_str, try_parse, \
    from_string, from_str, of, coalesce, ifnull, nvl, get_or_else, or_empty, itoa, format_int, to_sym, \
    to_param, bigint, long_value, int_value, len, length, size, count";

/// Calls that give another form of a time. On anything that is no time they are names of their own.
pub(super) const TIME_FORMS: List = "\
    isoformat, to_iso_string, iso8601, rfc3339, to_rfc3339, strftime, timestamp, timestamp_millis, \
    timestamp_micros, timestamp_nanos, unix, unix_nano, unix_milli, unix_micro, unix_timestamp, to_unix, \
    to_unix_time_milliseconds, to_unix_time_seconds, to_epoch_milli, to_epoch_second, get_epoch_second, \
    get_time, get_timestamp, time, date, to_date, to_date_string, to_locale_date_string, utc, to_utc, in, \
    local, date_naive, naive_utc, ticks, start_of, end_of, beginning_of_day, beginning_of_month, \
    beginning_of_hour, to_instant, to_millis, year, month, day, hour, minute, get_year, get_month, get_date, \
    get_day, get_full_year, get_hours, duration_since, as_millis, as_secs, as_nanos, as_micros, \
    to_local_date, add, plus, minus, astimezone, in_time_zone, with_timezone, at_zone";

/// Forms that Ruby and Python read like a field.
pub(super) const FIELD_FORMS: List = "\
    to_s, to_i, to_f, to_date, iso8601, downcase, upcase, strip, squish, presence, hex, to_sym, to_param, \
    parameterize, ticks, hexdigest";

/// Words at the end of a name that make it a time or a date.
pub(super) const TIME_WORDS: List = "\
    date, time, at, day, on, start, end, deadline, now, timestamp, ts, today, minute, hour, week, month, \
    year, instant";

/// Modules and types on which a conversion is called, and which are not its value: `uuid.parse(id)`.
pub(super) const MODULES: List =
    "time, date, datetime, date_time, uuid, guid, ulid, object_id, instant, timestamp";

/// Names that count, without a word of what.
pub(super) const COUNTERS: List = "\
    i, j, k, n, x, c, no, nr, num, number, count, counter, idx, index, seq, value, current, iteration, \
    ordinal, it";

/// Words of a literal after which a counter counts attempts.
pub(super) const ATTEMPT_LITERALS: List = "\
    attempt, attempts, att, retry, retries, try, tries, redelivery, resend, rerun, reattempt, versuch, \
    intento, tentativa, tentative";

/// Values that are the same everywhere.
pub(super) const CONSTANTS: List = "true, false, null, none, nil, undefined, empty";

/// Modules and types whose calls on literals give the same each time, unless they are known to draw.
pub(super) const PURE_MODULES: List =
    "uuid, guid, ulid, object_id, hashlib, digest, crypto, base64, string, bytes";

/// Words of a literal that make what is sent to a person of the key.
pub(super) const MAIL_LITERALS: List = "\
    email, mail, sms, notify, notification, message, whatsapp, newsletter, welcome, invite, invitation, \
    reminder";

/// Whom it is sent to.
pub(super) const RECIPIENTS: List = "to, recipient, recipients, cc, bcc";
