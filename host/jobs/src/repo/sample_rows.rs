//! Thousands of old jobs for tests and benchmarks.

use qm_db::{DbError, Tx, sql};
use qm_kernel::Timestamp;

sql! {
    /// One statement for any number of rows.
    FILL = "INSERT INTO platform_jobs (id, type, module_key, status, progress_percent, source, priority, attempt, \
            max_attempts, root_job_id, visibility_scope, cancellable, pausable, resumable, retryable, input, claim, \
            last_sequence, queued_at, completed_at, created_at, updated_at) \
        WITH RECURSIVE n(i) AS \
            (SELECT CAST(0 AS BIGINT) UNION ALL SELECT i + 1 FROM n WHERE i + 1 < CAST($1 AS BIGINT)) \
        SELECT '00000000-0000-4000-8000-' || substr(CAST(1000000000000 + i AS TEXT), 2), $2, 'jobs_center', 'completed', \
            100, 'system', 0, 1, 1, '00000000-0000-4000-8000-' || substr(CAST(1000000000000 + i AS TEXT), 2), 'module', \
            $3, $3, $3, $3, '{}', 1, 0, CAST($4 AS BIGINT), CAST($4 AS BIGINT), CAST($4 AS BIGINT), CAST($4 AS BIGINT) \
            FROM n";
}

/// Adds `rows` completed jobs of one type, completed at `at`. Call it once per database: the ids are fixed.
pub async fn fill(tx: &mut Tx, type_key: &str, rows: u64, at: Timestamp) -> Result<(), DbError> {
    qm_db::exec!(tx, FILL, rows as i64, type_key, false, at.ms())
        .await?
        .exactly(rows)
}
