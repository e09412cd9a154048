-- Imports of the titledb data set. What they import lies in a store beside the database.
CREATE TABLE titledb_imports (
    id               TEXT    NOT NULL PRIMARY KEY,
    -- pending, running, completed, failed, cancelled
    status           TEXT    NOT NULL,
    -- 1 while it is pending or running, NULL afterwards: one import at a time, whoever asks.
    active           INTEGER UNIQUE,
    -- The directory of the files.
    source_path      TEXT    NOT NULL,
    -- The job that does it; NULL until that is stored.
    job_id           TEXT,
    -- Somebody asked it to end.
    stop_requested   INTEGER NOT NULL DEFAULT 0 CHECK (stop_requested IN (0, 1)),
    started_at       INTEGER,
    completed_at     INTEGER,
    failed_at        INTEGER,
    error_message    TEXT,
    -- JSON array of names of files.
    files_imported   TEXT    NOT NULL DEFAULT '[]',
    records_imported INTEGER NOT NULL DEFAULT 0,
    -- JSON object.
    stats            TEXT,
    strategy         TEXT,
    -- When the newest of the files was made.
    dataset_date     INTEGER,
    created_at       INTEGER NOT NULL,
    updated_at       INTEGER NOT NULL
) STRICT;
CREATE INDEX titledb_imports_created ON titledb_imports (created_at);
