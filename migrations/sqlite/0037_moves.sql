-- Files and folders that were moved or deleted, until the index of the media libraries says so too.

CREATE TABLE media_moves (
    -- Of the event that told of it.
    position  INTEGER NOT NULL PRIMARY KEY,
    -- Absolute.
    from_path TEXT    NOT NULL,
    -- NULL: it was deleted.
    to_path   TEXT,
    -- The last item it was done for, in the order of their ids; empty: none yet.
    after_id  TEXT    NOT NULL
) STRICT;

-- How often items came into a directory other than by a scan: a scan that did not know of the last time takes nothing there
-- for removed.
ALTER TABLE media_directories ADD COLUMN moves INTEGER NOT NULL DEFAULT 0;

-- Pages of one library, by title.
CREATE INDEX media_items_library_title ON media_items (library_id, title_key, created_at, id);
