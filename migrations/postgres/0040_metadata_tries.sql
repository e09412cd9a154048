-- Items that providers of metadata were asked about in vain. Without a row, or with one of an item that was changed since, a scan asks.

CREATE TABLE media_metadata_tries (
    item_id         TEXT   NOT NULL PRIMARY KEY REFERENCES media_items (id) ON DELETE CASCADE,
    -- `updated_at` of the item then.
    item_updated_at BIGINT NOT NULL,
    -- Before that nobody asks by himself.
    again_at        BIGINT NOT NULL
);
