-- Torrents that users created from files in the roots.

CREATE TABLE created_torrents (
    id         TEXT    NOT NULL PRIMARY KEY,
    -- Whose torrent it is; nobody else sees it.
    user_id    TEXT    NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    -- Its job, which may be forgotten before it.
    job_id     TEXT    NOT NULL,
    state      TEXT    NOT NULL,
    name       TEXT    NOT NULL,
    -- The root of the files when it was asked for, and the percent-encoded path below it.
    root       TEXT    NOT NULL,
    path       TEXT    NOT NULL,
    format     TEXT    NOT NULL,
    is_private INTEGER NOT NULL CHECK (is_private IN (0, 1)),
    -- JSON object: choices that are needed until the job ends. Addresses in it may contain keys.
    choices    TEXT,
    -- JSON object: the engine that seeds it, and what became of that.
    seeding    TEXT,
    hash_v1    TEXT,
    hash_v2    TEXT,
    size       INTEGER,
    piece_size INTEGER,
    pieces     INTEGER,
    error      TEXT,
    created_at INTEGER NOT NULL,
    ended_at   INTEGER
) STRICT;

CREATE INDEX created_torrents_user ON created_torrents (user_id, created_at, id);
CREATE INDEX created_torrents_ended ON created_torrents (ended_at, id);

-- The .torrent files, apart: they may have megabytes, and the rows are listed without them.
CREATE TABLE created_torrent_files (
    id   TEXT  NOT NULL PRIMARY KEY REFERENCES created_torrents (id) ON DELETE CASCADE,
    file BLOB  NOT NULL
) STRICT;
