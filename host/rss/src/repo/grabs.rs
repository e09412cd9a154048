//! Table `rss_grabs`.

use qm_db::{DbError, FromRow, Tx, sql};
use qm_kernel::Timestamp;

use super::clean;
use crate::model::grab::{Grab, GrabState, title_key};

macro_rules! columns {
    () => {
        "id, rule_id, history_id, candidate_id, priority_order, identity, title, info_hash, source, save_path, state, \
         attempts, engine_id, error, created_at"
    };
}

sql! {
    /// Inserts nothing where an equal grab exists.
    INSERT = "INSERT INTO rss_grabs (id, rule_id, history_id, candidate_id, priority_order, identity, title, title_key, \
        info_hash, source, save_path, state, attempts, engine_id, next_attempt_at, created_at) \
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, 'pending', 0, $12, $13, $13) ON CONFLICT DO NOTHING";
    FIND = concat!("SELECT ", columns!(), " FROM rss_grabs WHERE id = $1");
    DUE = concat!("SELECT ", columns!(), " FROM rss_grabs WHERE state = 'pending' AND next_attempt_at <= $1 \
        ORDER BY next_attempt_at, created_at, id LIMIT $2");
    /// A grab that is pending, or that still has a replaced torrent to remove.
    OPEN = "SELECT 1 FROM rss_grabs WHERE state = 'pending' UNION ALL \
        SELECT 1 FROM rss_grabs WHERE retires IS NOT NULL LIMIT 1";
    /// Best place among the pending grabs of a release.
    DECIDED = "SELECT MIN(priority_order) FROM rss_grabs WHERE rule_id = $1 AND identity = $2 AND state = 'pending'";
    HAS_HASH = "SELECT 1 FROM rss_grabs WHERE info_hash = $1 AND state IN ('pending', 'done') LIMIT 1";
    HAS_TITLE = "SELECT 1 FROM rss_grabs WHERE rule_id = $1 AND title_key = $2 AND state IN ('pending', 'done') LIMIT 1";
    /// Another grab has brought the torrent to a client, before this one or while this one was asking.
    TWIN = "SELECT 1 FROM rss_grabs WHERE torrent_hash = $1 AND id <> $2 AND state = 'done' \
        AND (CAST($3 AS BOOLEAN) OR ended_at >= $4) LIMIT 1";
    /// Another grab has brought the torrent at any time, even if no client has it any more.
    BROUGHT = "SELECT 1 FROM rss_grabs WHERE (torrent_hash = $1 OR info_hash = $1) AND id <> $2 AND state = 'done' LIMIT 1";
    BEGIN = "UPDATE rss_grabs SET attempts = attempts + 1, engine_id = $2 WHERE id = $1 AND state = 'pending'";
    AGAIN = "UPDATE rss_grabs SET next_attempt_at = $2, error = $3 WHERE id = $1 AND state = 'pending'";
    END = "UPDATE rss_grabs SET state = $2, error = $3, torrent_hash = $4, retires = $5, ended_at = $6, info_hash = $7 \
        WHERE id = $1 AND state = 'pending'";
    /// Resets the grabs of a hash, so that a user's request is not a duplicate.
    RELEASE = "UPDATE rss_grabs SET state = 'reset' WHERE (info_hash = $1 OR torrent_hash = $1) AND state IN ('pending', 'done')";
    RELEASE_ITEM = "UPDATE rss_grabs SET state = 'reset' WHERE history_id = $1 AND state IN ('pending', 'done')";
    RETIRING = "SELECT id, retires FROM rss_grabs WHERE retires IS NOT NULL ORDER BY ended_at, id LIMIT $1";
    RETIRED = "UPDATE rss_grabs SET retires = NULL WHERE id = $1";
    PRUNE = "DELETE FROM rss_grabs WHERE id IN (SELECT id FROM rss_grabs WHERE state IN ('failed', 'superseded', 'reset') \
        AND retires IS NULL AND created_at < $1 LIMIT $2)";
}

#[derive(FromRow)]
struct Row {
    id: String,
    rule_id: Option<String>,
    history_id: Option<String>,
    candidate_id: Option<String>,
    priority_order: i64,
    identity: Option<String>,
    title: String,
    info_hash: Option<String>,
    source: String,
    save_path: Option<String>,
    state: String,
    attempts: i64,
    engine_id: Option<String>,
    error: Option<String>,
    created_at: i64,
}

impl From<Row> for Grab {
    fn from(row: Row) -> Self {
        Self {
            id: row.id,
            rule_id: row.rule_id,
            history_id: row.history_id,
            candidate_id: row.candidate_id,
            priority_order: row.priority_order,
            identity: row.identity,
            title: row.title,
            info_hash: row.info_hash,
            source: row.source,
            save_path: row.save_path,
            state: GrabState::from_word(&row.state),
            attempts: row.attempts,
            engine_id: row.engine_id,
            error: row.error,
            created_at: Timestamp::from_ms(row.created_at),
        }
    }
}

/// Stores a decision; `false` when an equal grab exists.
pub async fn decide(tx: &mut Tx, grab: &Grab) -> Result<bool, DbError> {
    let done = qm_db::exec!(
        tx,
        INSERT,
        &grab.id,
        grab.rule_id.as_deref(),
        grab.history_id.as_deref(),
        grab.candidate_id.as_deref(),
        grab.priority_order,
        grab.identity.as_deref().map(clean),
        clean(&grab.title),
        clean(&title_key(&grab.title)),
        grab.info_hash.as_deref(),
        clean(&grab.source),
        grab.save_path.as_deref(),
        grab.engine_id.as_deref(),
        grab.created_at.ms(),
    )
    .await?;
    Ok(done.rows() > 0)
}

pub async fn find(tx: &mut Tx, id: &str) -> Result<Option<Grab>, DbError> {
    Ok(qm_db::opt!(tx, Row, FIND, id).await?.map(Grab::from))
}

/// Pending grabs that are due, the longest waiting first.
pub async fn due(tx: &mut Tx, now: Timestamp, most: usize) -> Result<Vec<Grab>, DbError> {
    let rows = qm_db::all!(tx, Row, DUE, now.ms(), most as i64).await?;
    Ok(rows.into_iter().map(Grab::from).collect())
}

/// True when any grab is pending, or has a replaced torrent to remove.
pub async fn any_open(tx: &mut Tx) -> Result<bool, DbError> {
    Ok(qm_db::opt!(tx, (i32,), OPEN).await?.is_some())
}

/// Best place among the pending grabs of a release.
pub async fn decided(tx: &mut Tx, rule_id: &str, identity: &str) -> Result<Option<i64>, DbError> {
    qm_db::value!(tx, Option<i64>, DECIDED, rule_id, clean(identity)).await
}

pub async fn has_hash(tx: &mut Tx, hash: &str) -> Result<bool, DbError> {
    Ok(qm_db::opt!(tx, (i32,), HAS_HASH, hash).await?.is_some())
}

/// True when a rule has grabbed an item with this title.
pub async fn has_title(tx: &mut Tx, rule_id: &str, title: &str) -> Result<bool, DbError> {
    let key = clean(&title_key(title));
    Ok(qm_db::opt!(tx, (i32,), HAS_TITLE, rule_id, key).await?.is_some())
}

/// True when another grab has brought the torrent to a client: at any time if the client had it already
/// (`existed`), otherwise since this grab `began` to ask.
pub async fn has_twin(
    tx: &mut Tx,
    id: &str,
    hash: &str,
    existed: bool,
    began: Timestamp,
) -> Result<bool, DbError> {
    let row = qm_db::opt!(tx, (i32,), TWIN, hash, id, existed, began.ms()).await?;
    Ok(row.is_some())
}

/// True if another grab than this one has brought a torrent.
pub async fn is_brought(tx: &mut Tx, id: &str, hash: &str) -> Result<bool, DbError> {
    Ok(qm_db::opt!(tx, (i32,), BROUGHT, hash, id).await?.is_some())
}

/// Counts an attempt before the client is asked; `false` when the grab is no longer pending.
pub async fn begin(tx: &mut Tx, id: &str, engine_id: Option<&str>) -> Result<bool, DbError> {
    Ok(qm_db::exec!(tx, BEGIN, id, engine_id).await?.rows() > 0)
}

pub async fn again(tx: &mut Tx, id: &str, at: Timestamp, error: &str) -> Result<(), DbError> {
    let _ = qm_db::exec!(tx, AGAIN, id, at.ms(), clean(error)).await?;
    Ok(())
}

/// Final values of a grab.
pub struct End<'a> {
    pub state: GrabState,
    pub error: Option<&'a str>,
    pub torrent_hash: Option<&'a str>,
    pub retires: Option<&'a str>,
    pub info_hash: Option<&'a str>,
    pub at: Timestamp,
}

/// Ends a pending grab; `false` when it is no longer pending.
pub async fn end(tx: &mut Tx, id: &str, end: &End<'_>) -> Result<bool, DbError> {
    let done = qm_db::exec!(
        tx,
        END,
        id,
        end.state.as_str(),
        end.error.map(clean),
        end.torrent_hash,
        end.retires,
        end.at.ms(),
        end.info_hash
    )
    .await?;
    Ok(done.rows() > 0)
}

/// Resets the grabs of a torrent that is wanted once more.
pub async fn release(tx: &mut Tx, hash: &str) -> Result<(), DbError> {
    let _ = qm_db::exec!(tx, RELEASE, hash).await?;
    Ok(())
}

pub async fn release_item(tx: &mut Tx, history_id: &str) -> Result<(), DbError> {
    let _ = qm_db::exec!(tx, RELEASE_ITEM, history_id).await?;
    Ok(())
}

/// Grabs with the replaced torrent that is still to be removed.
pub async fn retiring(tx: &mut Tx, most: usize) -> Result<Vec<(String, String)>, DbError> {
    qm_db::all!(tx, (String, String), RETIRING, most as i64).await
}

pub async fn retired(tx: &mut Tx, id: &str) -> Result<(), DbError> {
    let _ = qm_db::exec!(tx, RETIRED, id).await?;
    Ok(())
}

/// Deletes up to `most` unsuccessful grabs older than `before`; returns their number.
pub async fn prune(tx: &mut Tx, before: Timestamp, most: usize) -> Result<u64, DbError> {
    Ok(qm_db::exec!(tx, PRUNE, before.ms(), most as i64).await?.rows())
}
