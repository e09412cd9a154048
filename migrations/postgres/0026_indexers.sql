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
    is_enabled           BOOLEAN NOT NULL,
    priority             BIGINT  NOT NULL,
    -- JSON array of numbers.
    categories           TEXT    NOT NULL,
    min_seeders          BIGINT,
    timeout_ms           BIGINT  NOT NULL,
    requests_per_minute  BIGINT  NOT NULL,
    -- JSON object: what it said of itself at the last test that went well.
    capabilities         TEXT,
    -- Of the last test: ok, error or unknown.
    status               TEXT    NOT NULL,
    status_message       TEXT,
    last_tested_at       BIGINT,
    -- How it fares: since the last answer, and when it is asked again.
    consecutive_failures BIGINT  NOT NULL,
    next_try_at          BIGINT,
    last_latency_ms      BIGINT,
    last_error           TEXT,
    last_error_code      TEXT,
    created_at           BIGINT  NOT NULL,
    updated_at           BIGINT  NOT NULL,
    -- Grows whenever it is configured anew: an answer to an earlier configuration says nothing of this one.
    version              BIGINT  NOT NULL
);

CREATE INDEX indexers_order ON indexers (priority, name, id);

CREATE TABLE indexer_days (
    indexer_id TEXT    NOT NULL REFERENCES indexers (id) ON DELETE CASCADE,
    -- Days since 1970, UTC.
    day        BIGINT  NOT NULL,
    queries    BIGINT  NOT NULL,
    grabs      BIGINT  NOT NULL,
    PRIMARY KEY (indexer_id, day)
);
