-- What lists of media libraries know of pictures and subtitles, and the directories in which somebody has to look for them.

-- Number of pictures of the item, and of its subtitles: files beside it, and tracks in its files. Kept by the triggers below.
ALTER TABLE media_items ADD COLUMN pictures INTEGER NOT NULL DEFAULT 0;
ALTER TABLE media_items ADD COLUMN subtitles INTEGER NOT NULL DEFAULT 0;

-- Tracks of subtitles in the file, as a JSON array; NULL: not looked into since this is stored.
ALTER TABLE media_files ADD COLUMN tracks TEXT;
ALTER TABLE media_files ADD COLUMN track_count INTEGER NOT NULL DEFAULT 0;
ALTER TABLE media_copies ADD COLUMN tracks TEXT;
ALTER TABLE media_copies ADD COLUMN track_count INTEGER NOT NULL DEFAULT 0;

UPDATE media_items SET pictures = (SELECT COUNT(*) FROM media_artwork a WHERE a.item_id = media_items.id)
    WHERE id IN (SELECT item_id FROM media_artwork);
UPDATE media_items SET subtitles = (SELECT COUNT(*) FROM media_subtitles s WHERE s.item_id = media_items.id)
    WHERE id IN (SELECT item_id FROM media_subtitles);

-- Episodes whose poster may stand for their series.
CREATE INDEX media_items_pictured ON media_items (library_id, substr(place, 1, 200)) WHERE pictures > 0;

-- Files that were probed before their tracks were stored are probed once more; what is known of them stays until then.
CREATE INDEX media_files_untracked ON media_files (probed_at, id) WHERE probed_at IS NOT NULL AND tracks IS NULL;
CREATE INDEX media_copies_untracked ON media_copies (probed_at, id) WHERE probed_at IS NOT NULL AND tracks IS NULL;

CREATE TRIGGER media_artwork_came AFTER INSERT ON media_artwork WHEN NEW.item_id IS NOT NULL BEGIN
    UPDATE media_items SET pictures = pictures + 1 WHERE id = NEW.item_id;
END;
CREATE TRIGGER media_artwork_went AFTER DELETE ON media_artwork WHEN OLD.item_id IS NOT NULL BEGIN
    UPDATE media_items SET pictures = pictures - 1 WHERE id = OLD.item_id;
END;
CREATE TRIGGER media_subtitles_came AFTER INSERT ON media_subtitles BEGIN
    UPDATE media_items SET subtitles = subtitles + 1 WHERE id = NEW.item_id;
END;
CREATE TRIGGER media_subtitles_went AFTER DELETE ON media_subtitles BEGIN
    UPDATE media_items SET subtitles = subtitles - 1 WHERE id = OLD.item_id;
END;
CREATE TRIGGER media_files_tracks_came AFTER INSERT ON media_files WHEN NEW.track_count > 0 BEGIN
    UPDATE media_items SET subtitles = subtitles + NEW.track_count WHERE id = NEW.item_id;
END;
CREATE TRIGGER media_files_tracks_went AFTER DELETE ON media_files WHEN OLD.track_count > 0 BEGIN
    UPDATE media_items SET subtitles = subtitles - OLD.track_count WHERE id = OLD.item_id;
END;
CREATE TRIGGER media_files_tracks_changed AFTER UPDATE OF track_count, item_id ON media_files
WHEN OLD.track_count <> NEW.track_count OR (OLD.item_id <> NEW.item_id AND NEW.track_count > 0) BEGIN
    UPDATE media_items SET subtitles = subtitles - OLD.track_count WHERE id = OLD.item_id;
    UPDATE media_items SET subtitles = subtitles + NEW.track_count WHERE id = NEW.item_id;
END;
CREATE TRIGGER media_copies_tracks_came AFTER INSERT ON media_copies WHEN NEW.track_count > 0 BEGIN
    UPDATE media_items SET subtitles = subtitles + NEW.track_count WHERE id = NEW.item_id;
END;
CREATE TRIGGER media_copies_tracks_went AFTER DELETE ON media_copies WHEN OLD.track_count > 0 BEGIN
    UPDATE media_items SET subtitles = subtitles - OLD.track_count WHERE id = OLD.item_id;
END;
CREATE TRIGGER media_copies_tracks_changed AFTER UPDATE OF track_count, item_id ON media_copies
WHEN OLD.track_count <> NEW.track_count OR (OLD.item_id <> NEW.item_id AND NEW.track_count > 0) BEGIN
    UPDATE media_items SET subtitles = subtitles - OLD.track_count WHERE id = OLD.item_id;
    UPDATE media_items SET subtitles = subtitles + NEW.track_count WHERE id = NEW.item_id;
END;

-- Lists ask whether there are any; the numbers themselves are read with the rows of a page.
CREATE TRIGGER media_items_known AFTER UPDATE OF pictures, subtitles ON media_items
WHEN (OLD.pictures = 0) <> (NEW.pictures = 0) OR (OLD.subtitles = 0) <> (NEW.subtitles = 0) BEGIN
    UPDATE media_stamps SET items = items + 1;
END;

-- Directories that changed since somebody looked for what lies beside videos there. Rows are only added, so that writers of
-- items never wait for whoever looks, and removed by their numbers after the look. Each reader has its own.
CREATE TABLE media_looks (
    number       INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    -- For whom: pictures and subtitles, or notes.
    reader       TEXT    NOT NULL CHECK (reader IN ('pictures', 'notes')),
    directory_id TEXT    NOT NULL REFERENCES media_directories (id) ON DELETE CASCADE,
    -- What lies there is about items in directories below too.
    below        INTEGER NOT NULL CHECK (below IN (0, 1))
) STRICT;
CREATE INDEX media_looks_directory ON media_looks (directory_id, number);
CREATE INDEX media_looks_reader ON media_looks (reader, number);
INSERT INTO media_looks (reader, directory_id, below) SELECT 'pictures', id, 0 FROM media_directories;
INSERT INTO media_looks (reader, directory_id, below) SELECT 'notes', id, 0 FROM media_directories;

CREATE TRIGGER media_directories_changed AFTER UPDATE OF mtime ON media_directories WHEN OLD.mtime <> NEW.mtime BEGIN
    INSERT INTO media_looks (reader, directory_id, below)
        VALUES ('pictures', NEW.id, NEW.place <> ''), ('notes', NEW.id, NEW.place <> '');
END;
-- A file that joins an item brings what lies beside it.
CREATE TRIGGER media_copies_joined AFTER INSERT ON media_copies BEGIN
    INSERT INTO media_looks (reader, directory_id, below)
        VALUES ('pictures', NEW.directory_id, 0), ('notes', NEW.directory_id, 0);
END;
-- A show gets its row after its directory was read.
CREATE TRIGGER media_shows_came AFTER INSERT ON media_shows BEGIN
    INSERT INTO media_looks (reader, directory_id, below)
        SELECT 'pictures', d.id, 0 FROM media_directories d WHERE d.library_id = NEW.library_id AND d.place = NEW.place;
    INSERT INTO media_looks (reader, directory_id, below)
        SELECT 'notes', d.id, 0 FROM media_directories d WHERE d.library_id = NEW.library_id AND d.place = NEW.place;
END;
CREATE TRIGGER media_shows_moved AFTER UPDATE OF library_id, place ON media_shows
WHEN OLD.library_id <> NEW.library_id OR OLD.place <> NEW.place BEGIN
    INSERT INTO media_looks (reader, directory_id, below)
        SELECT 'pictures', d.id, 0 FROM media_directories d WHERE d.library_id = NEW.library_id AND d.place = NEW.place;
    INSERT INTO media_looks (reader, directory_id, below)
        SELECT 'notes', d.id, 0 FROM media_directories d WHERE d.library_id = NEW.library_id AND d.place = NEW.place;
END;

-- Directories with very many items below them: digest of the names of their pictures when all those items were looked at last.
-- While it is the same, a change of the directory concerns only what lies right in it.
CREATE TABLE media_picture_folders (
    directory_id TEXT NOT NULL PRIMARY KEY REFERENCES media_directories (id) ON DELETE CASCADE,
    digest       TEXT NOT NULL
) STRICT;
