-- Further files of items (other versions of a film, its other parts), extras of films and shows, and what files are known again by.

-- Equal for all files of one film or episode; NULL: to be learnt.
ALTER TABLE media_items ADD COLUMN same_key TEXT;
CREATE INDEX media_items_same ON media_items (library_id, substr(same_key, 1, 200)) WHERE same_key IS NOT NULL;

-- How people call this version; NULL: as it is called without a word.
ALTER TABLE media_files ADD COLUMN label TEXT;
-- Number among the parts of what it is.
ALTER TABLE media_files ADD COLUMN part INTEGER;
-- The file system it lies on, and its number there; NULL: to be learnt.
ALTER TABLE media_files ADD COLUMN device INTEGER;
ALTER TABLE media_files ADD COLUMN inode INTEGER;
-- Digest of its head and its tail, made when it was looked into.
ALTER TABLE media_files ADD COLUMN fingerprint TEXT;

CREATE TABLE media_copies (
    id                 TEXT NOT NULL PRIMARY KEY,
    item_id            TEXT NOT NULL REFERENCES media_items (id) ON DELETE CASCADE,
    library_id         TEXT NOT NULL REFERENCES media_libraries (id) ON DELETE CASCADE,
    directory_id       TEXT NOT NULL REFERENCES media_directories (id) ON DELETE CASCADE,
    -- As that of an item.
    place              TEXT NOT NULL,
    label              TEXT,
    part               INTEGER,
    device             INTEGER,
    inode              INTEGER,
    fingerprint        TEXT,
    size               INTEGER NOT NULL,
    -- Nanoseconds since 1970.
    mtime              INTEGER NOT NULL,
    container          TEXT,
    video_codec        TEXT,
    audio_codec        TEXT,
    resolution         TEXT,
    hdr                TEXT,
    language           TEXT,
    release_group      TEXT,
    quality            TEXT,
    width              INTEGER,
    height             INTEGER,
    bitrate_kbps       INTEGER,
    duration_sec       INTEGER,
    audio_channels     INTEGER,
    frame_rate         TEXT,
    video_bit_depth    INTEGER,
    chroma_subsampling TEXT,
    color_primaries    TEXT,
    color_transfer     TEXT,
    color_space        TEXT,
    hdr_format         TEXT,
    -- filename, probe
    tech_source        TEXT,
    probed_at          INTEGER,
    probe_error        TEXT,
    probe_attempts     INTEGER NOT NULL,
    probe_after        INTEGER NOT NULL DEFAULT 0,
    created_at         INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX media_copies_place ON media_copies (library_id, place);
CREATE INDEX media_copies_item ON media_copies (item_id);
CREATE INDEX media_copies_directory ON media_copies (directory_id);
CREATE INDEX media_copies_below ON media_copies (library_id, substr(place, 1, 200));
CREATE INDEX media_copies_unprobed ON media_copies (probe_attempts, probe_after, id)
    WHERE probed_at IS NULL AND probe_error IS NULL;

CREATE TABLE media_extras (
    id           TEXT NOT NULL PRIMARY KEY,
    library_id   TEXT NOT NULL REFERENCES media_libraries (id) ON DELETE CASCADE,
    directory_id TEXT NOT NULL REFERENCES media_directories (id) ON DELETE CASCADE,
    place        TEXT NOT NULL,
    type         TEXT NOT NULL,
    -- Place of the folder of its film, or of its show.
    owner        TEXT NOT NULL,
    -- It lies in the folder of this season.
    season       INTEGER,
    -- That of the one film of the folder whose name it has.
    same_key     TEXT,
    size         INTEGER NOT NULL,
    mtime        INTEGER NOT NULL,
    created_at   INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX media_extras_place ON media_extras (library_id, place);
CREATE INDEX media_extras_directory ON media_extras (directory_id);
CREATE INDEX media_extras_owner ON media_extras (library_id, substr(owner, 1, 200));
