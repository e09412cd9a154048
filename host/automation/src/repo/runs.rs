//! Table `automation_runs`: decided runs that have not ended.

use qm_db::{DbError, FromRow, Tx, sql};
use qm_kernel::Timestamp;
use qm_ports::action::TorrentRef;

use crate::model::run::{NewRun, Run, Waiting};
use crate::model::trigger::SCHEDULE;

sql! {
    /// Inserts nothing when the rule is missing or disabled, the pair is under way, or the ledger has it from
    /// $11 on.
    ADD = "INSERT INTO automation_runs (id, rule_id, trigger_key, engine_id, hash, context, position, is_backfill, sequence, \
            state, step, rule_version, created_at) \
        SELECT CAST($1 AS TEXT), r.id, CAST($3 AS TEXT), CAST($4 AS TEXT), CAST($5 AS TEXT), CAST($6 AS TEXT), \
            CAST($7 AS BIGINT), $8, CAST($9 AS BIGINT), 'waiting', 0, NULL, CAST($10 AS BIGINT) \
        FROM automation_rules r WHERE r.id = $2 AND r.is_enabled AND NOT EXISTS (SELECT 1 FROM automation_ledger l \
            WHERE l.rule_id = r.id AND l.engine_id = $4 AND l.hash = $5 AND l.position >= CAST($11 AS BIGINT)) \
        ON CONFLICT (rule_id, engine_id, hash) DO NOTHING";
    WAITING = "SELECT n.id, n.rule_id, r.author_id, n.hash FROM automation_runs n \
            LEFT JOIN automation_rules r ON r.id = n.rule_id \
        WHERE n.state = 'waiting' ORDER BY n.sequence LIMIT $1";
    BEGIN = "UPDATE automation_runs SET state = 'running', rule_version = (SELECT r.updated_at FROM automation_rules r \
            WHERE r.id = rule_id) WHERE id = $1 AND state = 'waiting' \
        RETURNING id, rule_id, trigger_key, engine_id, hash, context, position, is_backfill, step, rule_version";
    STEP = "UPDATE automation_runs SET step = $2 WHERE id = $1 AND state = 'running'";
    AGAIN = "UPDATE automation_runs SET state = 'waiting' WHERE id = $1 AND state = 'running'";
    LEFT = "SELECT id, rule_id, trigger_key, engine_id, hash, context, position, is_backfill, step, rule_version \
        FROM automation_runs WHERE state = 'running' ORDER BY sequence";
    DELETE = "DELETE FROM automation_runs WHERE id = $1";
    WAITS = "SELECT COUNT(*) FROM automation_runs WHERE rule_id = $1 AND hash IS NULL";
    ACTS = "SELECT COUNT(*) FROM automation_runs WHERE rule_id = $1 AND hash IS NULL AND state = 'running' AND context = $2";
    LAST = "SELECT COALESCE(MAX(sequence), 0) FROM automation_runs";
    ENGINES = "SELECT DISTINCT engine_id FROM automation_runs WHERE engine_id IS NOT NULL";
    PAIRS = "SELECT rule_id, engine_id, hash FROM automation_runs WHERE hash IS NOT NULL AND engine_id IS NOT NULL";
}

#[derive(FromRow)]
struct Row {
    id: String,
    rule_id: String,
    trigger_key: String,
    engine_id: Option<String>,
    hash: Option<String>,
    context: String,
    position: i64,
    is_backfill: bool,
    step: i64,
    rule_version: Option<i64>,
}

impl From<Row> for Run {
    fn from(row: Row) -> Self {
        let torrent = row.engine_id.zip(row.hash);
        Self {
            id: row.id,
            rule_id: row.rule_id,
            trigger: row.trigger_key,
            torrent: torrent.map(|(engine_id, hash)| TorrentRef { engine_id, hash }),
            context: row.context,
            position: row.position,
            is_backfill: row.is_backfill,
            step: usize::try_from(row.step).unwrap_or_default(),
            rule_version: row.rule_version,
        }
    }
}

/// Stores a decision. `false` when nothing is to be run: the rule is missing or disabled, a run of the pair
/// is waiting, or the ledger has the pair (for the backfill at any position, for an edge only after its own, for a time table
/// never).
pub async fn add(tx: &mut Tx, run: &NewRun, at: Timestamp) -> Result<bool, DbError> {
    let engine_id = run.torrent.as_ref().map(|torrent| torrent.engine_id.as_str());
    let hash = run.torrent.as_ref().map(|torrent| torrent.hash.as_str());
    let done_from = match run.trigger.as_str() {
        // At each due time it runs for the same torrents.
        SCHEDULE => i64::MAX,
        _ if run.is_backfill => i64::MIN,
        _ => run.position,
    };
    let added = qm_db::exec!(
        tx,
        ADD,
        &run.id,
        &run.rule_id,
        &run.trigger,
        engine_id,
        hash,
        &run.context,
        run.position,
        run.is_backfill,
        run.sequence,
        at.ms(),
        done_from,
    )
    .await?;
    Ok(added.rows() == 1)
}

/// Waiting runs, in order of execution, at most `most`.
pub async fn waiting(tx: &mut Tx, most: usize) -> Result<Vec<Waiting>, DbError> {
    type Row = (String, String, Option<String>, Option<String>);
    let rows = qm_db::all!(tx, Row, WAITING, most as i64).await?;
    let waiting = rows.into_iter().map(|(id, rule_id, author, hash)| Waiting {
        id,
        rule_id,
        author,
        hash,
    });
    Ok(waiting.collect())
}

/// Marks a run as begun. `None`: it was deleted with its rule.
pub async fn begin(tx: &mut Tx, id: &str) -> Result<Option<Run>, DbError> {
    Ok(qm_db::opt!(tx, Row, BEGIN, id).await?.map(Run::from))
}

/// Records that the actions before `step` have ended and that action `step` begins. `false`: the run was
/// deleted.
pub async fn step(tx: &mut Tx, id: &str, step: usize) -> Result<bool, DbError> {
    Ok(qm_db::exec!(tx, STEP, id, step as i64).await?.rows() == 1)
}

/// Continues an interrupted run at its last action.
pub async fn again(tx: &mut Tx, id: &str) -> Result<(), DbError> {
    let _ = qm_db::exec!(tx, AGAIN, id).await?;
    Ok(())
}

/// Runs that have begun and not ended.
pub async fn left(tx: &mut Tx) -> Result<Vec<Run>, DbError> {
    Ok(qm_db::all!(tx, Row, LEFT)
        .await?
        .into_iter()
        .map(Run::from)
        .collect())
}

/// Deletes a run; `false` when it was deleted with its rule.
pub async fn delete(tx: &mut Tx, id: &str) -> Result<bool, DbError> {
    Ok(qm_db::exec!(tx, DELETE, id).await?.rows() == 1)
}

/// True when a run of the rule that concerns no torrent has not ended.
pub async fn waits(tx: &mut Tx, rule_id: &str) -> Result<bool, DbError> {
    Ok(qm_db::value!(tx, i64, WAITS, rule_id).await? > 0)
}

/// True while the actions of a rule run for an event that is the same as this one.
pub async fn acts(tx: &mut Tx, rule_id: &str, context: &str) -> Result<bool, DbError> {
    Ok(qm_db::value!(tx, i64, ACTS, rule_id, context).await? > 0)
}

/// Highest sequence number of all runs.
pub async fn last(tx: &mut Tx) -> Result<i64, DbError> {
    qm_db::value!(tx, i64, LAST).await
}

/// Rule and torrent of every run.
pub async fn pairs(tx: &mut Tx) -> Result<Vec<(String, TorrentRef)>, DbError> {
    let rows = qm_db::all!(tx, (String, String, String), PAIRS).await?;
    let pair = |(rule_id, engine_id, hash)| (rule_id, TorrentRef { engine_id, hash });
    Ok(rows.into_iter().map(pair).collect())
}

/// Engines of the torrents of all runs.
pub async fn engines(tx: &mut Tx) -> Result<Vec<String>, DbError> {
    let rows = qm_db::all!(tx, (String,), ENGINES).await?;
    Ok(rows.into_iter().map(|(engine_id,)| engine_id).collect())
}
