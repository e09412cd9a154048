-- Groups of items that may be the same film or episode, and plans that clean them up.

-- The last detection that went through.
CREATE TABLE media_duplicate_scans (
    -- There is one row at most.
    one    INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
    -- Digest of everything that the groups follow from.
    digest TEXT    NOT NULL,
    at     INTEGER NOT NULL
) STRICT;

CREATE TABLE media_duplicate_groups (
    id                  TEXT    NOT NULL PRIMARY KEY,
    -- What the members have in common.
    group_key           TEXT    NOT NULL,
    -- Digest of that key: a key may be longer than an index holds.
    key_digest          TEXT    NOT NULL UNIQUE,
    group_type          TEXT    NOT NULL CHECK (group_type IN ('file', 'show_folder')),
    reason              TEXT    NOT NULL,
    status              TEXT    NOT NULL CHECK (status IN ('open', 'ignored', 'resolved')),
    -- 0 to 100.
    confidence          INTEGER NOT NULL,
    requires_review     INTEGER NOT NULL CHECK (requires_review IN (0, 1)),
    -- Bytes of all members but the best one.
    savings             INTEGER NOT NULL,
    -- NULL: somebody has to choose.
    recommended_item_id TEXT,
    -- JSON: the verdict on each member.
    recommendation      TEXT    NOT NULL,
    -- JSON: words.
    warnings            TEXT    NOT NULL,
    -- Grows whenever something of the group or of its members changes.
    version             INTEGER NOT NULL,
    -- Digest of all that the version stands for.
    content_digest      TEXT    NOT NULL,
    -- Number of members.
    members             INTEGER NOT NULL,
    -- Title of the best member, in small letters, for the order of lists.
    title_key           TEXT    NOT NULL,
    ignored_reason      TEXT,
    ignored_by          TEXT,
    ignored_at          INTEGER,
    resolved_by         TEXT,
    resolved_at         INTEGER,
    created_at          INTEGER NOT NULL,
    updated_at          INTEGER NOT NULL
) STRICT;
CREATE INDEX media_duplicate_groups_status ON media_duplicate_groups (status, id);

CREATE TABLE media_duplicate_candidates (
    group_id   TEXT    NOT NULL REFERENCES media_duplicate_groups (id) ON DELETE CASCADE,
    item_id    TEXT    NOT NULL,
    library_id TEXT    NOT NULL,
    media_type TEXT    NOT NULL,
    -- What lists are searched by, in small letters.
    title_key  TEXT    NOT NULL,
    path_key   TEXT    NOT NULL,
    -- Bytes of all files of the item.
    size       INTEGER NOT NULL,
    quality    INTEGER NOT NULL,
    -- 1: the best one.
    rank       INTEGER NOT NULL,
    PRIMARY KEY (group_id, item_id)
) STRICT;
CREATE INDEX media_duplicate_candidates_item ON media_duplicate_candidates (item_id);

CREATE TABLE media_duplicate_plans (
    id               TEXT    NOT NULL PRIMARY KEY,
    scope            TEXT    NOT NULL CHECK (scope IN ('keep_one', 'delete_one')),
    group_id         TEXT    NOT NULL,
    group_version    INTEGER NOT NULL,
    status           TEXT    NOT NULL CHECK (status IN ('pending', 'running', 'completed', 'partial', 'failed')),
    -- JSON: the plan as it was shown, with the state of each file at that time.
    plan             TEXT    NOT NULL,
    expected_savings INTEGER NOT NULL,
    actual_savings   INTEGER NOT NULL,
    error            TEXT,
    created_by       TEXT,
    created_at       INTEGER NOT NULL,
    started_at       INTEGER,
    ended_at         INTEGER
) STRICT;
CREATE INDEX media_duplicate_plans_group ON media_duplicate_plans (group_id, status, created_at);
CREATE INDEX media_duplicate_plans_status ON media_duplicate_plans (status, created_at);

-- Journal of the plans that were carried out: a row is there before its step begins.
CREATE TABLE media_duplicate_steps (
    id          TEXT    NOT NULL PRIMARY KEY,
    plan_id     TEXT    NOT NULL REFERENCES media_duplicate_plans (id) ON DELETE CASCADE,
    -- Position in the plan.
    position    INTEGER NOT NULL,
    action      TEXT    NOT NULL CHECK (action IN ('trash')),
    status      TEXT    NOT NULL CHECK (status IN ('running', 'completed', 'skipped', 'failed')),
    item_id     TEXT    NOT NULL,
    path        TEXT    NOT NULL,
    -- Record of the file in the trash.
    trash_id    TEXT,
    -- Why it was skipped, or failed.
    message     TEXT,
    created_at  INTEGER NOT NULL,
    updated_at  INTEGER NOT NULL,
    UNIQUE (plan_id, position)
) STRICT;
CREATE INDEX media_duplicate_steps_trash ON media_duplicate_steps (status, updated_at, id);
