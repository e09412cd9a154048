//! Table `transfer_ledger`: one row an engine, written by its sync loop alone.

use qm_db::{DbError, Tx, sql};

use crate::model::ledger::{Baseline, Counters, Growth, Ledger};

sql! {
    LOAD = "SELECT baseline_downloaded, baseline_uploaded, accrued_downloaded, accrued_uploaded, resets_observed \
        FROM transfer_ledger WHERE engine_id = $1";
    INSERT = "INSERT INTO transfer_ledger \
        (engine_id, baseline_downloaded, baseline_uploaded, baseline_source, baseline_at) VALUES ($1, $2, $3, $4, $5)";
    SET_ACCRUED = "UPDATE transfer_ledger SET accrued_downloaded = $2, accrued_uploaded = $3, resets_observed = $4 \
        WHERE engine_id = $1";
}

pub async fn load(tx: &mut Tx, engine_id: &str) -> Result<Option<Ledger>, DbError> {
    let row = qm_db::opt!(tx, (i64, i64, i64, i64, i64), LOAD, engine_id).await?;
    Ok(row.map(|(base_down, base_up, down, up, resets)| Ledger {
        baseline: Counters {
            downloaded: unsigned(base_down),
            uploaded: unsigned(base_up),
        },
        accrued: Growth {
            moved: Counters {
                downloaded: unsigned(down),
                uploaded: unsigned(up),
            },
            resets: unsigned(resets),
        },
    }))
}

pub async fn insert(tx: &mut Tx, engine_id: &str, baseline: &Baseline) -> Result<(), DbError> {
    let (down, up) = (
        signed(baseline.counters.downloaded),
        signed(baseline.counters.uploaded),
    );
    qm_db::exec!(
        tx,
        INSERT,
        engine_id,
        down,
        up,
        baseline.source.as_str(),
        baseline.at.ms()
    )
    .await?
    .exactly(1)
}

/// Writes how much an engine has moved since its baseline, in all.
pub async fn set_accrued(tx: &mut Tx, engine_id: &str, accrued: Growth) -> Result<(), DbError> {
    let (down, up) = (signed(accrued.moved.downloaded), signed(accrued.moved.uploaded));
    qm_db::exec!(tx, SET_ACCRUED, engine_id, down, up, signed(accrued.resets))
        .await?
        .exactly(1)
}

/// A count as a BIGINT holds it: what no disk could hold is cut off.
pub(super) fn signed(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

pub(super) fn unsigned(count: i64) -> u64 {
    u64::try_from(count).unwrap_or(0)
}
