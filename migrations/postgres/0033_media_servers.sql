-- Media servers that people play their media with.

CREATE TABLE media_server_integrations (
    id                   TEXT    NOT NULL PRIMARY KEY,
    name                 TEXT    NOT NULL,
    -- Id of the product; a plugin speaks to it.
    kind                 TEXT    NOT NULL,
    is_enabled           BOOLEAN NOT NULL,
    -- Encrypted: a JSON object.
    config               TEXT    NOT NULL,
    -- `unknown`, `online` or `offline`: how it answered last.
    status               TEXT    NOT NULL,
    last_refresh_at      BIGINT,
    last_health_check_at BIGINT,
    -- What it said of itself when it answered last.
    server_version       TEXT,
    created_at           BIGINT  NOT NULL,
    updated_at           BIGINT  NOT NULL
);

CREATE INDEX media_server_integrations_order ON media_server_integrations (created_at, id);
