-- What people and providers say of shows and seasons.

CREATE TABLE media_show_metadata (
    id             TEXT NOT NULL PRIMARY KEY,
    show_id        TEXT NOT NULL UNIQUE REFERENCES media_shows (id) ON DELETE CASCADE,
    title          TEXT,
    original_title TEXT,
    sort_title     TEXT,
    overview       TEXT,
    first_aired_at INTEGER,
    year           INTEGER,
    status         TEXT,
    -- Lists, as JSON.
    networks       TEXT NOT NULL,
    genres         TEXT NOT NULL,
    studios        TEXT NOT NULL,
    cast_members   TEXT NOT NULL,
    crew_members   TEXT NOT NULL,
    -- 0 to 10.
    rating         REAL,
    certification  TEXT,
    tags           TEXT NOT NULL,
    provider_name  TEXT,
    -- Who said each field, as JSON.
    field_sources  TEXT,
    updated_at     INTEGER NOT NULL
) STRICT;

-- Only those that something was said of.
CREATE TABLE media_seasons (
    id             TEXT NOT NULL PRIMARY KEY,
    show_id        TEXT NOT NULL REFERENCES media_shows (id) ON DELETE CASCADE,
    season_number  INTEGER NOT NULL,
    title          TEXT,
    overview       TEXT,
    first_aired_at INTEGER,
    provider_name  TEXT,
    created_at     INTEGER NOT NULL,
    updated_at     INTEGER NOT NULL,
    UNIQUE (show_id, season_number)
) STRICT;
