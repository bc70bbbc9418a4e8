-- Small facts that a surface keeps beside the records, such as keys of an API; JSON that the ledger does not interpret.
CREATE TABLE ratchet.documents (
    -- What a write must have seen.
    version bigint NOT NULL,
    kind text COLLATE "C" NOT NULL,
    namespace text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL,
    body text COLLATE "C" NOT NULL,
    PRIMARY KEY (kind, namespace, name)
);
