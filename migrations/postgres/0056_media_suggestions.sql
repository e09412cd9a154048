-- Titles of the data set that an item may be by their likeness. None of them is its id until somebody says so.

CREATE TABLE media_suggestions (
    item_id    TEXT    NOT NULL REFERENCES media_items (id) ON DELETE CASCADE,
    titledb_id TEXT    NOT NULL,
    title      TEXT    NOT NULL,
    year       BIGINT,
    -- Hundredths.
    score      BIGINT  NOT NULL,
    PRIMARY KEY (item_id, titledb_id)
);
