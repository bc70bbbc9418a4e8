-- Enqueue, look up and cancel from any language, in the caller's own transaction.
--
-- They decide as `ratchet_core::decide` does, whose answers the tests compare with theirs. Those that touch tables run with
-- the rights of the schema's owner, so that a producer needs none on any table.

-- What the code says about each version of an operation: a worker that starts writes it down, and so does a program that
-- only declares. The last one counts.
CREATE TABLE ratchet.declarations (
    priority smallint NOT NULL,
    operation text COLLATE "C" NOT NULL,
    version text COLLATE "C" NOT NULL,
    queue text COLLATE "C" NOT NULL,
    template text COLLATE "C" NOT NULL,
    policy text COLLATE "C" NOT NULL,
    contract text COLLATE "C" NOT NULL,
    -- What the fingerprint leaves out, as `ratchet.canonical_without` reads it.
    volatile text COLLATE "C" NOT NULL,
    -- How JSON writes the values of the placeholders, as `ratchet.render_key` reads it.
    forms text COLLATE "C" NOT NULL,
    -- How many of its attempts run at once; NULL if there is no limit.
    concurrency bigint,
    PRIMARY KEY (operation, version)
);

-- What a producer is told.
CREATE TYPE ratchet.submitted AS (
    -- new, existing, conflict or expired.
    answer text,
    -- pending, running, succeeded, failed, exhausted, uncertain, cancelled, abandoned; NULL in a conflict.
    state text,
    result json,
    -- The version that the record was made for.
    version text,
    generation bigint,
    key text,
    -- Why it conflicts: other_input, not_ended or not_newest.
    reason text,
    -- When what is expired ended.
    ended_on timestamptz
);

CREATE FUNCTION ratchet.refuse_argument(message text, hint text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '%', message USING ERRCODE = 'RT005', HINT = hint;
END $$;

CREATE FUNCTION ratchet.now_in_milliseconds() RETURNS bigint LANGUAGE sql VOLATILE AS $$
    SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint
$$;

-- Adds to the audit trail, whose free text has two backslashes for one.
CREATE FUNCTION ratchet.note(number bigint, at bigint, by text, action text, reason text, was text, became text)
RETURNS void LANGUAGE sql AS $$
    INSERT INTO ratchet.audit (record_id, at, by, action, reason, from_state, to_state)
    VALUES (number, note.at, replace(note.by, '\', '\\'), note.action, replace(note.reason, '\', '\\'), was, became)
$$;

CREATE FUNCTION ratchet.require_words(by text, reason text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF by IS NULL OR reason IS NULL THEN
        PERFORM ratchet.refuse_argument('`by` and `reason` are missing',
            'Say who asks for it and why: both are written to the audit trail.');
    END IF;
END $$;

CREATE FUNCTION ratchet.declaration(of_operation text, of_version text) RETURNS ratchet.declarations
LANGUAGE plpgsql STABLE AS $$
DECLARE
    declared ratchet.declarations;
BEGIN
    SELECT d.* INTO declared FROM ratchet.declarations AS d WHERE d.operation = of_operation AND d.version = of_version;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'nobody has declared version % of the operation %',
            quote_nullable(of_version), quote_nullable(of_operation) USING ERRCODE = 'RT004',
            DETAIL = coalesce((SELECT 'Declared versions: ' || string_agg(d.version, ', ' ORDER BY d.version)
                FROM ratchet.declarations AS d WHERE d.operation = of_operation), 'No version of it is declared.'),
            HINT = 'Start a worker of this version once, or call `Client::declare` in a step of the deployment.';
    END IF;
    RETURN declared;
END $$;

-- The key that an operation gives to an input.
CREATE FUNCTION ratchet.key(operation text, version text, input json) RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT ratchet.render_key(d.template, input, d.forms::jsonb) FROM ratchet.declaration(operation, version) AS d
$$;

-- The newest record under a key, or what is left of it; NULL if there is none.
CREATE FUNCTION ratchet.newest(in_namespace text, of_operation text, of_key text, of_generation bigint,
    OUT found ratchet.submitted, OUT fingerprint bytea) LANGUAGE sql STABLE AS $$
    SELECT ROW(CASE WHEN p.record_id IS NULL THEN 'expired' ELSE 'existing' END, coalesce(p.state, r.ended_as),
            p.result::json, r.version, r.generation, r.key, NULL,
            to_timestamp(r.ended_at / 1000.0))::ratchet.submitted, r.fingerprint
    FROM (SELECT n.* FROM ratchet.records AS n
        WHERE n.namespace = in_namespace AND n.operation = of_operation AND n.key = of_key
            AND (of_generation IS NULL OR n.generation = of_generation)
        ORDER BY n.generation DESC LIMIT 1) AS r
    LEFT JOIN ratchet.progress AS p ON p.record_id = r.id
$$;

-- What a submission is told, given the newest record under its key; NULL if a record is to be made. `after` is the
-- generation that a new one should follow, or NULL.
CREATE FUNCTION ratchet.decide_submission(newest ratchet.submitted, its_fingerprint bytea, wanted_version text,
    wanted_fingerprint bytea, after bigint) RETURNS ratchet.submitted LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    IF newest.generation IS NULL THEN
        RETURN CASE WHEN after IS NOT NULL THEN ratchet.conflict('not_newest') END;
    ELSIF after IS NULL OR newest.generation = after + 1 THEN
        -- Another version may write the same action differently, so fingerprints are compared within one version only.
        RETURN CASE WHEN newest.version = wanted_version AND its_fingerprint <> wanted_fingerprint
            THEN ratchet.conflict('other_input') ELSE newest END;
    ELSIF newest.generation <> after THEN
        RETURN ratchet.conflict('not_newest');
    ELSIF newest.state NOT IN ('succeeded', 'failed', 'exhausted', 'cancelled', 'skipped') THEN
        RETURN ratchet.conflict('not_ended');
    END IF;
    RETURN NULL;
END $$;

CREATE FUNCTION ratchet.conflict(why text) RETURNS ratchet.submitted LANGUAGE sql IMMUTABLE AS $$
    SELECT ROW('conflict', NULL, NULL, NULL, NULL, NULL, why, NULL)::ratchet.submitted
$$;

-- Makes a record unless its identity is taken, and wakes a worker with the commit. NULL if it is taken.
CREATE FUNCTION ratchet.insert_record(declared ratchet.declarations, in_namespace text, wanted text, nth bigint,
    canonical text, fingerprint bytea, earliest bigint, urgency smallint, in_queue text, place_in_trace text,
    OUT number bigint, OUT made_at bigint)
LANGUAGE plpgsql AS $$
BEGIN
    made_at := ratchet.now_in_milliseconds();
    INSERT INTO ratchet.records (id, namespace, operation, key, generation, version, fingerprint, priority, queue,
            created_at, not_before, policy, contract, input, trace)
        VALUES (nextval('ratchet.records_id'), in_namespace, declared.operation, wanted, nth, declared.version,
            insert_record.fingerprint, urgency, in_queue, made_at, greatest(earliest, made_at), declared.policy,
            declared.contract, canonical, place_in_trace)
        ON CONFLICT DO NOTHING RETURNING id INTO number;
    IF number IS NOT NULL THEN
        INSERT INTO ratchet.progress (record_id, ready_at, priority, namespace, queue, operation, version)
            VALUES (number, greatest(earliest, made_at), urgency, in_namespace, in_queue, declared.operation,
                declared.version);
        -- Whoever made it, all listeners are told.
        PERFORM pg_notify('ratchet_due', '');
    END IF;
END $$;

-- The key of an input, after a look at everything that may be wrong with the arguments. The marks of the identity count
-- towards the limit of the key.
CREATE FUNCTION ratchet.checked_key(declared ratchet.declarations, input json, in_namespace text, in_queue text, urgency int,
    after bigint) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
    key CONSTANT text := ratchet.render_key(declared.template, input, declared.forms::jsonb);
BEGIN
    IF input IS NULL THEN
        PERFORM ratchet.refuse_argument('the input is missing', 'Pass a JSON document.');
    ELSIF (in_namespace ~ '^[a-z0-9_.-]{1,64}$') IS NOT TRUE THEN
        PERFORM ratchet.refuse_argument('the namespace is refused',
            'It has 1 to 64 characters of a-z, 0-9, `_`, `.` and `-`.');
    ELSIF (in_queue ~ '^[a-z0-9_.-]{1,64}$') IS NOT TRUE THEN
        PERFORM ratchet.refuse_argument('the queue is refused',
            'It has 1 to 64 characters of a-z, 0-9, `_`, `.` and `-`.');
    ELSIF urgency NOT BETWEEN -32768 AND 32767 THEN
        PERFORM ratchet.refuse_argument('the priority is refused', 'It is from -32768 to 32767.');
    ELSIF after NOT BETWEEN 1 AND 4294967294 THEN
        PERFORM ratchet.refuse_argument('`new_generation_after` is refused',
            'Generations are counted from 1: name the newest one.');
    END IF;
    PERFORM ratchet.check_key_length(ratchet.marked_key(key, coalesce(after, 1) + 1)
        || CASE in_namespace WHEN 'default' THEN '' ELSE '@' || in_namespace END);
    RETURN key;
END $$;

-- What a `traceparent` of the W3C Trace Context names, as `TraceParent` reads and writes it; NULL for anything else, since a
-- broken header is no reason to lose an order. Later versions begin like this one.
CREATE FUNCTION ratchet.place_in_trace(traceparent text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT '00-' || substr(traceparent, 4, 52)
    WHERE traceparent ~ '^(00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}|(?!00|ff)[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}(-.*)?)$'
        AND substr(traceparent, 4, 32) ~ '[1-9a-f]' AND substr(traceparent, 37, 16) ~ '[1-9a-f]'
$$;

-- Puts an intended action on record: one record per key, however many callers ask at once.
CREATE FUNCTION ratchet.enqueue(operation text, version text, input json, namespace text DEFAULT 'default',
    not_before timestamptz DEFAULT NULL, priority int DEFAULT NULL, queue text DEFAULT NULL,
    new_generation_after bigint DEFAULT NULL, by text DEFAULT NULL, reason text DEFAULT NULL,
    traceparent text DEFAULT NULL)
RETURNS ratchet.submitted LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
DECLARE
    declared CONSTANT ratchet.declarations := ratchet.declaration(operation, version);
    waits_in CONSTANT text := coalesce(queue, declared.queue);
    wanted CONSTANT text := ratchet.checked_key(declared, input, namespace, waits_in, priority,
        new_generation_after);
    canonical CONSTANT text := ratchet.canonical(input);
    fingerprint CONSTANT bytea := CASE declared.volatile WHEN '[]' THEN sha256(convert_to(canonical, 'UTF8'))
        ELSE ratchet.fingerprint(input, declared.volatile::jsonb) END;
    earliest CONSTANT bigint := floor(extract(epoch FROM not_before) * 1000)::bigint;
    newest record;
    told ratchet.submitted;
    made record;
BEGIN
    -- Whoever was faster may roll back, so it is decided anew after each failure to insert.
    FOR attempt IN 1..10 LOOP
        IF new_generation_after IS NOT NULL THEN
            PERFORM ratchet.require_words(by, reason), ratchet.hold(namespace, operation, wanted);
        END IF;
        SELECT * INTO newest FROM ratchet.newest(namespace, operation, wanted, NULL);
        told := ratchet.decide_submission(newest.found, newest.fingerprint, version, fingerprint, new_generation_after);
        IF told.answer IS NULL THEN
            SELECT * INTO made FROM ratchet.insert_record(declared, namespace, wanted,
                coalesce(new_generation_after, 0) + 1, canonical, fingerprint, earliest,
                coalesce(priority, declared.priority)::smallint, waits_in, ratchet.place_in_trace(traceparent));
            CONTINUE WHEN made.number IS NULL;
            IF new_generation_after IS NOT NULL THEN
                PERFORM ratchet.note(made.number, made.made_at, by, 'new_generation', reason, (newest.found).state,
                    'pending');
            END IF;
            told := ROW('new', 'pending', NULL, version, coalesce(new_generation_after, 0) + 1, NULL, NULL, NULL);
        END IF;
        told.key := wanted;
        RETURN told;
    END LOOP;
    RAISE EXCEPTION 'other transactions came first again and again' USING ERRCODE = 'serialization_failure',
        HINT = 'Run the transaction again.';
END $$;

-- Keeps the records under a key from being opened again while it is decided whether another generation may follow.
CREATE FUNCTION ratchet.hold(in_namespace text, of_operation text, of_key text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM p.record_id FROM ratchet.records AS r JOIN ratchet.progress AS p ON p.record_id = r.id
        WHERE r.namespace = in_namespace AND r.operation = of_operation AND r.key = of_key
        ORDER BY p.record_id FOR UPDATE OF p;
END $$;

-- How the newest record under a key stands, or that of one generation: no row if there is none.
CREATE FUNCTION ratchet.state(operation text, key text, namespace text DEFAULT 'default', generation bigint DEFAULT NULL)
RETURNS SETOF ratchet.submitted LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
    SELECT (n.found).* FROM ratchet.newest(namespace, operation, key, generation) AS n WHERE n.found IS DISTINCT FROM NULL
$$;
