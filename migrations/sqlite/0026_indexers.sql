-- Indexers: where releases are searched for, how each fares, and what it was asked each day.
CREATE TABLE indexers (
    id                   TEXT    NOT NULL PRIMARY KEY,
    name                 TEXT    NOT NULL,
    -- The id of a protocol that a plugin provides, or did.
    implementation       TEXT    NOT NULL,
    protocol             TEXT    NOT NULL,
    base_url             TEXT    NOT NULL,
    -- Encrypted: the key, and a JSON object of what else the protocol wants. NULL where there is none.
    api_key              TEXT,
    config               TEXT,
    is_enabled           INTEGER NOT NULL CHECK (is_enabled IN (0, 1)),
    priority             INTEGER NOT NULL,
    -- JSON array of numbers.
    categories           TEXT    NOT NULL,
    min_seeders          INTEGER,
    timeout_ms           INTEGER NOT NULL,
    requests_per_minute  INTEGER NOT NULL,
    -- JSON object: what it said of itself at the last test that went well.
    capabilities         TEXT,
    -- Of the last test: ok, error or unknown.
    status               TEXT    NOT NULL,
    status_message       TEXT,
    last_tested_at       INTEGER,
    -- How it fares: since the last answer, and when it is asked again.
    consecutive_failures INTEGER NOT NULL,
    next_try_at          INTEGER,
    last_latency_ms      INTEGER,
    last_error           TEXT,
    last_error_code      TEXT,
    created_at           INTEGER NOT NULL,
    updated_at           INTEGER NOT NULL,
    -- Grows whenever it is configured anew: an answer to an earlier configuration says nothing of this one.
    version              INTEGER NOT NULL
) STRICT;

CREATE INDEX indexers_order ON indexers (priority, name, id);

CREATE TABLE indexer_days (
    indexer_id TEXT    NOT NULL REFERENCES indexers (id) ON DELETE CASCADE,
    -- Days since 1970, UTC.
    day        INTEGER NOT NULL,
    queries    INTEGER NOT NULL,
    grabs      INTEGER NOT NULL,
    PRIMARY KEY (indexer_id, day)
) STRICT, WITHOUT ROWID;
