-- How much each destination is asked to take, and whether it works: the gate of `ratchet_core::admission` as JSON.
CREATE TABLE ratchet_gates (
    destination TEXT PRIMARY KEY,
    gate TEXT NOT NULL
) STRICT, WITHOUT ROWID;
