-- Pictures of films, episodes and shows, and subtitles beside them.

-- A picture of an item or of a show: a file beside the media, one that people or a provider gave, or one elsewhere.
CREATE TABLE media_artwork (
    id         TEXT    NOT NULL PRIMARY KEY,
    -- One of the two.
    item_id    TEXT    REFERENCES media_items (id) ON DELETE CASCADE,
    show_id    TEXT    REFERENCES media_shows (id) ON DELETE CASCADE,
    -- Number of the season that it shows; NULL: the whole.
    season     INTEGER,
    type       TEXT    NOT NULL,
    source     TEXT    NOT NULL CHECK (source IN ('local', 'custom', 'provider_a')),
    selected   INTEGER NOT NULL CHECK (selected IN (0, 1)),
    -- Address that it was fetched from.
    url        TEXT,
    -- Path below the directory of the library, as that of an item; NULL: it lies in the store.
    place      TEXT,
    -- Path of the file in the store.
    path       TEXT,
    -- Hash of place, address or path: nothing is there twice.
    place_key  TEXT    NOT NULL,
    -- Name of the file without that of its video, in small letters.
    slot       TEXT,
    -- Pixels; NULL: not known.
    width      INTEGER,
    height     INTEGER,
    created_at INTEGER NOT NULL,
    CHECK ((item_id IS NULL) <> (show_id IS NULL))
) STRICT;
CREATE UNIQUE INDEX media_artwork_item ON media_artwork (item_id, place_key);
CREATE UNIQUE INDEX media_artwork_show ON media_artwork (show_id, place_key);
CREATE UNIQUE INDEX media_artwork_item_selected ON media_artwork (item_id, type, COALESCE(season, -1)) WHERE selected;
CREATE UNIQUE INDEX media_artwork_show_selected ON media_artwork (show_id, type, COALESCE(season, -1)) WHERE selected;
CREATE INDEX media_artwork_path ON media_artwork (path);

-- Files in the store, each noted before it is written: one that no picture needs any more is removed.
CREATE TABLE media_artwork_files (
    path    TEXT    NOT NULL PRIMARY KEY,
    made_at INTEGER NOT NULL
) STRICT;
CREATE INDEX media_artwork_files_made ON media_artwork_files (made_at);

-- A file of subtitles beside a video.
CREATE TABLE media_subtitles (
    id         TEXT    NOT NULL PRIMARY KEY,
    item_id    TEXT    NOT NULL REFERENCES media_items (id) ON DELETE CASCADE,
    -- Path below the directory of the library, as that of an item.
    place      TEXT    NOT NULL,
    -- Hash of the place: nothing is there twice.
    place_key  TEXT    NOT NULL,
    -- Two letters, or und.
    language   TEXT    NOT NULL,
    forced     INTEGER NOT NULL CHECK (forced IN (0, 1)),
    sdh        INTEGER NOT NULL CHECK (sdh IN (0, 1)),
    by_default INTEGER NOT NULL CHECK (by_default IN (0, 1)),
    created_at INTEGER NOT NULL,
    UNIQUE (item_id, place_key)
) STRICT;

-- Notes (NFO) that were written beside films and episodes, one row a file.
CREATE TABLE media_nfo_files (
    id           TEXT    NOT NULL PRIMARY KEY,
    item_id      TEXT    NOT NULL REFERENCES media_items (id) ON DELETE CASCADE,
    -- movie, tvshow, episode
    type         TEXT    NOT NULL,
    -- Path below the directory of the library, as that of an item.
    place        TEXT    NOT NULL,
    -- Hash of the place.
    place_key    TEXT    NOT NULL,
    -- Hash of the content that was written last, stored before it is written.
    hash         TEXT    NOT NULL,
    -- Hash of the one before: after a crash the file may still have it.
    earlier      TEXT,
    generated_at INTEGER NOT NULL,
    UNIQUE (item_id, place_key)
) STRICT;
