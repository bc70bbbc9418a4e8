-- How far the store has come, in one row. What workers keep outside of the store is compared with it, so that a restored
-- backup is recognised.
CREATE TABLE ratchet_mark (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    -- When the store was made, or a restored backup was last acknowledged.
    epoch INTEGER NOT NULL,
    raised INTEGER NOT NULL,
    -- Since when workers hold back; NULL while they need not.
    held_since INTEGER
) STRICT;

INSERT INTO ratchet_mark VALUES (1, CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER), 0, NULL);

-- Who acknowledged that a backup was restored.
CREATE TABLE ratchet_acknowledgements (
    epoch INTEGER PRIMARY KEY,
    by TEXT NOT NULL,
    reason TEXT NOT NULL
) STRICT;

-- What the code says about each version of an operation; the last worker that started counts.
CREATE TABLE ratchet_declarations (
    operation TEXT NOT NULL,
    version TEXT NOT NULL,
    policy TEXT NOT NULL,
    contract TEXT NOT NULL,
    priority INTEGER NOT NULL,
    queue TEXT NOT NULL,
    volatile TEXT NOT NULL,
    -- How many of its attempts run at once; NULL if there is no limit.
    concurrency INTEGER,
    template TEXT NOT NULL,
    -- How JSON writes the values of the placeholders: for stores that make keys themselves, to which this one may move.
    forms TEXT NOT NULL,
    PRIMARY KEY (operation, version)
) STRICT, WITHOUT ROWID;
