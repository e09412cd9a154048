-- What people and providers say of items.

CREATE TABLE media_metadata (
    id             TEXT NOT NULL PRIMARY KEY,
    item_id        TEXT NOT NULL UNIQUE REFERENCES media_items (id) ON DELETE CASCADE,
    -- Of an episode its own.
    title          TEXT,
    -- Of an episode that of its show.
    original_title TEXT,
    sort_title     TEXT,
    overview       TEXT,
    -- Midnight, UTC.
    release_date   INTEGER,
    year           INTEGER,
    -- Minutes.
    runtime        INTEGER,
    -- Lists, as JSON.
    genres         TEXT NOT NULL,
    studios        TEXT NOT NULL,
    cast_members   TEXT NOT NULL,
    crew_members   TEXT NOT NULL,
    directors      TEXT NOT NULL,
    writers        TEXT NOT NULL,
    -- 0 to 10.
    rating         REAL,
    certification  TEXT,
    tags           TEXT NOT NULL,
    -- Who said something last: a provider, `local` or `manual`.
    provider_name  TEXT,
    -- Who said each field, as JSON. What people said (`manual`) stays.
    field_sources  TEXT NOT NULL,
    -- What providers were asked, as JSON; NULL: nothing yet. Of the answer to another question nothing is kept.
    question       TEXT,
    updated_at     INTEGER NOT NULL
) STRICT;
