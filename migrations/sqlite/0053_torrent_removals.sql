-- Torrents that are being removed with their data: written before the client is told, removed once the data was seen to be gone.
-- Rows of a process that is no more are settled by the next one.

CREATE TABLE torrent_removals (
    id        TEXT    NOT NULL PRIMARY KEY,
    engine_id TEXT    NOT NULL REFERENCES torrent_engines (id) ON DELETE CASCADE,
    hash      TEXT    NOT NULL,
    name      TEXT    NOT NULL,
    -- JSON: the files that were seen before, each with its inode.
    seen      TEXT    NOT NULL,
    -- Who asked for it; empty when nobody did. May be deleted since.
    user_id   TEXT    NOT NULL,
    -- The process that works on it.
    owner     TEXT    NOT NULL,
    begun_at  INTEGER NOT NULL
) STRICT;
