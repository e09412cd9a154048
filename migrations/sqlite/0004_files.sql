-- The file manager: its trash (what was deleted, where it came from and where it lies), and where it is at work.

CREATE TABLE file_trash (
    id            TEXT    NOT NULL PRIMARY KEY,
    -- Absolute: the root whose trash directory holds the item.
    storage_root  TEXT    NOT NULL,
    -- Below storage_root, the place it came from, as people see it …
    original_path TEXT    NOT NULL,
    -- … and its percent-encoded bytes, where they are not UTF-8.
    original_raw  TEXT,
    name          TEXT    NOT NULL,
    -- Absolute: where it lies.
    trash_path    TEXT    NOT NULL UNIQUE,
    is_directory  INTEGER NOT NULL CHECK (is_directory IN (0, 1)),
    -- Bytes, with everything in it.
    size          INTEGER NOT NULL,
    -- NULL: a user since deleted, or an item that was found without a record.
    deleted_by    TEXT    REFERENCES users (id) ON DELETE SET NULL,
    deleted_at    INTEGER NOT NULL,
    -- Written before the item is moved and cleared after: only a crash leaves one behind, and the next start settles it.
    pending       INTEGER NOT NULL CHECK (pending IN (0, 1))
) STRICT;

CREATE INDEX file_trash_deleted_at ON file_trash (deleted_at, id);

-- Where operations are making temporaries: written before the first byte, removed when they are gone. Rows of a process that
-- is no more say where to look for what it left.
CREATE TABLE file_temporaries (
    id           TEXT    NOT NULL PRIMARY KEY,
    -- Absolute.
    storage_root TEXT    NOT NULL,
    -- Below storage_root, percent-encoded.
    directory    TEXT    NOT NULL,
    -- They may lie anywhere below the directory, not only in it.
    whole_tree   INTEGER NOT NULL CHECK (whole_tree IN (0, 1)),
    noted_at     INTEGER NOT NULL
) STRICT;
