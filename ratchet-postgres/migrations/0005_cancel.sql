-- Cancel from any language, in the caller's own transaction: as the command `Cancel` of `ratchet_core::decide`.

CREATE TYPE ratchet.cancelled AS (
    -- stopped: nothing of it will run. requested: the worker that executes it is told to stop. refused: it is settled in
    -- another way. no_record: there is none, or only a tombstone.
    answer text,
    -- In which it is now; NULL without a record.
    state text
);

-- A moment moved into the future by a span as policies write it; at the end of time if there is no later one.
CREATE FUNCTION ratchet.later(moment bigint, span jsonb) RETURNS bigint LANGUAGE sql IMMUTABLE STRICT AS $$
    SELECT least(moment + CASE jsonb_typeof(span) WHEN 'number' THEN span::numeric
            ELSE floor((span ->> 'secs')::numeric * 1000 + (span ->> 'nanos')::numeric / 1000000) END,
        9223372036854775807)::bigint
$$;

-- The end of a cancelled record that nobody executes. What may have had its effect waits for somebody to find out.
CREATE FUNCTION ratchet.stop(number bigint, now bigint) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    policy CONSTANT text := (SELECT r.policy FROM ratchet.records AS r WHERE r.id = number);
    may_be_applied CONSTANT boolean :=
        EXISTS (SELECT FROM ratchet.progress AS p WHERE p.record_id = number AND p.may_be_applied)
        OR EXISTS (SELECT FROM ratchet.steps AS s WHERE s.record_id = number AND s.may_be_applied);
    became CONSTANT text := CASE WHEN may_be_applied THEN 'uncertain' ELSE 'cancelled' END;
BEGIN
    UPDATE ratchet.progress AS p SET state = became, settled_at = now, cancel_requested = true,
            uncertainty = CASE became WHEN 'uncertain' THEN 'cancelled' END,
            reconcile_at = CASE WHEN became = 'uncertain' AND (policy::jsonb ->> 'reconciles')::boolean
                THEN coalesce(ratchet.later(now, policy::jsonb -> 'reconcile_after'), now) END,
            purge_at = CASE became WHEN 'cancelled' THEN ratchet.later(now, policy::jsonb -> 'retention') END,
            -- A lease is superseded, so that its holder cannot start any more.
            token = p.token + CASE p.state WHEN 'running' THEN 1 ELSE 0 END,
            lease_until = NULL
        WHERE p.record_id = number;
    RETURN became;
END $$;

-- Starts nothing more of the newest record under a key, or of one generation. It is not a rollback.
CREATE FUNCTION ratchet.cancel(operation text, key text, by text, reason text, namespace text DEFAULT 'default',
    generation bigint DEFAULT NULL)
RETURNS ratchet.cancelled LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
DECLARE
    nth CONSTANT bigint := coalesce(generation, ((ratchet.newest(namespace, operation, key, NULL)).found).generation);
    was record;
    became text;
    now bigint;
BEGIN
    PERFORM ratchet.require_words(by, reason);
    SELECT p.record_id, p.state, p.attempt_started_at INTO was
        FROM ratchet.records AS r JOIN ratchet.progress AS p ON p.record_id = r.id
        WHERE r.namespace = cancel.namespace AND r.operation = cancel.operation AND r.key = cancel.key
            AND r.generation = nth
        FOR UPDATE OF p;
    now := ratchet.now_in_milliseconds();
    IF NOT FOUND THEN
        RETURN ROW('no_record', NULL::text)::ratchet.cancelled;
    ELSIF was.state = 'cancelled' THEN
        RETURN ROW('stopped', was.state)::ratchet.cancelled;
    ELSIF was.state NOT IN ('waiting', 'pending', 'running') THEN
        RETURN ROW('refused', was.state)::ratchet.cancelled;
    ELSIF was.state = 'running' AND was.attempt_started_at IS NOT NULL THEN
        UPDATE ratchet.progress SET cancel_requested = true WHERE record_id = was.record_id;
        became := was.state;
    ELSE
        became := ratchet.stop(was.record_id, now);
    END IF;
    PERFORM ratchet.note(was.record_id, now, by, 'cancel', reason, was.state, became);
    RETURN ROW(CASE became WHEN 'running' THEN 'requested' ELSE 'stopped' END, became)::ratchet.cancelled;
END $$;

-- Only the owner of the schema, and whom it grants them to.
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA ratchet FROM PUBLIC;
