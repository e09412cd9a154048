//! Table `platform_job_schedules`: since when each schedule counts.

use qm_db::{DbError, Tx, sql};
use qm_kernel::Timestamp;

sql! {
    SINCE = "SELECT counts_since FROM platform_job_schedules WHERE name = $1";
    BEGIN = "INSERT INTO platform_job_schedules (name, counts_since) VALUES ($1, $2) ON CONFLICT DO NOTHING";
    ASKED = "UPDATE platform_job_schedules SET counts_since = $3 WHERE name = $1 AND counts_since = $2";
}

/// When a schedule last asked for a job, or was first seen; `None` when it never was.
pub async fn since(tx: &mut Tx, name: &str) -> Result<Option<Timestamp>, DbError> {
    let found = qm_db::opt!(tx, (i64,), SINCE, name).await?;
    Ok(found.map(|(since,)| Timestamp::from_ms(since)))
}

/// A schedule is seen for the first time. Another server may have seen it by now: that one counts.
pub async fn begin(tx: &mut Tx, name: &str, now: Timestamp) -> Result<(), DbError> {
    let _either = qm_db::exec!(tx, BEGIN, name, now.ms()).await?;
    Ok(())
}

/// Notes that it asks for a job now; whether nobody else did since `before`.
pub async fn asked(tx: &mut Tx, name: &str, before: Timestamp, now: Timestamp) -> Result<bool, DbError> {
    let asked = qm_db::exec!(tx, ASKED, name, before.ms(), now.ms()).await?;
    Ok(asked.rows() == 1)
}
