-- The first schema. Times are milliseconds since the Unix epoch. Columns hold what a query or an operator asks for;
-- snapshots and facts that are only ever read whole are JSON in columns of type `text`: `jsonb` would write it anew, and
-- refuses \u0000.

-- What was asked for. A row is never deleted and keeps its identity taken for ever: what is purged loses its input and
-- becomes a tombstone, so that no moment exists in which a late duplicate finds nothing.
CREATE TABLE ratchet.records (
    -- Taken from its sequence by the statement that inserts, in the order of the submissions: a listing goes by it.
    id bigint PRIMARY KEY,
    created_at bigint NOT NULL,
    not_before bigint NOT NULL,
    -- When a record that is a tombstone now reached the state in `ended_as`; NULL for all others.
    ended_at bigint,
    generation bigint NOT NULL,
    priority smallint NOT NULL,
    namespace text COLLATE "C" NOT NULL,
    operation text COLLATE "C" NOT NULL,
    queue text COLLATE "C" NOT NULL DEFAULT 'default',
    key text COLLATE "C" NOT NULL,
    version text COLLATE "C" NOT NULL,
    fingerprint bytea NOT NULL,
    ended_as text COLLATE "C",
    policy text COLLATE "C",
    contract text COLLATE "C",
    input text COLLATE "C",
    -- The group, and what the record comes after, as JSON; NULL for most.
    group_id text COLLATE "C",
    comes_after text COLLATE "C",
    -- Where in which trace it was asked for (W3C Trace Context).
    trace text COLLATE "C"
);

CREATE SEQUENCE ratchet.records_id OWNED BY ratchet.records.id;

-- The key first, by which most entries differ: what comes before it is compared in vain.
CREATE UNIQUE INDEX records_identity ON ratchet.records (key, operation, namespace, generation);

CREATE INDEX records_group ON ratchet.records (namespace, group_id, id) WHERE group_id IS NOT NULL;

-- What became of it so far: the part that changes, kept apart and narrow, since PostgreSQL writes a changed row anew.
-- A tombstone has none.
CREATE TABLE ratchet.progress (
    record_id bigint PRIMARY KEY,
    ready_at bigint NOT NULL,
    token bigint NOT NULL DEFAULT 0,
    attempts bigint NOT NULL DEFAULT 0,
    spent bigint NOT NULL DEFAULT 0,
    -- There is a lease while this is not NULL: that of the latest attempt.
    lease_until bigint,
    first_started_at bigint,
    reconcile_at bigint,
    settled_at bigint,
    -- When a tombstone may take its place; NULL while it must stay.
    purge_at bigint,
    -- The record that this one comes after; NULL for most.
    after_id bigint,
    -- The latest attempt, which most records end with. The next one moves it to `attempts`.
    attempt_token bigint,
    attempt_leased_at bigint,
    attempt_started_at bigint,
    attempt_ended_at bigint,
    priority smallint NOT NULL,
    may_be_applied boolean NOT NULL DEFAULT false,
    cancel_requested boolean NOT NULL DEFAULT false,
    risk_accepted boolean NOT NULL DEFAULT false,
    has_steps boolean NOT NULL DEFAULT false,
    attempt_late boolean,
    state text COLLATE "C" NOT NULL DEFAULT 'pending',
    namespace text COLLATE "C" NOT NULL,
    operation text COLLATE "C" NOT NULL,
    version text COLLATE "C" NOT NULL,
    queue text COLLATE "C" NOT NULL DEFAULT 'default',
    attempt_worker text COLLATE "C",
    attempt_outcome text COLLATE "C",
    attempt_cause text COLLATE "C",
    uncertainty text COLLATE "C",
    pin text COLLATE "C",
    cause text COLLATE "C",
    result text COLLATE "C"
) WITH (
    fillfactor = 70,
    -- Every record leaves a few dead rows behind, and a claim passes by those of its part of the index.
    autovacuum_vacuum_scale_factor = 0.02,
    autovacuum_vacuum_threshold = 2000,
    autovacuum_vacuum_cost_delay = 0
);

-- Claims: one seek per queue, operation, version and priority, whatever else waits. Their four names are one number here,
-- which is quicker to compare; whoever reads compares the names too, since others may have the same number.
CREATE INDEX progress_pending ON ratchet.progress (
        hashtextextended(version, hashtextextended(queue, hashtextextended(operation, hashtextextended(namespace, 0)))),
        priority, ready_at, record_id
    ) WHERE state = 'pending';

-- What runs: counted for operations that have a limit, and looked through once in a while for leases that are over.
CREATE INDEX progress_leased ON ratchet.progress (namespace, operation, lease_until) WHERE state = 'running';

-- What waits for the end of another record: all of it in turn, and what waits for one.
CREATE INDEX progress_waiting ON ratchet.progress (record_id) WHERE state = 'waiting';
CREATE INDEX progress_followers ON ratchet.progress (after_id, record_id) WHERE state = 'waiting';

CREATE INDEX progress_purgeable ON ratchet.progress (purge_at) WHERE purge_at IS NOT NULL;

CREATE INDEX progress_to_reconcile ON ratchet.progress (reconcile_at) WHERE reconcile_at IS NOT NULL;

-- What operators look for; rare enough to cost the usual record nothing.
CREATE INDEX progress_attention ON ratchet.progress (namespace, state, record_id)
    WHERE state IN ('failed', 'exhausted', 'uncertain', 'abandoned');

CREATE TABLE ratchet.steps (
    record_id bigint NOT NULL,
    first_started_at bigint,
    may_be_applied boolean NOT NULL,
    reconciles boolean NOT NULL,
    name text COLLATE "C" NOT NULL,
    state text COLLATE "C" NOT NULL,
    pin text COLLATE "C",
    contract text COLLATE "C" NOT NULL,
    result text COLLATE "C",
    PRIMARY KEY (record_id, name)
) WITH (fillfactor = 70);

-- Attempts that others followed.
CREATE TABLE ratchet.attempts (
    record_id bigint NOT NULL,
    token bigint NOT NULL,
    leased_at bigint NOT NULL,
    started_at bigint,
    ended_at bigint,
    late boolean,
    worker text COLLATE "C" NOT NULL,
    version text COLLATE "C" NOT NULL,
    outcome text COLLATE "C",
    cause text COLLATE "C",
    PRIMARY KEY (record_id, token)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);

-- The words of people (`by`, `reason`) may hold a zero byte, which `text` cannot: it is written as \0 there, and a
-- backslash as two.
CREATE TABLE ratchet.audit (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    record_id bigint NOT NULL,
    at bigint NOT NULL,
    by text COLLATE "C" NOT NULL,
    action text COLLATE "C" NOT NULL,
    reason text COLLATE "C" NOT NULL,
    from_state text COLLATE "C" NOT NULL,
    to_state text COLLATE "C" NOT NULL
);

CREATE INDEX audit_record ON ratchet.audit (record_id);

-- Every key template that was accepted for an operation: one stays accepted beside those after it. Zero bytes and
-- backslashes are written as in the audit trail.
CREATE TABLE ratchet.templates (
    -- Grows in the order in which they were accepted.
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    operation text COLLATE "C" NOT NULL,
    template text COLLATE "C" NOT NULL,
    -- Why the template differs from those before it; NULL for the first.
    new_identity text COLLATE "C"
);

CREATE INDEX templates_operation ON ratchet.templates (operation);

-- What is not shown of the inputs of an operation and version: a JSON list of paths, each a list of field names.
CREATE TABLE ratchet.hidden (
    operation text COLLATE "C" NOT NULL,
    version text COLLATE "C" NOT NULL,
    paths text COLLATE "C" NOT NULL,
    PRIMARY KEY (operation, version)
);
