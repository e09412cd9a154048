-- Merges of folders of one show that are there twice.

CREATE TABLE media_show_merges (
    id         TEXT    NOT NULL PRIMARY KEY,
    -- The show that stays.
    show_id    TEXT    NOT NULL,
    -- interrupted: the server ended in the middle of it.
    status     TEXT    NOT NULL CHECK (status IN ('pending', 'running', 'interrupted', 'completed', 'partial', 'failed')),
    -- JSON: the plan as it was shown, with the state of each file at that time.
    plan       TEXT    NOT NULL,
    -- Bytes.
    freed      INTEGER NOT NULL,
    error      TEXT,
    created_by TEXT,
    created_at INTEGER NOT NULL,
    started_at INTEGER,
    ended_at   INTEGER
) STRICT;
CREATE INDEX media_show_merges_show ON media_show_merges (show_id, status, created_at);
CREATE INDEX media_show_merges_status ON media_show_merges (status, created_at);

-- Journal of the merges: a row is there before its step begins.
CREATE TABLE media_show_merge_steps (
    id         TEXT    NOT NULL PRIMARY KEY,
    merge_id   TEXT    NOT NULL REFERENCES media_show_merges (id) ON DELETE CASCADE,
    -- Position in the plan.
    position   INTEGER NOT NULL,
    action     TEXT    NOT NULL CHECK (action IN ('trash', 'move', 'rescue', 'folder')),
    status     TEXT    NOT NULL CHECK (status IN ('running', 'completed', 'skipped', 'failed')),
    path       TEXT    NOT NULL,
    -- Of a file that moves.
    target     TEXT,
    -- Record of the file or folder in the trash.
    trash_id   TEXT,
    -- Bytes of a folder that are free when it is gone.
    freed      INTEGER NOT NULL,
    -- Why it was skipped, or failed.
    message    TEXT,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    UNIQUE (merge_id, position)
) STRICT;
