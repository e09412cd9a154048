//! Table `rss_evaluations`.

use qm_db::{DbError, FromRow, Tx, sql};
use qm_kernel::{PageQuery, Timestamp};

use super::clean;
use super::history::note;
use crate::model::evaluation::Evaluation;

sql! {
    INSERT = "INSERT INTO rss_evaluations (id, rule_id, item_guid, matched_candidate_id, matched_candidate_priority, result, \
        action_taken, torrent_hash, trace, grab_id, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)";
    PAGE = "SELECT e.id, e.rule_id, e.item_guid, e.matched_candidate_id, e.matched_candidate_priority, e.result, \
        e.action_taken, e.torrent_hash, e.trace, e.grab_id, e.created_at, g.state AS grab_state, \
        g.attempts AS grab_attempts, g.error AS grab_error, g.next_attempt_at AS grab_next \
        FROM rss_evaluations e LEFT JOIN rss_grabs g ON g.id = e.grab_id \
        WHERE e.rule_id = $1 ORDER BY e.created_at DESC, e.id DESC LIMIT $2 OFFSET $3";
    COUNT = "SELECT COUNT(*) FROM rss_evaluations WHERE rule_id = $1";
    GRABBED = "UPDATE rss_evaluations SET torrent_hash = $2 WHERE grab_id = $1";
    FAILED = "UPDATE rss_evaluations SET action_taken = $2 WHERE grab_id = $1";
    PRUNE = "DELETE FROM rss_evaluations WHERE id IN (SELECT id FROM rss_evaluations WHERE created_at < $1 LIMIT $2)";
    PRUNE_RULE = "DELETE FROM rss_evaluations WHERE rule_id = $1 AND created_at < (SELECT created_at FROM rss_evaluations \
        WHERE rule_id = $1 ORDER BY created_at DESC, id DESC LIMIT 1 OFFSET $2)";
}

#[derive(FromRow)]
struct Row {
    id: String,
    rule_id: String,
    item_guid: String,
    matched_candidate_id: Option<String>,
    matched_candidate_priority: Option<i64>,
    result: String,
    action_taken: String,
    torrent_hash: Option<String>,
    trace: String,
    grab_id: Option<String>,
    created_at: i64,
    grab_state: Option<String>,
    grab_attempts: Option<i64>,
    grab_error: Option<String>,
    grab_next: Option<i64>,
}

impl From<Row> for Evaluation {
    fn from(row: Row) -> Self {
        Self {
            id: row.id,
            rule_id: row.rule_id,
            item_guid: row.item_guid,
            matched_candidate_id: row.matched_candidate_id,
            matched_candidate_priority: row.matched_candidate_priority,
            result: row.result,
            action_taken: row.action_taken,
            torrent_hash: row.torrent_hash,
            trace: serde_json::from_str(&row.trace).unwrap_or_default(),
            grab_id: row.grab_id,
            created_at: Timestamp::from_ms(row.created_at),
            grab: note(row.grab_state, row.grab_attempts, row.grab_error, row.grab_next),
        }
    }
}

pub async fn insert(tx: &mut Tx, evaluation: &Evaluation) -> Result<(), DbError> {
    qm_db::exec!(
        tx,
        INSERT,
        &evaluation.id,
        &evaluation.rule_id,
        clean(&evaluation.item_guid),
        evaluation.matched_candidate_id.as_deref(),
        evaluation.matched_candidate_priority,
        &evaluation.result,
        &evaluation.action_taken,
        evaluation.torrent_hash.as_deref(),
        clean(&evaluation.trace.to_string()),
        evaluation.grab_id.as_deref(),
        evaluation.created_at.ms(),
    )
    .await?
    .exactly(1)
}

/// One page of a rule's evaluations, the newest first, and their total number.
pub async fn page(tx: &mut Tx, rule_id: &str, page: PageQuery) -> Result<(Vec<Evaluation>, u64), DbError> {
    let total = qm_db::value!(tx, i64, COUNT, rule_id).await?.unsigned_abs();
    let rows = qm_db::all!(
        tx,
        Row,
        PAGE,
        rule_id,
        page.page_size as i64,
        page.offset() as i64
    )
    .await?;
    Ok((rows.into_iter().map(Evaluation::from).collect(), total))
}

pub async fn grabbed(tx: &mut Tx, grab_id: &str, hash: &str) -> Result<(), DbError> {
    let _ = qm_db::exec!(tx, GRABBED, grab_id, hash).await?;
    Ok(())
}

/// Records that the download of an evaluation failed.
pub async fn failed(tx: &mut Tx, grab_id: &str, action: &str) -> Result<(), DbError> {
    let _ = qm_db::exec!(tx, FAILED, grab_id, action).await?;
    Ok(())
}

/// Deletes up to `most` evaluations older than `before`; returns their number.
pub async fn prune(tx: &mut Tx, before: Timestamp, most: usize) -> Result<u64, DbError> {
    Ok(qm_db::exec!(tx, PRUNE, before.ms(), most as i64).await?.rows())
}

/// Deletes all but the newest `kept` evaluations of a rule.
pub async fn prune_rule(tx: &mut Tx, rule_id: &str, kept: usize) -> Result<u64, DbError> {
    Ok(qm_db::exec!(tx, PRUNE_RULE, rule_id, kept as i64).await?.rows())
}
