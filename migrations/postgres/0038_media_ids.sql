-- What items are called elsewhere.

CREATE TABLE media_external_ids (
    id          TEXT    NOT NULL PRIMARY KEY,
    item_id     TEXT    NOT NULL REFERENCES media_items (id) ON DELETE CASCADE,
    -- `titledb`, or a provider of metadata.
    provider    TEXT    NOT NULL,
    external_id TEXT    NOT NULL,
    -- Its page there.
    url         TEXT,
    -- Found by the title, the year and the episode of the item: it goes when these change.
    is_derived  BOOLEAN NOT NULL,
    UNIQUE (item_id, provider)
);
CREATE INDEX media_external_ids_of ON media_external_ids (provider, external_id);

-- The data set of titles that was asked what it is; `found`: it said so; NULL: none was.
ALTER TABLE media_items ADD COLUMN titledb_asked TEXT;
ALTER TABLE media_shows ADD COLUMN titledb_asked TEXT;
