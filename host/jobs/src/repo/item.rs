//! Columns of `platform_jobs` that a list reads: none of the JSON columns, which may be long and are not
//! shown in lists.

use qm_db::FromRow;
use qm_kernel::Timestamp;

use super::row::status_of;
use crate::error::JobsError;
use crate::model::job::{Capabilities, Item};

/// The columns of [`ItemRow`].
macro_rules! item_columns {
    () => {
        "id, type, name, module_key, workspace_key, status, phase, progress_percent, source, resource_type, resource_id, \
         library_id, media_item_id, priority, attempt, max_attempts, created_by_id, cancellable, pausable, resumable, \
         retryable, error_message, worker_id, queued_at, started_at, completed_at, created_at, updated_at"
    };
}
pub(crate) use item_columns;

#[derive(FromRow)]
pub struct ItemRow {
    id: String,
    #[sqlx(rename = "type")]
    type_key: String,
    name: Option<String>,
    module_key: String,
    workspace_key: Option<String>,
    status: String,
    phase: Option<String>,
    progress_percent: i64,
    source: String,
    resource_type: Option<String>,
    resource_id: Option<String>,
    library_id: Option<String>,
    media_item_id: Option<String>,
    priority: i64,
    attempt: i64,
    max_attempts: i64,
    created_by_id: Option<String>,
    #[sqlx(flatten)]
    capabilities: Capabilities,
    error_message: Option<String>,
    worker_id: Option<String>,
    queued_at: i64,
    started_at: Option<i64>,
    completed_at: Option<i64>,
    created_at: i64,
    updated_at: i64,
}

impl ItemRow {
    fn item(self) -> Result<Item, JobsError> {
        let at = |ms: Option<i64>| ms.map(Timestamp::from_ms);
        Ok(Item {
            status: status_of(&self.id, &self.status)?,
            id: self.id,
            type_key: self.type_key,
            name: self.name,
            module_key: self.module_key,
            workspace_key: self.workspace_key,
            phase: self.phase,
            progress_percent: self.progress_percent,
            source: self.source,
            resource_type: self.resource_type,
            resource_id: self.resource_id,
            library_id: self.library_id,
            media_item_id: self.media_item_id,
            priority: self.priority,
            attempt: self.attempt,
            max_attempts: self.max_attempts,
            created_by_id: self.created_by_id,
            capabilities: self.capabilities,
            error_message: self.error_message,
            worker_id: self.worker_id,
            queued_at: Timestamp::from_ms(self.queued_at),
            started_at: at(self.started_at),
            completed_at: at(self.completed_at),
            created_at: Timestamp::from_ms(self.created_at),
            updated_at: Timestamp::from_ms(self.updated_at),
        })
    }
}

pub fn items(rows: Vec<ItemRow>) -> Result<Vec<Item>, JobsError> {
    rows.into_iter().map(ItemRow::item).collect()
}
