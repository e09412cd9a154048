-- Indexers: the sites that list releases, how they are asked, and how that went.

CREATE TABLE indexers (
    id                  TEXT    NOT NULL PRIMARY KEY,
    name                TEXT    NOT NULL,
    -- Id of the protocol it speaks; a plugin provides it.
    implementation      TEXT    NOT NULL,
    -- `torrent` or `usenet`.
    protocol            TEXT    NOT NULL,
    base_url            TEXT    NOT NULL,
    -- Encrypted. NULL: it needs none.
    api_key             TEXT,
    -- Encrypted: a JSON object, what its protocol is configured with beside URL and key.
    config              TEXT,
    is_enabled          INTEGER NOT NULL CHECK (is_enabled IN (0, 1)),
    -- The lower, the earlier.
    priority            INTEGER NOT NULL,
    -- JSON array of numbers.
    categories          TEXT    NOT NULL,
    min_seeders         INTEGER,
    timeout_ms          INTEGER NOT NULL,
    requests_per_minute INTEGER NOT NULL,
    -- JSON: what it said of itself when it was last tested with success.
    capabilities        TEXT,
    -- `ok`, `error` or `unknown`: its last test.
    status              TEXT    NOT NULL,
    status_message      TEXT,
    last_tested_at      INTEGER,
    -- Failures since its last answer, and the reason of the last one.
    failures            INTEGER NOT NULL,
    last_error          TEXT,
    -- Left alone by searches until then, after failures in a row.
    rests_until         INTEGER,
    -- Not asked at all until then: it said so.
    throttled_until     INTEGER,
    -- Milliseconds.
    last_latency_ms     INTEGER,
    -- Day of the two counters, as days since 1970 in UTC.
    day                 INTEGER NOT NULL,
    queries             INTEGER NOT NULL,
    grabs               INTEGER NOT NULL,
    created_at          INTEGER NOT NULL,
    updated_at          INTEGER NOT NULL
) STRICT;

CREATE INDEX indexers_order ON indexers (priority, name, id);
