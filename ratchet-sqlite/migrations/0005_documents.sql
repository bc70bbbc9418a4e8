-- Small facts that a surface keeps beside the records, such as keys of an API; JSON that the ledger does not interpret.
CREATE TABLE ratchet_documents (
    kind TEXT NOT NULL,
    namespace TEXT NOT NULL,
    name TEXT NOT NULL,
    -- What a write must have seen.
    version INTEGER NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (kind, namespace, name)
) STRICT, WITHOUT ROWID;
