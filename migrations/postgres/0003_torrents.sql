-- Torrent clients, the last state seen of their torrents, and what they have transferred.

CREATE TABLE torrent_engines (
    id            TEXT             NOT NULL PRIMARY KEY,
    name          TEXT COLLATE "C" NOT NULL,
    kind          TEXT             NOT NULL,
    -- A JSON object; the fields named in secret_fields are encrypted one by one.
    config        TEXT             NOT NULL,
    -- JSON array of field names.
    secret_fields TEXT             NOT NULL DEFAULT '[]',
    is_default    BOOLEAN          NOT NULL DEFAULT false,
    is_enabled    BOOLEAN          NOT NULL DEFAULT true,
    created_at    BIGINT           NOT NULL,
    updated_at    BIGINT           NOT NULL
);

-- At most one default, whoever writes.
CREATE UNIQUE INDEX torrent_engines_default ON torrent_engines (is_default) WHERE is_default;

-- The sync loop rewrites these rows all the time, so nothing that changes from tick to tick is indexed.
CREATE TABLE torrent_snapshots (
    id            TEXT             NOT NULL UNIQUE,
    engine_id     TEXT             NOT NULL REFERENCES torrent_engines (id) ON DELETE CASCADE,
    hash          TEXT             NOT NULL,
    name          TEXT COLLATE "C" NOT NULL,
    state         TEXT             NOT NULL,
    -- 0..1
    progress      DOUBLE PRECISION NOT NULL,
    size          BIGINT           NOT NULL,
    downloaded    BIGINT           NOT NULL,
    uploaded      BIGINT           NOT NULL,
    ratio         DOUBLE PRECISION NOT NULL,
    download_rate BIGINT           NOT NULL,
    upload_rate   BIGINT           NOT NULL,
    save_path     TEXT             NOT NULL,
    label         TEXT,
    category_id   TEXT,
    added_at      BIGINT,
    completed_at  BIGINT,
    -- When the torrent was first seen.
    captured_at   BIGINT           NOT NULL,
    PRIMARY KEY (engine_id, hash)
) WITH (fillfactor = 70);

-- Bytes an engine has moved: what it had before we watched, plus what we saw.
CREATE TABLE transfer_ledger (
    engine_id           TEXT   NOT NULL PRIMARY KEY REFERENCES torrent_engines (id) ON DELETE CASCADE,
    baseline_downloaded BIGINT NOT NULL,
    baseline_uploaded   BIGINT NOT NULL,
    baseline_source     TEXT   NOT NULL CHECK (baseline_source IN ('engine_alltime', 'current_torrents')),
    baseline_at         BIGINT NOT NULL,
    accrued_downloaded  BIGINT NOT NULL DEFAULT 0,
    accrued_uploaded    BIGINT NOT NULL DEFAULT 0,
    -- How often a counter fell and was counted from zero again.
    resets_observed     BIGINT NOT NULL DEFAULT 0
);

-- Torrents the engine no longer lists.
CREATE TABLE torrent_archive (
    id            TEXT             NOT NULL PRIMARY KEY,
    engine_id     TEXT             NOT NULL REFERENCES torrent_engines (id) ON DELETE CASCADE,
    hash          TEXT             NOT NULL,
    name          TEXT COLLATE "C" NOT NULL,
    downloaded    BIGINT           NOT NULL,
    uploaded      BIGINT           NOT NULL,
    ratio         DOUBLE PRECISION NOT NULL,
    first_seen_at BIGINT           NOT NULL,
    retired_at    BIGINT           NOT NULL
);

-- One row a torrent: one that came back and went again keeps its first sighting.
CREATE UNIQUE INDEX torrent_archive_hash ON torrent_archive (engine_id, hash);

CREATE TABLE torrent_categories (
    id         TEXT             NOT NULL PRIMARY KEY,
    name       TEXT COLLATE "C" NOT NULL UNIQUE,
    color      TEXT,
    save_path  TEXT,
    created_at BIGINT           NOT NULL
);

CREATE TABLE torrent_tags (
    id         TEXT             NOT NULL PRIMARY KEY,
    name       TEXT COLLATE "C" NOT NULL UNIQUE,
    color      TEXT,
    created_at BIGINT           NOT NULL
);
