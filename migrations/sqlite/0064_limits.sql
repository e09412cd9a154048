-- Limits of sharing, of torrents, categories and engines, and limits of speed of engines.

CREATE TABLE share_limits (
    -- `torrent:ENGINE:HASH`, `category:ID` or `engine:ID`.
    scope         TEXT    NOT NULL PRIMARY KEY,
    -- Of a torrent and of an engine.
    engine_id     TEXT    REFERENCES torrent_engines (id) ON DELETE CASCADE,
    -- Of a torrent; lower-case hexadecimal.
    hash          TEXT,
    category_id   TEXT    REFERENCES torrent_categories (id) ON DELETE CASCADE,
    -- Of these: NULL inherits, -1 is no limit.
    ratio         REAL,
    -- Seconds.
    seeding_time  INTEGER,
    -- Seconds.
    inactive_time INTEGER,
    -- `stop`, `remove`, `removeWithData` or `superSeed`; NULL inherits.
    action        TEXT,
    -- Id of the user by whose powers the action is done; may be deleted since.
    set_by        TEXT    NOT NULL,
    set_at        INTEGER NOT NULL
) STRICT;
CREATE INDEX share_limits_engine ON share_limits (engine_id);
CREATE INDEX share_limits_category ON share_limits (category_id);

-- Torrents that reached a limit: each is acted on once.
CREATE TABLE share_ledger (
    engine_id TEXT    NOT NULL REFERENCES torrent_engines (id) ON DELETE CASCADE,
    hash      TEXT    NOT NULL,
    -- The limits that were reached, as a text that changes when they do.
    limits    TEXT    NOT NULL,
    -- When the torrent was added, as its list told; tells it from a later one with the same hash.
    added_at  INTEGER,
    -- `ratio`, `seedingTime` or `inactiveSeedingTime`.
    reached   TEXT    NOT NULL,
    action    TEXT    NOT NULL,
    -- `acting`: begun, and not known to be done; `done`; `failed`: tried again at next_at.
    state     TEXT    NOT NULL CHECK (state IN ('acting', 'done', 'failed')),
    attempts  INTEGER NOT NULL,
    error     TEXT,
    -- The error that people were told of last.
    told      TEXT,
    next_at   INTEGER,
    at        INTEGER NOT NULL,
    PRIMARY KEY (engine_id, hash)
) STRICT;

-- Seeding time of torrents whose client does not count it, by the clock of their engine.
CREATE TABLE share_counts (
    engine_id    TEXT    NOT NULL REFERENCES torrent_engines (id) ON DELETE CASCADE,
    hash         TEXT    NOT NULL,
    -- Milliseconds seeded until running_from.
    seeded       INTEGER NOT NULL,
    -- Reading of the clock since which it seeds.
    running_from INTEGER,
    -- Milliseconds it had been seeded when content last moved.
    active       INTEGER NOT NULL,
    -- Bytes sent by then.
    uploaded     INTEGER NOT NULL,
    -- As in share_ledger.
    added_at     INTEGER,
    PRIMARY KEY (engine_id, hash)
) STRICT;

CREATE TABLE share_clocks (
    engine_id TEXT    NOT NULL PRIMARY KEY REFERENCES torrent_engines (id) ON DELETE CASCADE,
    -- Milliseconds in which the engine was read.
    watched   INTEGER NOT NULL
) STRICT;

CREATE TABLE engine_speeds (
    engine_id    TEXT    NOT NULL PRIMARY KEY REFERENCES torrent_engines (id) ON DELETE CASCADE,
    -- Bytes per second; NULL is no limit. Of the alternative set likewise.
    upload       INTEGER,
    download     INTEGER,
    alt_upload   INTEGER,
    alt_download INTEGER,
    -- JSON array of entries, which do not overlap.
    schedule     TEXT    NOT NULL,
    -- `auto`, `normal` or `alternative`.
    chosen       TEXT    NOT NULL,
    set_at       INTEGER NOT NULL
) STRICT;
