-- What rules on torrents that are added, removed or stalled are judged by.

-- Since when the torrent wants data and has got none. NULL: it wants none, or nobody knows.
ALTER TABLE torrent_snapshots ADD COLUMN stalled_since BIGINT;

-- Torrents that left the list of their client and may come back, for whose removal rules wait.
CREATE TABLE torrent_departures (
    engine_id TEXT    NOT NULL REFERENCES torrent_engines (id) ON DELETE CASCADE,
    hash      TEXT    NOT NULL,
    -- When it was missed first.
    gone_at  BIGINT NOT NULL,
    -- When it was added to its client; NULL: nobody knows.
    added_at BIGINT,
    -- JSON: the event that tells the rules, with the torrent as it was last.
    due       TEXT    NOT NULL,
    PRIMARY KEY (engine_id, hash)
);

-- Hours without data after which a rule with the trigger `torrent.stalled` runs.
ALTER TABLE automation_rules ADD COLUMN stalled_hours BIGINT;

-- The stall for which a rule ran last, by torrent: a rule runs once for each.
CREATE TABLE automation_stalls (
    rule_id   TEXT NOT NULL REFERENCES automation_rules (id) ON DELETE CASCADE,
    engine_id TEXT NOT NULL,
    hash      TEXT NOT NULL,
    -- Since when it wanted data and got none, in ISO 8601: this is which stall it is.
    since     TEXT NOT NULL,
    PRIMARY KEY (rule_id, engine_id, hash)
);
