-- Whether the lists of the media libraries are still what somebody has read: two readers who see the same stamps see the
-- same items.

CREATE TABLE media_stamps (
    -- There is one row.
    one     INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
    -- Another one whenever an item came, went, or is listed otherwise.
    items   INTEGER NOT NULL,
    -- Another one whenever `updated_at` of an item is another one, which happens far more often.
    touched INTEGER NOT NULL
) STRICT;
INSERT INTO media_stamps (one, items, touched) VALUES (1, 0, 0);

CREATE TRIGGER media_items_came AFTER INSERT ON media_items BEGIN
    UPDATE media_stamps SET items = items + 1;
END;
CREATE TRIGGER media_items_went AFTER DELETE ON media_items BEGIN
    UPDATE media_stamps SET items = items + 1;
END;
CREATE TRIGGER media_items_changed AFTER UPDATE OF library_id, directory_id, media_type, title, title_key, letter, year, season,
    match_status, duplicate_group_id, series_titledb_id, created_at ON media_items
WHEN OLD.library_id <> NEW.library_id OR OLD.directory_id <> NEW.directory_id OR OLD.media_type <> NEW.media_type
    OR OLD.title <> NEW.title OR OLD.title_key <> NEW.title_key OR OLD.letter <> NEW.letter OR OLD.year IS NOT NEW.year
    OR OLD.season IS NOT NEW.season OR OLD.match_status <> NEW.match_status
    OR OLD.duplicate_group_id IS NOT NEW.duplicate_group_id OR OLD.series_titledb_id IS NOT NEW.series_titledb_id
    OR OLD.created_at <> NEW.created_at BEGIN
    UPDATE media_stamps SET items = items + 1;
END;
CREATE TRIGGER media_items_touched AFTER UPDATE OF updated_at ON media_items WHEN OLD.updated_at <> NEW.updated_at BEGIN
    UPDATE media_stamps SET touched = touched + 1;
END;
