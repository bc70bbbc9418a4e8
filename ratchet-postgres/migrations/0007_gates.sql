-- How much each destination is asked to take, and whether it works: the gate of `ratchet_core::admission` as JSON. A row is
-- written anew for every send, so its pages have room for it.
CREATE TABLE ratchet.gates (
    destination text COLLATE "C" PRIMARY KEY,
    gate text COLLATE "C" NOT NULL
) WITH (fillfactor = 50);
