-- What shows may be, what they are called at a second provider, and what items are found by.

-- Titles of the data set that a show may be by their likeness. None of them is its id until somebody says so.
CREATE TABLE media_show_suggestions (
    show_id    TEXT    NOT NULL REFERENCES media_shows (id) ON DELETE CASCADE,
    titledb_id TEXT    NOT NULL,
    title      TEXT    NOT NULL,
    year       INTEGER,
    -- Hundredths.
    score      INTEGER NOT NULL,
    PRIMARY KEY (show_id, titledb_id)
) STRICT;

ALTER TABLE media_shows ADD COLUMN provider_b_id TEXT;
-- By what lists of shows are sorted.
CREATE INDEX media_shows_key ON media_shows (canonical_key, id);
CREATE INDEX media_shows_created ON media_shows (created_at, id);

-- Genres of items, in small letters: those of `media_metadata`.
CREATE TABLE media_genres (
    item_id TEXT NOT NULL REFERENCES media_items (id) ON DELETE CASCADE,
    genre   TEXT NOT NULL,
    PRIMARY KEY (item_id, genre)
) STRICT;
CREATE INDEX media_genres_of ON media_genres (genre, item_id);
INSERT INTO media_genres (item_id, genre)
SELECT DISTINCT m.item_id, lower(trim(g.value)) FROM media_metadata m, json_each(m.genres) g WHERE g.type = 'text' AND trim(g.value) <> '';

-- Files of one resolution.
CREATE INDEX media_files_resolution ON media_files (resolution, item_id);
