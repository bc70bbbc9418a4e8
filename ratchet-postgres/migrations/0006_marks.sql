-- How far the store has come, in one row. What workers keep outside of the store is compared with it, so that a restored
-- backup is recognised. A plain column: it goes back with everything else, also in a logical dump, and stays what it is when
-- a standby is promoted, which positions in the log do not.
CREATE TABLE ratchet.mark (
    -- When the store was made, or a restored backup was last acknowledged.
    epoch bigint NOT NULL,
    raised bigint NOT NULL,
    -- Since when workers hold back; NULL while they need not.
    held_since bigint
) WITH (fillfactor = 10);

CREATE UNIQUE INDEX mark_single ON ratchet.mark ((true));

INSERT INTO ratchet.mark VALUES (floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint, 0, NULL);

-- Who acknowledged that a backup was restored. Words of people are written as in the audit trail.
CREATE TABLE ratchet.acknowledgements (
    epoch bigint PRIMARY KEY,
    by text COLLATE "C" NOT NULL,
    reason text COLLATE "C" NOT NULL
);
