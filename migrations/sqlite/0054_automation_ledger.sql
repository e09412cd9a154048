-- What rules did for a torrent is kept by engine: the same torrent on two engines is two. It is forgotten when the torrent is added
-- once more after it was removed.

CREATE TABLE automation_runs_by_engine (
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
    UNIQUE (rule_id, engine_id, hash)
) STRICT;

INSERT INTO automation_runs_by_engine (id, rule_id, trigger_key, engine_id, hash, context, position, is_backfill, sequence, state, step, rule_version, created_at)
    SELECT id, rule_id, trigger_key, engine_id, hash, context, position, is_backfill, sequence, state, step, rule_version, created_at FROM automation_runs;
DROP TABLE automation_runs;
ALTER TABLE automation_runs_by_engine RENAME TO automation_runs;
CREATE INDEX automation_runs_order ON automation_runs (state, sequence);

CREATE TABLE automation_ledger_by_engine (
    rule_id   TEXT    NOT NULL REFERENCES automation_rules (id) ON DELETE CASCADE,
    engine_id TEXT    NOT NULL,
    hash      TEXT    NOT NULL,
    -- That of the run: what the outbox told up to there is dealt with.
    position  INTEGER NOT NULL,
    PRIMARY KEY (rule_id, engine_id, hash)
) STRICT, WITHOUT ROWID;

-- Of torrents that no engine lists nothing stays.
INSERT INTO automation_ledger_by_engine (rule_id, engine_id, hash, position)
    SELECT l.rule_id, s.engine_id, l.hash, l.position
    FROM automation_ledger l JOIN torrent_snapshots s ON s.hash = l.hash;
DROP TABLE automation_ledger;
ALTER TABLE automation_ledger_by_engine RENAME TO automation_ledger;
-- A torrent that is added once more is forgotten of all rules.
CREATE INDEX automation_ledger_torrents ON automation_ledger (engine_id, hash);
