-- Automation: rules, what is still to be run for them, what was done, and what they told.

CREATE TABLE automation_rules (
    id          TEXT    NOT NULL PRIMARY KEY,
    name        TEXT    NOT NULL,
    description TEXT,
    -- Any text; one that nothing fires never runs.
    trigger_key TEXT    NOT NULL,
    -- JSON arrays, as they came.
    conditions  TEXT    NOT NULL,
    actions     TEXT    NOT NULL,
    is_enabled  INTEGER NOT NULL CHECK (is_enabled IN (0, 1)),
    -- The higher, the earlier.
    priority    INTEGER NOT NULL,
    created_at  INTEGER NOT NULL,
    updated_at  INTEGER NOT NULL
) STRICT;

-- A run that is decided and not ended. It is there before its first action begins, and gone with the record of its outcome.
CREATE TABLE automation_runs (
    id           TEXT    NOT NULL PRIMARY KEY,
    rule_id      TEXT    NOT NULL REFERENCES automation_rules (id) ON DELETE CASCADE,
    trigger_key  TEXT    NOT NULL,
    -- The torrent it is about; NULL for an event without one.
    engine_id    TEXT,
    hash         TEXT,
    -- JSON: the torrent, or the event, when it was decided.
    context      TEXT    NOT NULL,
    -- Where the outbox stood when it was decided.
    position     INTEGER NOT NULL,
    -- Found by looking at what is complete, not told by an event.
    is_backfill  INTEGER NOT NULL CHECK (is_backfill IN (0, 1)),
    -- Runs are begun in this order.
    sequence     INTEGER NOT NULL,
    state        TEXT    NOT NULL CHECK (state IN ('waiting', 'running')),
    -- The action that is begun next, or was begun last, from 0.
    step         INTEGER NOT NULL,
    -- The rule's updated_at when the run began.
    rule_version INTEGER,
    created_at   INTEGER NOT NULL,
    UNIQUE (rule_id, hash)
) STRICT;

CREATE INDEX automation_runs_order ON automation_runs (state, sequence);

-- The torrents that a rule is done with.
CREATE TABLE automation_ledger (
    rule_id  TEXT    NOT NULL REFERENCES automation_rules (id) ON DELETE CASCADE,
    hash     TEXT    NOT NULL,
    -- That of the run: what the outbox told up to there is dealt with.
    position INTEGER NOT NULL,
    PRIMARY KEY (rule_id, hash)
) STRICT, WITHOUT ROWID;

CREATE TABLE automation_logs (
    id         TEXT    NOT NULL PRIMARY KEY,
    rule_id    TEXT    NOT NULL REFERENCES automation_rules (id) ON DELETE CASCADE,
    status     TEXT    NOT NULL CHECK (status IN ('success', 'failed')),
    hash       TEXT,
    -- JSON.
    context    TEXT    NOT NULL,
    message    TEXT,
    -- How often it ended so, one time after the other, and when last.
    attempts   INTEGER NOT NULL,
    last_at    INTEGER NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;

CREATE INDEX automation_logs_newest ON automation_logs (rule_id, created_at, id);
CREATE INDEX automation_logs_torrent ON automation_logs (rule_id, hash, created_at);

-- The actions that rules use, as they were last provided: what is missing can still be named.
CREATE TABLE automation_actions (
    id       TEXT    NOT NULL PRIMARY KEY,
    label    TEXT    NOT NULL,
    category TEXT    NOT NULL,
    plugin   TEXT    NOT NULL
) STRICT, WITHOUT ROWID;
