-- Whether the store takes work or is one end of a move, in one row. Where it does not take all work, triggers named
-- `ratchet_guard_…` refuse the rest of it to every program; an open store has none, so nobody pays for them.
CREATE TABLE ratchet_standing (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    -- open, draining, frozen, moved, filling.
    stands TEXT NOT NULL,
    -- The whole of it as JSON.
    facts TEXT NOT NULL,
    -- True only inside the transaction that carries a batch in, whose rows the triggers let through: nobody else sees it.
    importing INTEGER NOT NULL DEFAULT 0
) STRICT;

INSERT INTO ratchet_standing VALUES (1, 'open', '{"stands":"open"}', 0);
