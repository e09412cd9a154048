-- What rules did for a torrent is kept by engine: the same torrent on two engines is two. It is forgotten when the torrent is added
-- once more after it was removed.

ALTER TABLE automation_runs DROP CONSTRAINT automation_runs_rule_id_hash_key;
ALTER TABLE automation_runs ADD CONSTRAINT automation_runs_pair UNIQUE (rule_id, engine_id, hash);

CREATE TABLE automation_ledger_by_engine (
    rule_id   TEXT   NOT NULL REFERENCES automation_rules (id) ON DELETE CASCADE,
    engine_id TEXT   NOT NULL,
    hash      TEXT   NOT NULL,
    -- That of the run: what the outbox told up to there is dealt with.
    position  BIGINT NOT NULL,
    PRIMARY KEY (rule_id, engine_id, hash)
);

-- Of torrents that no engine lists nothing stays.
INSERT INTO automation_ledger_by_engine (rule_id, engine_id, hash, position)
    SELECT l.rule_id, s.engine_id, l.hash, l.position
    FROM automation_ledger l JOIN torrent_snapshots s ON s.hash = l.hash;
DROP TABLE automation_ledger;
ALTER TABLE automation_ledger_by_engine RENAME TO automation_ledger;
-- A torrent that is added once more is forgotten of all rules.
CREATE INDEX automation_ledger_torrents ON automation_ledger (engine_id, hash);
