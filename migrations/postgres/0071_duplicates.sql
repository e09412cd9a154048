-- Groups of items that may be the same film or episode, and plans that clean them up.

-- The last detection that went through.
CREATE TABLE media_duplicate_scans (
    -- There is one row at most.
    one    BIGINT NOT NULL PRIMARY KEY CHECK (one = 1),
    -- Digest of everything that the groups follow from.
    digest TEXT    NOT NULL,
    at     BIGINT NOT NULL
);

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
    confidence          BIGINT NOT NULL,
    requires_review     BOOLEAN NOT NULL,
    -- Bytes of all members but the best one.
    savings             BIGINT NOT NULL,
    -- NULL: somebody has to choose.
    recommended_item_id TEXT,
    -- JSON: the verdict on each member.
    recommendation      TEXT    NOT NULL,
    -- JSON: words.
    warnings            TEXT    NOT NULL,
    -- Grows whenever something of the group or of its members changes.
    version             BIGINT NOT NULL,
    -- Digest of all that the version stands for.
    content_digest      TEXT    NOT NULL,
    -- Number of members.
    members             BIGINT NOT NULL,
    -- Title of the best member, in small letters, for the order of lists.
    title_key           TEXT COLLATE "C" NOT NULL,
    ignored_reason      TEXT,
    ignored_by          TEXT,
    ignored_at          BIGINT,
    resolved_by         TEXT,
    resolved_at         BIGINT,
    created_at          BIGINT NOT NULL,
    updated_at          BIGINT NOT NULL
);
CREATE INDEX media_duplicate_groups_status ON media_duplicate_groups (status, id);

CREATE TABLE media_duplicate_candidates (
    group_id   TEXT    NOT NULL REFERENCES media_duplicate_groups (id) ON DELETE CASCADE,
    item_id    TEXT    NOT NULL,
    library_id TEXT    NOT NULL,
    media_type TEXT    NOT NULL,
    -- What lists are searched by, in small letters.
    title_key  TEXT COLLATE "C" NOT NULL,
    path_key   TEXT    NOT NULL,
    -- Bytes of all files of the item.
    size       BIGINT NOT NULL,
    quality    BIGINT NOT NULL,
    -- 1: the best one.
    rank       BIGINT NOT NULL,
    PRIMARY KEY (group_id, item_id)
);
CREATE INDEX media_duplicate_candidates_item ON media_duplicate_candidates (item_id);

CREATE TABLE media_duplicate_plans (
    id               TEXT    NOT NULL PRIMARY KEY,
    scope            TEXT    NOT NULL CHECK (scope IN ('keep_one', 'delete_one')),
    group_id         TEXT    NOT NULL,
    group_version    BIGINT NOT NULL,
    status           TEXT    NOT NULL CHECK (status IN ('pending', 'running', 'completed', 'partial', 'failed')),
    -- JSON: the plan as it was shown, with the state of each file at that time.
    plan             TEXT    NOT NULL,
    expected_savings BIGINT NOT NULL,
    actual_savings   BIGINT NOT NULL,
    error            TEXT,
    created_by       TEXT,
    created_at       BIGINT NOT NULL,
    started_at       BIGINT,
    ended_at         BIGINT
);
CREATE INDEX media_duplicate_plans_group ON media_duplicate_plans (group_id, status, created_at);
CREATE INDEX media_duplicate_plans_status ON media_duplicate_plans (status, created_at);

-- Journal of the plans that were carried out: a row is there before its step begins.
CREATE TABLE media_duplicate_steps (
    id          TEXT    NOT NULL PRIMARY KEY,
    plan_id     TEXT    NOT NULL REFERENCES media_duplicate_plans (id) ON DELETE CASCADE,
    -- Position in the plan.
    position    BIGINT NOT NULL,
    action      TEXT    NOT NULL CHECK (action IN ('trash')),
    status      TEXT    NOT NULL CHECK (status IN ('running', 'completed', 'skipped', 'failed')),
    item_id     TEXT    NOT NULL,
    path        TEXT    NOT NULL,
    -- Record of the file in the trash.
    trash_id    TEXT,
    -- Why it was skipped, or failed.
    message     TEXT,
    created_at  BIGINT NOT NULL,
    updated_at  BIGINT NOT NULL,
    UNIQUE (plan_id, position)
);
CREATE INDEX media_duplicate_steps_trash ON media_duplicate_steps (status, updated_at, id);
