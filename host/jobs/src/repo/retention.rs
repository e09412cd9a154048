//! Removal of old jobs.

use qm_db::{DbError, Tx, sql};
use qm_kernel::Timestamp;

sql! {
    REMOVE_FINISHED = "DELETE FROM platform_jobs WHERE id IN (SELECT id FROM platform_jobs WHERE status IN ('completed', \
        'completed_with_warnings', 'cancelled', 'skipped', 'expired') AND updated_at < $1 LIMIT $2)";
    REMOVE_FAILED = "DELETE FROM platform_jobs WHERE id IN (SELECT id FROM platform_jobs WHERE status = 'failed' \
        AND updated_at < $1 LIMIT $2)";
}

/// Removes up to `most` jobs that completed or were cancelled before `before`, with their events.
pub async fn remove_finished(tx: &mut Tx, before: Timestamp, most: u64) -> Result<u64, DbError> {
    let removed = qm_db::exec!(tx, REMOVE_FINISHED, before.ms(), most as i64).await?;
    Ok(removed.rows())
}

/// Removes up to `most` jobs that failed before `before`; returns the number as [`remove_finished`] does.
pub async fn remove_failed(tx: &mut Tx, before: Timestamp, most: u64) -> Result<u64, DbError> {
    let removed = qm_db::exec!(tx, REMOVE_FAILED, before.ms(), most as i64).await?;
    Ok(removed.rows())
}
