-- What is known of torrents because they were added through this service, and their clients may not tell.

CREATE TABLE torrent_intake (
    engine_id TEXT    NOT NULL REFERENCES torrent_engines (id) ON DELETE CASCADE,
    hash      TEXT    NOT NULL,
    added_at  INTEGER NOT NULL,
    -- JSON array of texts: the tags of a torrent whose client has none.
    tags      TEXT    NOT NULL DEFAULT '[]',
    PRIMARY KEY (engine_id, hash)
) STRICT;
