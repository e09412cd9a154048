-- Presets of names that people stored for their media files.

CREATE TABLE media_name_presets (
    id         TEXT   NOT NULL PRIMARY KEY,
    -- No two presets have the same.
    name       TEXT   NOT NULL UNIQUE,
    -- Preset that gives the templates which are not here, and the form of what is added to names.
    base       TEXT   NOT NULL,
    -- JSON object: templates by the kind of content.
    templates  TEXT   NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
);
