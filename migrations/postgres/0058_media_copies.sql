-- Further files of items (other versions of a film, its other parts), extras of films and shows, and what files are known again by.

-- Equal for all files of one film or episode; NULL: to be learnt.
ALTER TABLE media_items ADD COLUMN same_key TEXT COLLATE "C";
CREATE INDEX media_items_same ON media_items (library_id, substr(same_key, 1, 200)) WHERE same_key IS NOT NULL;

-- How people call this version; NULL: as it is called without a word.
ALTER TABLE media_files ADD COLUMN label TEXT;
-- Number among the parts of what it is.
ALTER TABLE media_files ADD COLUMN part BIGINT;
-- The file system it lies on, and its number there; NULL: to be learnt.
ALTER TABLE media_files ADD COLUMN device BIGINT;
ALTER TABLE media_files ADD COLUMN inode BIGINT;
-- Digest of its head and its tail, made when it was looked into.
ALTER TABLE media_files ADD COLUMN fingerprint TEXT;

CREATE TABLE media_copies (
    id                 TEXT NOT NULL PRIMARY KEY,
    item_id            TEXT NOT NULL REFERENCES media_items (id) ON DELETE CASCADE,
    library_id         TEXT NOT NULL REFERENCES media_libraries (id) ON DELETE CASCADE,
    directory_id       TEXT NOT NULL REFERENCES media_directories (id) ON DELETE CASCADE,
    -- As that of an item.
    place              TEXT COLLATE "C" NOT NULL,
    label              TEXT,
    part               BIGINT,
    device             BIGINT,
    inode              BIGINT,
    fingerprint        TEXT,
    size               BIGINT NOT NULL,
    -- Nanoseconds since 1970.
    mtime              BIGINT NOT NULL,
    container          TEXT,
    video_codec        TEXT,
    audio_codec        TEXT,
    resolution         TEXT,
    hdr                TEXT,
    language           TEXT,
    release_group      TEXT,
    quality            TEXT,
    width              BIGINT,
    height             BIGINT,
    bitrate_kbps       BIGINT,
    duration_sec       BIGINT,
    audio_channels     BIGINT,
    frame_rate         TEXT,
    video_bit_depth    BIGINT,
    chroma_subsampling TEXT,
    color_primaries    TEXT,
    color_transfer     TEXT,
    color_space        TEXT,
    hdr_format         TEXT,
    -- filename, probe
    tech_source        TEXT,
    probed_at          BIGINT,
    probe_error        TEXT,
    probe_attempts     BIGINT NOT NULL,
    probe_after        BIGINT NOT NULL DEFAULT 0,
    created_at         BIGINT NOT NULL
);
-- A place may be longer than an index of PostgreSQL holds.
CREATE UNIQUE INDEX media_copies_place ON media_copies (library_id, md5(place));
CREATE INDEX media_copies_item ON media_copies (item_id);
CREATE INDEX media_copies_directory ON media_copies (directory_id);
CREATE INDEX media_copies_below ON media_copies (library_id, substr(place, 1, 200));
CREATE INDEX media_copies_unprobed ON media_copies (probe_attempts, probe_after, id)
    WHERE probed_at IS NULL AND probe_error IS NULL;

CREATE TABLE media_extras (
    id           TEXT NOT NULL PRIMARY KEY,
    library_id   TEXT NOT NULL REFERENCES media_libraries (id) ON DELETE CASCADE,
    directory_id TEXT NOT NULL REFERENCES media_directories (id) ON DELETE CASCADE,
    place        TEXT COLLATE "C" NOT NULL,
    type         TEXT NOT NULL,
    -- Place of the folder of its film, or of its show.
    owner        TEXT COLLATE "C" NOT NULL,
    -- It lies in the folder of this season.
    season       BIGINT,
    -- That of the one film of the folder whose name it has.
    same_key     TEXT COLLATE "C",
    size         BIGINT NOT NULL,
    mtime        BIGINT NOT NULL,
    created_at   BIGINT NOT NULL
);
-- A place may be longer than an index of PostgreSQL holds.
CREATE UNIQUE INDEX media_extras_place ON media_extras (library_id, md5(place));
CREATE INDEX media_extras_directory ON media_extras (directory_id);
CREATE INDEX media_extras_owner ON media_extras (library_id, substr(owner, 1, 200));
