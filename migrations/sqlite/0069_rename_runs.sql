-- Runs of renames, and the journal of their steps.

-- Held for a moment by whoever begins a run, so that two at once see each other, on two servers too.
CREATE TABLE media_rename_turn (
    id   INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
    -- Rises with every run that begins.
    turn INTEGER NOT NULL
) STRICT;
INSERT INTO media_rename_turn (id, turn) VALUES (1, 0);

CREATE TABLE media_rename_runs (
    id           TEXT   NOT NULL PRIMARY KEY,
    -- Directory of the library, absolute.
    library_path TEXT   NOT NULL,
    mode         TEXT   NOT NULL,
    -- `applying`, `undoing` or `over`. Until it is over, no other run may touch the library.
    phase        TEXT   NOT NULL,
    -- User who asked for it last.
    created_by   TEXT   NOT NULL,
    created_at   INTEGER NOT NULL,
    -- When its server said last that it is at work; one that is silent for a minute has left it.
    seen_at      INTEGER NOT NULL
) STRICT;
CREATE INDEX media_rename_runs_open ON media_rename_runs (phase) WHERE phase <> 'over';
CREATE INDEX media_rename_runs_age ON media_rename_runs (created_at);

-- A row is here before its step begins.
CREATE TABLE media_rename_operations (
    id           TEXT   NOT NULL PRIMARY KEY,
    run_id       TEXT   NOT NULL REFERENCES media_rename_runs (id) ON DELETE CASCADE,
    -- Place in the run, from 0; it is undone the other way round.
    position     INTEGER NOT NULL,
    -- Absolute paths; bytes that are not UTF-8 are U+FFFD.
    source       TEXT NOT NULL,
    destination  TEXT,
    -- The source, percent-encoded, where the text is not the whole truth.
    source_raw   TEXT,
    -- `rename`, `move`, `copy`, `hardlink`, `symlink` or `delete`.
    action       TEXT   NOT NULL,
    -- Kind of its content, e.g. `tv`.
    kind         TEXT   NOT NULL,
    mode         TEXT   NOT NULL,
    -- `begun`, `success`, `failed` or `skipped`.
    status       TEXT   NOT NULL,
    message      TEXT,
    torrent_hash TEXT,
    -- The source as it was planned: bytes, nanoseconds since 1970, and which file it is.
    size         INTEGER NOT NULL,
    mtime        INTEGER NOT NULL,
    device       INTEGER NOT NULL,
    inode        INTEGER NOT NULL,
    -- The file at the destination, as the step left it.
    placed_size  INTEGER,
    placed_mtime INTEGER,
    placed_inode INTEGER,
    -- Folders that were not there before; undoing removes them where they are empty.
    made         INTEGER NOT NULL,
    -- True while the step is being undone.
    undoing      INTEGER NOT NULL CHECK (undoing IN (0, 1)),
    undone_at    INTEGER,
    created_at   INTEGER NOT NULL
) STRICT;
CREATE INDEX media_rename_operations_run ON media_rename_operations (run_id, position);
-- PostgreSQL indexes only the beginning of a path.
CREATE INDEX media_rename_operations_source ON media_rename_operations (substr(source, 1, 200));
CREATE INDEX media_rename_operations_destination ON media_rename_operations (substr(destination, 1, 200));
