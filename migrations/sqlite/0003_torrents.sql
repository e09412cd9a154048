-- Torrent clients, the last state seen of their torrents, and what they have transferred.

CREATE TABLE torrent_engines (
    id            TEXT    NOT NULL PRIMARY KEY,
    name          TEXT    NOT NULL,
    kind          TEXT    NOT NULL,
    -- A JSON object; the fields named in secret_fields are encrypted one by one.
    config        TEXT    NOT NULL,
    -- JSON array of field names.
    secret_fields TEXT    NOT NULL DEFAULT '[]',
    is_default    INTEGER NOT NULL DEFAULT 0 CHECK (is_default IN (0, 1)),
    is_enabled    INTEGER NOT NULL DEFAULT 1 CHECK (is_enabled IN (0, 1)),
    created_at    INTEGER NOT NULL,
    updated_at    INTEGER NOT NULL
) STRICT;

-- At most one default, whoever writes.
CREATE UNIQUE INDEX torrent_engines_default ON torrent_engines (is_default) WHERE is_default = 1;

-- The sync loop rewrites these rows all the time, so nothing that changes from tick to tick is indexed.
CREATE TABLE torrent_snapshots (
    id            TEXT    NOT NULL UNIQUE,
    engine_id     TEXT    NOT NULL REFERENCES torrent_engines (id) ON DELETE CASCADE,
    hash          TEXT    NOT NULL,
    name          TEXT    NOT NULL,
    state         TEXT    NOT NULL,
    -- 0..1
    progress      REAL    NOT NULL,
    size          INTEGER NOT NULL,
    downloaded    INTEGER NOT NULL,
    uploaded      INTEGER NOT NULL,
    ratio         REAL    NOT NULL,
    download_rate INTEGER NOT NULL,
    upload_rate   INTEGER NOT NULL,
    save_path     TEXT    NOT NULL,
    label         TEXT,
    category_id   TEXT,
    added_at      INTEGER,
    completed_at  INTEGER,
    -- When the torrent was first seen.
    captured_at   INTEGER NOT NULL,
    PRIMARY KEY (engine_id, hash)
) STRICT;

-- Bytes an engine has moved: what it had before we watched, plus what we saw.
CREATE TABLE transfer_ledger (
    engine_id           TEXT    NOT NULL PRIMARY KEY REFERENCES torrent_engines (id) ON DELETE CASCADE,
    baseline_downloaded INTEGER NOT NULL,
    baseline_uploaded   INTEGER NOT NULL,
    baseline_source     TEXT    NOT NULL CHECK (baseline_source IN ('engine_alltime', 'current_torrents')),
    baseline_at         INTEGER NOT NULL,
    accrued_downloaded  INTEGER NOT NULL DEFAULT 0,
    accrued_uploaded    INTEGER NOT NULL DEFAULT 0,
    -- How often a counter fell and was counted from zero again.
    resets_observed     INTEGER NOT NULL DEFAULT 0
) STRICT;

-- Torrents the engine no longer lists.
CREATE TABLE torrent_archive (
    id            TEXT    NOT NULL PRIMARY KEY,
    engine_id     TEXT    NOT NULL REFERENCES torrent_engines (id) ON DELETE CASCADE,
    hash          TEXT    NOT NULL,
    name          TEXT    NOT NULL,
    downloaded    INTEGER NOT NULL,
    uploaded      INTEGER NOT NULL,
    ratio         REAL    NOT NULL,
    first_seen_at INTEGER NOT NULL,
    retired_at    INTEGER NOT NULL
) STRICT;

-- One row a torrent: one that came back and went again keeps its first sighting.
CREATE UNIQUE INDEX torrent_archive_hash ON torrent_archive (engine_id, hash);

CREATE TABLE torrent_categories (
    id         TEXT    NOT NULL PRIMARY KEY,
    name       TEXT    NOT NULL UNIQUE,
    color      TEXT,
    save_path  TEXT,
    created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE torrent_tags (
    id         TEXT    NOT NULL PRIMARY KEY,
    name       TEXT    NOT NULL UNIQUE,
    color      TEXT,
    created_at INTEGER NOT NULL
) STRICT;
