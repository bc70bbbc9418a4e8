-- What `once` did, one row beside each effect and in one transaction with it.

CREATE TABLE ratchet.effects (
    generation bigint NOT NULL,
    -- The highest token that asked for it: lower ones are refused.
    token bigint NOT NULL,
    -- When the effect happened, by the worker's clock, in milliseconds since the Unix epoch.
    done_at bigint NOT NULL,
    namespace text COLLATE "C" NOT NULL,
    operation text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    -- The effect's name, after the name of its step and `!` where it is inside one.
    step text COLLATE "C" NOT NULL,
    -- What it left, as JSON; NULL only inside the transaction that makes it.
    result text COLLATE "C",
    PRIMARY KEY (namespace, operation, key, generation, step)
) WITH (fillfactor = 70);
