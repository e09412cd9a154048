-- Media servers that people play their media with.

CREATE TABLE media_server_integrations (
    id                   TEXT    NOT NULL PRIMARY KEY,
    name                 TEXT    NOT NULL,
    -- Id of the product; a plugin speaks to it.
    kind                 TEXT    NOT NULL,
    is_enabled           INTEGER NOT NULL CHECK (is_enabled IN (0, 1)),
    -- Encrypted: a JSON object.
    config               TEXT    NOT NULL,
    -- `unknown`, `online` or `offline`: how it answered last.
    status               TEXT    NOT NULL,
    last_refresh_at      INTEGER,
    last_health_check_at INTEGER,
    -- What it said of itself when it answered last.
    server_version       TEXT,
    created_at           INTEGER NOT NULL,
    updated_at           INTEGER NOT NULL
) STRICT;

CREATE INDEX media_server_integrations_order ON media_server_integrations (created_at, id);
