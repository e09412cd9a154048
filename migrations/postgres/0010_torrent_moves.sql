-- Torrents whose data the server is moving: written before the client is told to let go of it, removed once the torrent points
-- at the place where the data is. Rows of a process that is no more are settled by the next one.

CREATE TABLE torrent_moves (
    -- Also of the file operation.
    id          TEXT    NOT NULL PRIMARY KEY,
    engine_id   TEXT    NOT NULL REFERENCES torrent_engines (id) ON DELETE CASCADE,
    hash        TEXT    NOT NULL,
    name        TEXT    NOT NULL,
    -- Absolute: the torrent's own file or folder, as its client tells it.
    source      TEXT    NOT NULL,
    -- Absolute: where it was saved, and where it is to be.
    save_path   TEXT    NOT NULL,
    destination TEXT    NOT NULL,
    -- It ran before.
    ran         BOOLEAN NOT NULL,
    -- Who asked for it; may be deleted since.
    user_id     TEXT    NOT NULL,
    -- The process that works on it, and when it last said so.
    owner       TEXT    NOT NULL,
    beat_at     BIGINT  NOT NULL,
    begun_at    BIGINT  NOT NULL,
    -- Nothing can be done about it at the moment: its client is away, or its disk.
    is_waiting  BOOLEAN NOT NULL,
    UNIQUE (engine_id, hash)
);
