//! Table `platform_job_events`. The sequence number of an event comes from the counter in the job's row,
//! which the transaction has locked by the statement that changed it.

use qm_db::{DbError, FromRow, Json, Tx, bulk, sql};
use qm_kernel::{Ctx, Timestamp};
use serde_json::Value;

use crate::model::event::{JobEvent, NewEvent};

bulk! {
    INSERT = "INSERT INTO platform_job_events (id, job_id, sequence, level, event_type, message_key, message_params, \
        sanitized_message, progress, metadata, created_at) VALUES", 11, "";
}

sql! {
    PAGE = "SELECT id, job_id, sequence, level, event_type, message_key, message_params, sanitized_message, progress, \
        metadata, created_at FROM platform_job_events WHERE job_id = $1 AND (CAST($2 AS TEXT) IS NULL OR level = $2) \
        ORDER BY sequence LIMIT $3 OFFSET $4";
    COUNT = "SELECT COUNT(*) FROM platform_job_events WHERE job_id = $1 AND (CAST($2 AS TEXT) IS NULL OR level = $2)";
}

#[derive(FromRow)]
struct Row {
    id: String,
    job_id: String,
    sequence: i64,
    level: String,
    event_type: String,
    message_key: Option<String>,
    message_params: Option<Json<Value>>,
    sanitized_message: Option<String>,
    progress: Option<i64>,
    metadata: Option<Json<Value>>,
    created_at: i64,
}

impl From<Row> for JobEvent {
    fn from(row: Row) -> Self {
        Self {
            id: row.id,
            job_id: row.job_id,
            sequence: row.sequence,
            level: row.level,
            event_type: row.event_type,
            message_key: row.message_key,
            message_params: row.message_params.map(|json| json.0),
            message: row.sanitized_message,
            progress: row.progress,
            metadata: row.metadata.map(|json| json.0),
            created_at: Timestamp::from_ms(row.created_at),
        }
    }
}

/// An event of a job, with its number.
pub struct Numbered<'a> {
    pub job_id: &'a str,
    pub sequence: i64,
    pub event: NewEvent,
}

/// Stores events of one or more jobs.
pub async fn add(tx: &mut Tx, ctx: &Ctx, events: &[Numbered<'_>]) -> Result<(), DbError> {
    let now = ctx.now().ms();
    let added = qm_db::batch!(
        tx,
        INSERT,
        events,
        |numbered| ctx.ordered_id(),
        numbered.job_id,
        numbered.sequence,
        numbered.event.level.as_str(),
        numbered.event.kind.as_str(),
        numbered.event.message_key.as_deref(),
        numbered.event.message_params.as_ref().map(Json),
        numbered.event.message.as_deref(),
        numbered.event.progress,
        numbered.event.metadata.as_ref().map(Json),
        now
    )
    .await?;
    added.exactly(events.len() as u64)
}

/// Stores one event.
pub async fn add_one(
    tx: &mut Tx,
    ctx: &Ctx,
    job_id: &str,
    sequence: i64,
    event: NewEvent,
) -> Result<(), DbError> {
    let numbered = Numbered {
        job_id,
        sequence,
        event,
    };
    add(tx, ctx, &[numbered]).await
}

/// A page of a job's events, in order, and how many there are.
pub async fn page(
    tx: &mut Tx,
    job_id: &str,
    level: Option<&str>,
    size: u64,
    offset: u64,
) -> Result<(Vec<JobEvent>, u64), DbError> {
    let total = qm_db::value!(tx, i64, COUNT, job_id, level).await?;
    let rows = qm_db::all!(tx, Row, PAGE, job_id, level, size as i64, offset as i64).await?;
    Ok((rows.into_iter().map(JobEvent::from).collect(), total as u64))
}
