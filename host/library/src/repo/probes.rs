//! Table `media_files`, as those look at it who look into files.

use qm_db::{DbError, FromRow, Tx, sql};
use qm_kernel::Timestamp;

use super::clean;
use crate::model::streams::Streams;

sql! {
    DUE = "SELECT f.id, f.size, f.mtime, f.probe_attempts, i.library_id, i.place FROM media_files f \
        JOIN media_items i ON i.id = f.item_id WHERE f.probed_at IS NULL AND f.probe_error IS NULL \
        AND f.probe_attempts = $1 AND f.probe_after <= $2 ORDER BY f.probe_after, f.id LIMIT $3";
    FOUND = "UPDATE media_files SET video_codec = COALESCE($4, video_codec), audio_codec = COALESCE($5, audio_codec), \
        resolution = COALESCE($6, resolution), hdr = COALESCE($7, hdr), width = $8, height = $9, bitrate_kbps = $10, \
        duration_sec = $11, audio_channels = $12, frame_rate = $13, video_bit_depth = $14, chroma_subsampling = $15, \
        color_primaries = $16, color_transfer = $17, color_space = $18, hdr_format = $19, tech_source = 'probe', \
        probed_at = $20, probe_error = NULL, probe_attempts = probe_attempts + 1 WHERE id = $1 AND size = $2 AND mtime = $3";
    FAILED = "UPDATE media_files SET probe_error = $4, probe_attempts = probe_attempts + 1, probe_after = $5 \
        WHERE id = $1 AND size = $2 AND mtime = $3 AND probed_at IS NULL";
    PUT_OFF = "UPDATE media_files SET probe_after = $2 WHERE id = $1 AND probed_at IS NULL";
    RETRY = "UPDATE media_files SET probe_error = NULL, probe_attempts = 0, probe_after = 0 WHERE id IN \
        (SELECT f.id FROM media_files f JOIN media_items i ON i.id = f.item_id \
        WHERE i.library_id = $1 AND f.probe_error IS NOT NULL LIMIT $2)";
}

/// A file that is to be looked into.
#[derive(Clone, Debug, FromRow)]
pub struct Due {
    pub id: String,
    pub size: i64,
    pub mtime: i64,
    pub probe_attempts: i64,
    pub library_id: String,
    pub place: String,
}

/// Files that are to be looked into by now and were looked into so often in vain, those that wait longest first.
pub async fn due(tx: &mut Tx, attempts: i64, now: Timestamp, most: i64) -> Result<Vec<Due>, DbError> {
    qm_db::all!(tx, Due, DUE, attempts, now.ms(), most).await
}

/// What was found in a file, unless it is another one by now.
pub async fn found(tx: &mut Tx, file: &Due, streams: &Streams, now: Timestamp) -> Result<(), DbError> {
    let text = |text: &Option<String>| text.as_deref().map(clean);
    let measured = &streams.measured;
    let _ = qm_db::exec!(
        tx,
        FOUND,
        &file.id,
        file.size,
        file.mtime,
        text(&streams.video_codec),
        text(&streams.audio_codec),
        text(&streams.resolution),
        text(&streams.hdr),
        measured.width,
        measured.height,
        measured.bitrate_kbps,
        measured.duration_sec,
        measured.audio_channels,
        measured.frame_rate.map(|rate| rate.to_string()),
        measured.video_bit_depth,
        text(&measured.chroma_subsampling),
        text(&measured.color_primaries),
        text(&measured.color_transfer),
        text(&measured.color_space),
        text(&measured.hdr_format),
        now.ms(),
    )
    .await?;
    Ok(())
}

/// A file was looked into in vain, unless it is another one by now. `why`: it is not tried again; otherwise from `after` on.
pub async fn failed(tx: &mut Tx, file: &Due, why: Option<&str>, after: Timestamp) -> Result<(), DbError> {
    let _ = qm_db::exec!(
        tx,
        FAILED,
        &file.id,
        file.size,
        file.mtime,
        why.map(clean),
        after.ms()
    )
    .await?;
    Ok(())
}

/// A file that cannot be looked into now waits.
pub async fn put_off(tx: &mut Tx, id: &str, after: Timestamp) -> Result<(), DbError> {
    let _ = qm_db::exec!(tx, PUT_OFF, id, after.ms()).await?;
    Ok(())
}

/// Up to `most` files of a library that could not be looked into may be tried again; how many.
pub async fn retry(tx: &mut Tx, library_id: &str, most: i64) -> Result<u64, DbError> {
    Ok(qm_db::exec!(tx, RETRY, library_id, most).await?.rows())
}
