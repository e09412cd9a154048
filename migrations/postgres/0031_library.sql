-- The media library: what lies on the disk below the directories that people name, and what it is.

CREATE TABLE media_libraries (
    id                    TEXT    NOT NULL PRIMARY KEY,
    name                  TEXT    NOT NULL,
    kind                  TEXT    NOT NULL CHECK (kind IN ('tv', 'anime', 'movie', 'music', 'audiobook', 'general')),
    -- The directory, absolute, links resolved as far as it existed when it was named.
    path                  TEXT    NOT NULL,
    preset                TEXT    NOT NULL CHECK (preset IN ('plex', 'jellyfin', 'emby', 'kodi', 'custom')),
    template              TEXT,
    mode                  TEXT    NOT NULL CHECK (mode IN ('rename_in_place', 'rename_move', 'copy', 'hardlink', 'symlink')),
    auto_organize         BOOLEAN NOT NULL,
    is_enabled            BOOLEAN NOT NULL,
    -- NULL: no periodic scan.
    scan_interval_minutes BIGINT,
    -- When a scan last went through.
    last_scan_at          BIGINT,
    watch_enabled         BOOLEAN NOT NULL,
    scan_on_startup       BOOLEAN NOT NULL,
    nfo_enabled           BOOLEAN NOT NULL,
    artwork_enabled       BOOLEAN NOT NULL,
    created_at            BIGINT  NOT NULL,
    updated_at            BIGINT  NOT NULL
);

-- What a scan saw of a directory. A place is the path below the library's; one that is not UTF-8 is percent-encoded behind a
-- slash, with which no other begins.
CREATE TABLE media_directories (
    id         TEXT    NOT NULL PRIMARY KEY,
    library_id TEXT    NOT NULL REFERENCES media_libraries (id) ON DELETE CASCADE,
    -- Empty: the library's own directory.
    place      TEXT COLLATE "C" NOT NULL,
    -- The file system it lay on, and its number there; NULL: to be learnt anew.
    device     BIGINT,
    inode      BIGINT,
    -- Nanoseconds since 1970.
    mtime      BIGINT  NOT NULL,
    -- When its entries were read. NULL: they were not all stored, or may still change without a trace.
    read_at    BIGINT
);
-- A place may be longer than an index of PostgreSQL holds.
CREATE UNIQUE INDEX media_directories_place ON media_directories (library_id, md5(place));

CREATE TABLE media_items (
    id                 TEXT    NOT NULL PRIMARY KEY,
    library_id         TEXT    NOT NULL REFERENCES media_libraries (id) ON DELETE CASCADE,
    directory_id       TEXT    NOT NULL REFERENCES media_directories (id) ON DELETE CASCADE,
    -- As that of a directory.
    place              TEXT COLLATE "C" NOT NULL,
    media_type         TEXT    NOT NULL,
    title              TEXT    NOT NULL,
    sort_title         TEXT,
    -- What lists are sorted and searched by: the title in small letters.
    title_key          TEXT COLLATE "C" NOT NULL,
    -- Where the alphabet has it: A to Z, or #.
    letter             TEXT COLLATE "C" NOT NULL,
    year               BIGINT,
    season             BIGINT,
    episode            BIGINT,
    episode_end        BIGINT,
    match_status       TEXT    NOT NULL CHECK (match_status IN ('unmatched', 'matched', 'manual')),
    -- Hundredths.
    confidence         BIGINT  NOT NULL,
    locked             BOOLEAN NOT NULL,
    duplicate_group_id TEXT,
    series_titledb_id  TEXT,
    created_at         BIGINT  NOT NULL,
    updated_at         BIGINT  NOT NULL
);
-- A place may be longer than an index of PostgreSQL holds.
CREATE UNIQUE INDEX media_items_place ON media_items (library_id, md5(place));
CREATE INDEX media_items_directory ON media_items (directory_id);
CREATE INDEX media_items_title ON media_items (title_key, created_at, id);
CREATE INDEX media_items_created ON media_items (created_at, id);
CREATE INDEX media_items_updated ON media_items (updated_at, id);
CREATE INDEX media_items_year ON media_items (year, id);
CREATE INDEX media_items_status ON media_items (match_status);

-- One a file; an item has one.
CREATE TABLE media_files (
    id                 TEXT    NOT NULL PRIMARY KEY,
    item_id            TEXT    NOT NULL UNIQUE REFERENCES media_items (id) ON DELETE CASCADE,
    size               BIGINT  NOT NULL,
    -- Nanoseconds since 1970.
    mtime              BIGINT  NOT NULL,
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
    probe_attempts     BIGINT  NOT NULL,
    created_at         BIGINT  NOT NULL
);

-- A folder right below a library's directory that holds episodes.
CREATE TABLE media_shows (
    id            TEXT    NOT NULL PRIMARY KEY,
    library_id    TEXT    NOT NULL REFERENCES media_libraries (id) ON DELETE CASCADE,
    place         TEXT COLLATE "C" NOT NULL,
    media_type    TEXT    NOT NULL CHECK (media_type IN ('tv', 'anime')),
    title         TEXT    NOT NULL,
    year          BIGINT,
    titledb_id    TEXT,
    provider_a_id TEXT,
    -- Equal for folders of one show.
    canonical_key TEXT COLLATE "C" NOT NULL,
    episode_count BIGINT  NOT NULL,
    created_at    BIGINT  NOT NULL,
    updated_at    BIGINT  NOT NULL,
    UNIQUE (library_id, place)
);
