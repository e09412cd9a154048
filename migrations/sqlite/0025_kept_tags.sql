-- Tags are also kept of torrents that came to their client by another way: when those were added is not known here.

CREATE TABLE torrent_intake_next (
    engine_id TEXT    NOT NULL REFERENCES torrent_engines (id) ON DELETE CASCADE,
    hash      TEXT    NOT NULL,
    -- When this row was written: tells it from a later one of the same torrent.
    noted_at  INTEGER NOT NULL,
    -- NULL: the torrent was not added through this service.
    added_at  INTEGER,
    -- JSON array of texts: the tags of a torrent whose client has none.
    tags      TEXT    NOT NULL DEFAULT '[]',
    PRIMARY KEY (engine_id, hash)
) STRICT;

INSERT INTO torrent_intake_next (engine_id, hash, noted_at, added_at, tags)
SELECT engine_id, hash, added_at, added_at, tags FROM torrent_intake;

DROP TABLE torrent_intake;
ALTER TABLE torrent_intake_next RENAME TO torrent_intake;
