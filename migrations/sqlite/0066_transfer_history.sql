-- What engines and torrents moved over time.

-- Engines that are counted.
CREATE TABLE transfer_engines (
    engine_id TEXT    NOT NULL PRIMARY KEY REFERENCES torrent_engines (id) ON DELETE CASCADE,
    -- Up to when it was counted.
    seen_at   INTEGER NOT NULL
) STRICT;

-- Torrents that were counted, and their counters up to where they were. A torrent stays as long as it has counts.
CREATE TABLE transfer_torrents (
    number     INTEGER NOT NULL PRIMARY KEY,
    -- An engine that is no more has none in transfer_engines: its torrents go bit by bit.
    engine_id  TEXT    NOT NULL,
    hash       TEXT    NOT NULL,
    name       TEXT    NOT NULL,
    downloaded INTEGER NOT NULL,
    uploaded   INTEGER NOT NULL,
    -- When its engine listed it no longer.
    gone_at    INTEGER
) STRICT;

CREATE UNIQUE INDEX transfer_torrents_hash ON transfer_torrents (hash, engine_id);

-- What an engine moved in a step of time that began at start_at.
CREATE TABLE engine_transfers (
    engine_id     TEXT    NOT NULL REFERENCES transfer_engines (engine_id) ON DELETE CASCADE,
    -- Minutes: 5, 60 or 1440; a day is one of the operator's time zone, which may have 23 or 25 hours.
    step          INTEGER NOT NULL,
    start_at      INTEGER NOT NULL,
    downloaded    INTEGER NOT NULL,
    uploaded      INTEGER NOT NULL,
    -- Time that these bytes took: more than the step when nobody counted for a while.
    covered_ms    INTEGER NOT NULL,
    peak_download INTEGER NOT NULL,
    peak_upload   INTEGER NOT NULL,
    -- Number of looks, the sum of the torrents that moved at each, and their largest number.
    samples       INTEGER NOT NULL,
    active        INTEGER NOT NULL,
    peak_active   INTEGER NOT NULL,
    PRIMARY KEY (engine_id, step, start_at)
) STRICT, WITHOUT ROWID;

-- The same of a torrent; a step in which it moved nothing has no row.
CREATE TABLE torrent_transfers (
    torrent       INTEGER NOT NULL,
    step          INTEGER NOT NULL,
    start_at      INTEGER NOT NULL,
    downloaded    INTEGER NOT NULL,
    uploaded      INTEGER NOT NULL,
    covered_ms    INTEGER NOT NULL,
    peak_download INTEGER NOT NULL,
    peak_upload   INTEGER NOT NULL,
    PRIMARY KEY (torrent, step, start_at)
) STRICT, WITHOUT ROWID;

CREATE INDEX torrent_transfers_start ON torrent_transfers (step, start_at);
