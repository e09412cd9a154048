//! Table `automation_logs`.

use qm_db::{DbError, FromRow, Tx, sql};
use qm_kernel::{PageQuery, Timestamp};
use serde_json::{Map, Value};

use crate::model::log::LogLine;

sql! {
    INSERT = "INSERT INTO automation_logs (id, rule_id, status, hash, context, message, attempts, last_at, created_at) \
        VALUES ($1, $2, $3, $4, $5, $6, 1, $7, $7)";
    LATEST = "SELECT id, status, message FROM automation_logs WHERE rule_id = $1 AND hash = $2 \
        ORDER BY created_at DESC, id DESC LIMIT 1";
    LAST_AT = "SELECT last_at FROM automation_logs WHERE rule_id = $1 AND hash = $2 ORDER BY created_at DESC, id DESC LIMIT 1";
    REPEAT = "UPDATE automation_logs SET attempts = attempts + 1, last_at = $2, context = $3 WHERE id = $1";
    PAGE = "SELECT id, rule_id, status, context, message, attempts, last_at, created_at FROM automation_logs \
        WHERE rule_id = $1 ORDER BY created_at DESC, id DESC LIMIT $2 OFFSET $3";
    COUNT = "SELECT COUNT(*) FROM automation_logs WHERE rule_id = $1";
}

#[derive(FromRow)]
struct Row {
    id: String,
    rule_id: String,
    status: String,
    context: String,
    message: Option<String>,
    attempts: i64,
    last_at: i64,
    created_at: i64,
}

impl From<Row> for LogLine {
    fn from(row: Row) -> Self {
        Self {
            id: row.id,
            rule_id: row.rule_id,
            status: row.status,
            context: serde_json::from_str(&row.context).unwrap_or_default(),
            message: row.message,
            attempts: row.attempts,
            last_at: Timestamp::from_ms(row.last_at),
            created_at: Timestamp::from_ms(row.created_at),
        }
    }
}

/// A line to write.
#[derive(Clone, Debug)]
pub struct NewLine<'a> {
    pub id: String,
    pub rule_id: &'a str,
    pub status: &'static str,
    pub hash: Option<&'a str>,
    pub context: &'a Map<String, Value>,
    pub message: Option<&'a str>,
    /// True when a success after a success is a repetition too.
    pub repeats: bool,
    pub at: Timestamp,
}

/// Writes a line; or counts a repetition in the latest line of the rule and torrent, if that failed for the
/// same reason, or both succeeded by a time table. `true`: a new line.
pub async fn write(tx: &mut Tx, line: &NewLine<'_>) -> Result<bool, DbError> {
    let context = serde_json::to_string(line.context).unwrap_or_default();
    if let Some(hash) = line.hash.filter(|_| line.repeats || line.message.is_some()) {
        let latest = qm_db::opt!(tx, (String, String, Option<String>), LATEST, line.rule_id, hash).await?;
        if let Some((id, status, before)) = latest
            && status == line.status
            && before.as_deref() == line.message
        {
            qm_db::exec!(tx, REPEAT, id, line.at.ms(), context)
                .await?
                .exactly(1)?;
            return Ok(false);
        }
    }
    qm_db::exec!(
        tx,
        INSERT,
        &line.id,
        line.rule_id,
        line.status,
        line.hash,
        context,
        line.message,
        line.at.ms()
    )
    .await?
    .exactly(1)?;
    Ok(true)
}

/// Time at which the latest run of a rule for a torrent ended.
pub async fn last_at(tx: &mut Tx, rule_id: &str, hash: &str) -> Result<Option<Timestamp>, DbError> {
    let last = qm_db::opt!(tx, (i64,), LAST_AT, rule_id, hash).await?;
    Ok(last.map(|(last,)| Timestamp::from_ms(last)))
}

/// One page of a rule's log, the newest first, and the total number of lines.
pub async fn page(tx: &mut Tx, rule_id: &str, page: PageQuery) -> Result<(Vec<LogLine>, u64), DbError> {
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
    Ok((rows.into_iter().map(LogLine::from).collect(), total))
}
