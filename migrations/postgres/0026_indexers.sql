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
    is_enabled          BOOLEAN NOT NULL,
    -- The lower, the earlier.
    priority            BIGINT  NOT NULL,
    -- JSON array of numbers.
    categories          TEXT    NOT NULL,
    min_seeders         BIGINT,
    timeout_ms          BIGINT  NOT NULL,
    requests_per_minute BIGINT  NOT NULL,
    -- JSON: what it said of itself when it was last tested with success.
    capabilities        TEXT,
    -- `ok`, `error` or `unknown`: its last test.
    status              TEXT    NOT NULL,
    status_message      TEXT,
    last_tested_at      BIGINT,
    -- Failures since its last answer, and the reason of the last one.
    failures            BIGINT  NOT NULL,
    last_error          TEXT,
    -- Left alone by searches until then, after failures in a row.
    rests_until         BIGINT,
    -- Not asked at all until then: it said so.
    throttled_until     BIGINT,
    -- Milliseconds.
    last_latency_ms     BIGINT,
    -- Day of the two counters, as days since 1970 in UTC.
    day                 BIGINT  NOT NULL,
    queries             BIGINT  NOT NULL,
    grabs               BIGINT  NOT NULL,
    created_at          BIGINT  NOT NULL,
    updated_at          BIGINT  NOT NULL
);

CREATE INDEX indexers_order ON indexers (priority, name, id);
