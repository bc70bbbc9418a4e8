-- What is not shown of the inputs of an operation and version: a JSON list of paths, each a list of field names.
CREATE TABLE ratchet_hidden (
    operation TEXT NOT NULL,
    version TEXT NOT NULL,
    paths TEXT NOT NULL,
    PRIMARY KEY (operation, version)
) STRICT, WITHOUT ROWID;
