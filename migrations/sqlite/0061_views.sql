-- Saved views of the torrent list.

CREATE TABLE torrent_views (
    id         TEXT    NOT NULL PRIMARY KEY,
    -- Whose view it is; nobody else sees it.
    user_id    TEXT    NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    name       TEXT    NOT NULL,
    -- JSON object: filter, order and columns.
    settings   TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    UNIQUE (user_id, name)
) STRICT;
