-- Torrents that are parked: paused because nobody shares them, and started from time to time to see if somebody does again.
CREATE TABLE torrent_parking (
    engine_id      TEXT    NOT NULL REFERENCES torrent_engines (id) ON DELETE CASCADE,
    -- Lower-case hexadecimal.
    hash           TEXT    NOT NULL,
    -- As its list told when it was parked or last probed.
    name           TEXT    NOT NULL,
    reason         TEXT    NOT NULL CHECK (reason IN ('no_seeders', 'stalled')),
    parked_at      INTEGER NOT NULL,
    -- Since when it is paused, as its client said; NULL while it is probed, and until the client has said so.
    rests_since    INTEGER,
    -- Since when it runs to see if somebody shares it.
    probing_since  INTEGER,
    -- When the last probe ended that found nobody.
    last_probed_at INTEGER,
    probe_count    INTEGER NOT NULL,
    -- Seeders that the client told of when it was parked or last probed.
    last_seeders   INTEGER NOT NULL,
    -- When it was let go: it is parked no longer, and its age counts from then. NULL while it is parked.
    released_at    INTEGER,
    updated_at     INTEGER NOT NULL,
    PRIMARY KEY (engine_id, hash)
) STRICT;
