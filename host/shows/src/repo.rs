//! Table `show_statuses`.

use qm_db::{DbError, FromRow, Tx, sql};
use qm_kernel::Timestamp;

use crate::model::report::ShowStatus;

sql! {
    FIND = "SELECT provider, provider_show_id, status, checked_at FROM show_statuses \
        WHERE provider = $1 AND provider_show_id = $2";
    OLDEST = "SELECT provider, provider_show_id, status, checked_at FROM show_statuses ORDER BY tried_at LIMIT $1";
    PUT = "INSERT INTO show_statuses (provider, provider_show_id, status, checked_at, tried_at, asked_at) \
        VALUES ($1, $2, $3, $4, $4, $4) ON CONFLICT (provider, provider_show_id) DO UPDATE SET \
        status = excluded.status, checked_at = excluded.checked_at, tried_at = excluded.tried_at";
    TRIED = "UPDATE show_statuses SET tried_at = $3 WHERE provider = $1 AND provider_show_id = $2";
    ASKED = "UPDATE show_statuses SET asked_at = $3 WHERE provider = $1 AND provider_show_id = $2";
    UNASKED = "SELECT provider, provider_show_id, status, checked_at FROM show_statuses WHERE asked_at < $1 \
        ORDER BY asked_at LIMIT $2";
    FORGET = "DELETE FROM show_statuses WHERE provider = $1 AND provider_show_id = $2";
}

/// Stored status of a show, with its times.
#[derive(Clone, Debug, PartialEq)]
pub struct Kept {
    pub provider: String,
    pub id: String,
    /// `None`: the row was written by a newer server, or by hand.
    pub status: Option<ShowStatus>,
    pub checked_at: Timestamp,
}

#[derive(FromRow)]
struct Row {
    provider: String,
    provider_show_id: String,
    status: String,
    checked_at: i64,
}

impl From<Row> for Kept {
    fn from(row: Row) -> Self {
        Self {
            status: serde_json::from_str(&row.status).ok(),
            provider: row.provider,
            id: row.provider_show_id,
            checked_at: Timestamp::from_ms(row.checked_at),
        }
    }
}

fn all(rows: Vec<Row>) -> Vec<Kept> {
    rows.into_iter().map(Kept::from).collect()
}

pub async fn find(tx: &mut Tx, provider: &str, id: &str) -> Result<Option<Kept>, DbError> {
    Ok(qm_db::opt!(tx, Row, FIND, provider, id).await?.map(Kept::from))
}

/// Shows whose provider was asked longest ago.
pub async fn oldest(tx: &mut Tx, most: i64) -> Result<Vec<Kept>, DbError> {
    Ok(all(qm_db::all!(tx, Row, OLDEST, most).await?))
}

/// Stores a provider's answer.
pub async fn put(
    tx: &mut Tx,
    (provider, id): (&str, &str),
    status: &ShowStatus,
    now: Timestamp,
) -> Result<(), DbError> {
    let json = serde_json::to_string(status).unwrap_or_default();
    qm_db::exec!(tx, PUT, provider, id, json, now.ms())
        .await?
        .exactly(1)
}

/// Records a request that the provider did not answer.
pub async fn tried(tx: &mut Tx, (provider, id): (&str, &str), now: Timestamp) -> Result<(), DbError> {
    // A row deleted meanwhile is ignored.
    let _ = qm_db::exec!(tx, TRIED, provider, id, now.ms()).await?;
    Ok(())
}

/// Records that a user or rule has asked for the show.
pub async fn asked(tx: &mut Tx, (provider, id): (&str, &str), now: Timestamp) -> Result<(), DbError> {
    // A row deleted meanwhile is ignored.
    let _ = qm_db::exec!(tx, ASKED, provider, id, now.ms()).await?;
    Ok(())
}

/// Shows that were not asked for since then.
pub async fn unasked(tx: &mut Tx, since: Timestamp, most: i64) -> Result<Vec<Kept>, DbError> {
    Ok(all(qm_db::all!(tx, Row, UNASKED, since.ms(), most).await?))
}

pub async fn forget(tx: &mut Tx, (provider, id): (&str, &str)) -> Result<(), DbError> {
    // A row deleted meanwhile is ignored.
    let _ = qm_db::exec!(tx, FORGET, provider, id).await?;
    Ok(())
}
