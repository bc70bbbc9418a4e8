-- The first schema. Times are milliseconds since the Unix epoch. Columns hold what a query or an operator asks for;
-- snapshots and facts that are only ever read whole are JSON.

-- Policies with contracts, as a JSON list of the two: nearly all records have those of many others. A row never changes,
-- and stays.
CREATE TABLE ratchet_terms (
    -- AUTOINCREMENT: a number that came back would give records the policy of others.
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    terms TEXT NOT NULL UNIQUE
) STRICT;

CREATE TABLE ratchet_records (
    -- AUTOINCREMENT: a listing goes by this number, so a purged record's number must never come back.
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    namespace TEXT NOT NULL,
    operation TEXT NOT NULL,
    key TEXT NOT NULL,
    -- The first one of a key stays until all of them are a tombstone: new keys are recognised by it.
    generation INTEGER NOT NULL,
    version TEXT NOT NULL,
    fingerprint BLOB NOT NULL,
    queue TEXT NOT NULL,
    priority INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    state TEXT NOT NULL,
    ready_at INTEGER NOT NULL,
    token INTEGER NOT NULL DEFAULT 0,
    lease_worker TEXT,
    lease_until INTEGER,
    lease_started_at INTEGER,
    attempts INTEGER NOT NULL DEFAULT 0,
    spent INTEGER NOT NULL DEFAULT 0,
    may_be_applied INTEGER NOT NULL DEFAULT 0,
    first_started_at INTEGER,
    pin TEXT,
    cancel_requested INTEGER NOT NULL DEFAULT 0,
    risk_accepted INTEGER NOT NULL DEFAULT 0,
    cause TEXT,
    uncertainty TEXT,
    reconcile_at INTEGER,
    settled_at INTEGER,
    -- When a tombstone may take its place; NULL while it must stay.
    purge_at INTEGER,
    -- 1 for what operators look for, otherwise NULL.
    attention INTEGER,
    -- The first attempt of a record with which all went as usual so far: by whom, and since when. The rest of it stands
    -- in other columns, and any other attempt in a row of its own.
    first_worker TEXT,
    first_leased_at INTEGER,
    result TEXT,
    -- The row of its policy and contract.
    terms INTEGER NOT NULL,
    input TEXT NOT NULL,
    -- Most records have neither: the group, and the record that it comes after, by its number and as JSON.
    group_id TEXT,
    after_id INTEGER,
    comes_after TEXT,
    -- Where in which trace it was asked for (W3C Trace Context).
    trace TEXT
) STRICT;

CREATE UNIQUE INDEX ratchet_records_identity ON ratchet_records (namespace, operation, key, generation);

-- Claims: one seek per queue, operation, version and priority, whatever else waits.
CREATE INDEX ratchet_records_pending ON ratchet_records (namespace, queue, operation, version, priority, ready_at)
    WHERE state = 'pending';

-- What runs: whose lease is over, and how many there are of an operation that has a limit.
CREATE INDEX ratchet_records_leased ON ratchet_records (lease_until, namespace, operation) WHERE state = 'running';

-- An index whose condition speaks of the state is looked at in each change of one, also where it holds nothing. So those
-- of few records have conditions of their own.
CREATE INDEX ratchet_records_purgeable ON ratchet_records (purge_at) WHERE purge_at IS NOT NULL;

CREATE INDEX ratchet_records_to_reconcile ON ratchet_records (reconcile_at) WHERE reconcile_at IS NOT NULL;

CREATE INDEX ratchet_records_attention ON ratchet_records (namespace, state) WHERE attention IS NOT NULL;

CREATE INDEX ratchet_records_group ON ratchet_records (namespace, group_id) WHERE group_id IS NOT NULL;

-- What waits for the end of another record, or did.
CREATE INDEX ratchet_records_waiting ON ratchet_records (state) WHERE comes_after IS NOT NULL;
CREATE INDEX ratchet_records_followers ON ratchet_records (after_id, state) WHERE after_id IS NOT NULL;

CREATE TABLE ratchet_steps (
    record_id INTEGER NOT NULL,
    name TEXT NOT NULL,
    state TEXT NOT NULL,
    may_be_applied INTEGER NOT NULL,
    first_started_at INTEGER,
    pin TEXT,
    contract TEXT NOT NULL,
    reconciles INTEGER NOT NULL,
    result TEXT,
    PRIMARY KEY (record_id, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE ratchet_attempts (
    record_id INTEGER NOT NULL,
    token INTEGER NOT NULL,
    worker TEXT NOT NULL,
    version TEXT NOT NULL,
    leased_at INTEGER NOT NULL,
    started_at INTEGER,
    ended_at INTEGER,
    outcome TEXT,
    cause TEXT,
    late INTEGER,
    PRIMARY KEY (record_id, token)
) STRICT, WITHOUT ROWID;

CREATE TABLE ratchet_audit (
    id INTEGER PRIMARY KEY,
    record_id INTEGER NOT NULL,
    at INTEGER NOT NULL,
    by TEXT NOT NULL,
    action TEXT NOT NULL,
    reason TEXT NOT NULL,
    from_state TEXT NOT NULL,
    to_state TEXT NOT NULL
) STRICT;

CREATE INDEX ratchet_audit_record ON ratchet_audit (record_id);

CREATE TABLE ratchet_tombstones (
    namespace TEXT NOT NULL,
    operation TEXT NOT NULL,
    key TEXT NOT NULL,
    generation INTEGER NOT NULL,
    version TEXT NOT NULL,
    fingerprint BLOB NOT NULL,
    state TEXT NOT NULL,
    ended_at INTEGER NOT NULL,
    -- The number that the record had.
    place INTEGER NOT NULL,
    PRIMARY KEY (namespace, operation, key, generation)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX ratchet_tombstones_place ON ratchet_tombstones (place);

-- Every key template that was accepted for an operation: one stays accepted beside those after it.
CREATE TABLE ratchet_templates (
    -- Grows in the order in which they were accepted.
    id INTEGER PRIMARY KEY,
    operation TEXT NOT NULL,
    template TEXT NOT NULL,
    -- Why the template differs from those before it; NULL for the first.
    new_identity TEXT
) STRICT;

CREATE UNIQUE INDEX ratchet_templates_accepted ON ratchet_templates (operation, template);
