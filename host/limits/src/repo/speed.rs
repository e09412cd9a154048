//! Table `engine_speeds`.

use qm_db::{DbError, FromRow, Json, Tx, sql};
use qm_kernel::Timestamp;
use qm_ports::engine::RateLimits;

use super::{signed, unsigned};
use crate::model::schedule::{Entry, Schedule};
use crate::model::speed::{Chosen, Speed};

sql! {
    ALL = "SELECT engine_id, upload, download, alt_upload, alt_download, schedule, chosen, set_at FROM engine_speeds";
    FIND = "SELECT engine_id, upload, download, alt_upload, alt_download, schedule, chosen, set_at FROM engine_speeds \
        WHERE engine_id = $1";
    PUT = "INSERT INTO engine_speeds (engine_id, upload, download, alt_upload, alt_download, schedule, chosen, set_at) \
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (engine_id) DO UPDATE SET upload = excluded.upload, \
        download = excluded.download, alt_upload = excluded.alt_upload, alt_download = excluded.alt_download, \
        schedule = excluded.schedule, chosen = excluded.chosen, set_at = excluded.set_at";
    DELETE = "DELETE FROM engine_speeds WHERE engine_id = $1";
}

#[derive(FromRow)]
struct Row {
    engine_id: String,
    upload: Option<i64>,
    download: Option<i64>,
    alt_upload: Option<i64>,
    alt_download: Option<i64>,
    schedule: Json<Vec<Entry>>,
    chosen: String,
    set_at: i64,
}

impl Row {
    fn into_speed(self) -> (String, Speed) {
        let limits = |upload: Option<i64>, download: Option<i64>| RateLimits {
            upload: upload.map(unsigned),
            download: download.map(unsigned),
        };
        let speed = Speed {
            normal: limits(self.upload, self.download),
            alternative: limits(self.alt_upload, self.alt_download),
            // What is stored was checked.
            schedule: Schedule::new(self.schedule.0).unwrap_or_default(),
            chosen: Chosen::from_word(&self.chosen),
            set_at: Some(Timestamp::from_ms(self.set_at)),
        };
        (self.engine_id, speed)
    }
}

/// Speeds of all engines that have any.
pub async fn list(tx: &mut Tx) -> Result<Vec<(String, Speed)>, DbError> {
    let rows = qm_db::all!(tx, Row, ALL).await?;
    Ok(rows.into_iter().map(Row::into_speed).collect())
}

pub async fn find(tx: &mut Tx, engine_id: &str) -> Result<Option<Speed>, DbError> {
    let row = qm_db::opt!(tx, Row, FIND, engine_id).await?;
    Ok(row.map(|row| row.into_speed().1))
}

pub async fn put(tx: &mut Tx, engine_id: &str, speed: &Speed, at: Timestamp) -> Result<(), DbError> {
    let entries = speed.schedule.entries().to_vec();
    qm_db::exec!(
        tx,
        PUT,
        engine_id,
        speed.normal.upload.map(signed),
        speed.normal.download.map(signed),
        speed.alternative.upload.map(signed),
        speed.alternative.download.map(signed),
        Json(&entries),
        speed.chosen.as_str(),
        at.ms()
    )
    .await?
    .exactly(1)
}

/// Deletes the speeds of an engine; false: it had none.
pub async fn delete(tx: &mut Tx, engine_id: &str) -> Result<bool, DbError> {
    Ok(qm_db::exec!(tx, DELETE, engine_id).await?.rows() > 0)
}
