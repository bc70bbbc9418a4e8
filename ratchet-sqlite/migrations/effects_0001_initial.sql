-- What `once` did, one row beside each effect and in one transaction with it.

CREATE TABLE ratchet_effects (
    namespace TEXT NOT NULL,
    operation TEXT NOT NULL,
    key TEXT NOT NULL,
    generation INTEGER NOT NULL,
    -- The effect's name, after the name of its step and `!` where it is inside one.
    step TEXT NOT NULL,
    -- The highest token that asked for it: lower ones are refused.
    token INTEGER NOT NULL,
    -- When the effect happened, by the worker's clock, in milliseconds since the Unix epoch.
    done_at INTEGER NOT NULL,
    -- What it left, as JSON; NULL only inside the transaction that makes it.
    result TEXT,
    PRIMARY KEY (namespace, operation, key, generation, step)
) STRICT, WITHOUT ROWID;
