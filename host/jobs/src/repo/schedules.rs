//! Table `platform_job_schedules`: the last due time that each schedule has served.

use qm_db::{DbError, Tx, sql};
use qm_kernel::Timestamp;

sql! {
    SINCE = "SELECT counts_since FROM platform_job_schedules WHERE name = $1";
    BEGIN = "INSERT INTO platform_job_schedules (name, counts_since) VALUES ($1, $2) ON CONFLICT DO NOTHING";
    ASKED = "UPDATE platform_job_schedules SET counts_since = $3 WHERE name = $1 AND counts_since = $2";
}

/// Time at which a schedule last requested a job or was first seen; `None` when it is new.
pub async fn since(tx: &mut Tx, name: &str) -> Result<Option<Timestamp>, DbError> {
    let found = qm_db::opt!(tx, (i64,), SINCE, name).await?;
    Ok(found.map(|(since,)| Timestamp::from_ms(since)))
}

/// Stores the first sight of a schedule. If another server stored it first, that time stays.
pub async fn begin(tx: &mut Tx, name: &str, now: Timestamp) -> Result<(), DbError> {
    let _either = qm_db::exec!(tx, BEGIN, name, now.ms()).await?;
    Ok(())
}

/// Records that the schedule requests a job now; `false` when another server has done so since `before`.
pub async fn asked(tx: &mut Tx, name: &str, before: Timestamp, now: Timestamp) -> Result<bool, DbError> {
    let asked = qm_db::exec!(tx, ASKED, name, before.ms(), now.ms()).await?;
    Ok(asked.rows() == 1)
}
