//! Table `media_files`, for probing.

use qm_db::{DbError, FromRow, Tx, sql};
use qm_kernel::Timestamp;
use qm_media::model::tracks;
use qm_media::repo::clean;

use crate::model::streams::Streams;

/// Statements for one table of files.
macro_rules! found {
    ($table:literal) => {
        concat!("UPDATE ", $table, " SET video_codec = COALESCE($4, video_codec), audio_codec = COALESCE($5, audio_codec), \
        resolution = COALESCE($6, resolution), hdr = COALESCE($7, hdr), width = $8, height = $9, bitrate_kbps = $10, \
        duration_sec = $11, audio_channels = $12, frame_rate = $13, video_bit_depth = $14, chroma_subsampling = $15, \
        color_primaries = $16, color_transfer = $17, color_space = $18, hdr_format = $19, tech_source = 'probe', \
        probed_at = $20, probe_error = NULL, probe_attempts = CASE WHEN probed_at IS NULL THEN probe_attempts + 1 \
        ELSE probe_attempts END, fingerprint = $21, tracks = $22, track_count = $23 \
        WHERE id = $1 AND size = $2 AND mtime = $3")
    };
}

macro_rules! failed {
    ($table:literal) => {
        concat!(
            "UPDATE ",
            $table,
            " SET probe_error = CASE WHEN probed_at IS NULL THEN CAST($4 AS TEXT) END, probe_attempts = probe_attempts + 1, \
        probe_after = $5 WHERE id = $1 AND size = $2 AND mtime = $3 AND (probed_at IS NULL OR tracks IS NULL)"
        )
    };
}

macro_rules! put_off {
    ($table:literal) => {
        concat!(
            "UPDATE ",
            $table,
            " SET probe_after = $2 WHERE id = $1 AND (probed_at IS NULL OR tracks IS NULL)"
        )
    };
}

sql! {
    DUE = "SELECT f.id, FALSE AS is_copy, f.size, f.mtime, f.probe_attempts, i.library_id, i.place FROM media_files f \
        JOIN media_items i ON i.id = f.item_id WHERE f.probed_at IS NULL AND f.probe_error IS NULL \
        AND f.probe_attempts = $1 AND f.probe_after <= $2 ORDER BY f.probe_after, f.id LIMIT $3";
    DUE_COPIES = "SELECT f.id, TRUE AS is_copy, f.size, f.mtime, f.probe_attempts, f.library_id, f.place FROM media_copies f \
        WHERE f.probed_at IS NULL AND f.probe_error IS NULL \
        AND f.probe_attempts = $1 AND f.probe_after <= $2 ORDER BY f.probe_after, f.id LIMIT $3";
    // Files that were probed before tracks were stored. One that cannot be probed any more is not tried again.
    UNTRACKED = "SELECT f.id, FALSE AS is_copy, f.size, f.mtime, f.probe_attempts, i.library_id, i.place FROM media_files f \
        JOIN media_items i ON i.id = f.item_id WHERE f.probed_at IS NOT NULL AND f.tracks IS NULL AND f.probe_after <= $1 \
        ORDER BY f.probed_at, f.id LIMIT $2";
    UNTRACKED_COPIES = "SELECT f.id, TRUE AS is_copy, f.size, f.mtime, f.probe_attempts, f.library_id, f.place \
        FROM media_copies f WHERE f.probed_at IS NOT NULL AND f.tracks IS NULL AND f.probe_after <= $1 \
        ORDER BY f.probed_at, f.id LIMIT $2";
    TRACKLESS = "UPDATE media_files SET tracks = '[]' WHERE id = $1 AND probed_at IS NOT NULL AND tracks IS NULL";
    TRACKLESS_COPY = "UPDATE media_copies SET tracks = '[]' WHERE id = $1 AND probed_at IS NOT NULL AND tracks IS NULL";
    // Lock of the item, whose subtitles are counted anew: whoever deletes one locks it before its files too.
    HOLD = "UPDATE media_items SET updated_at = updated_at WHERE id = (SELECT item_id FROM media_files WHERE id = $1)";
    HOLD_OF_COPY = "UPDATE media_items SET updated_at = updated_at WHERE id = (SELECT item_id FROM media_copies WHERE id = $1)";
    FOUND = found!("media_files");
    FOUND_COPY = found!("media_copies");
    FAILED = failed!("media_files");
    FAILED_COPY = failed!("media_copies");
    PUT_OFF = put_off!("media_files");
    PUT_OFF_COPY = put_off!("media_copies");
    RETRY = "UPDATE media_files SET probe_error = NULL, probe_attempts = 0, probe_after = 0 WHERE id IN \
        (SELECT f.id FROM media_files f JOIN media_items i ON i.id = f.item_id \
        WHERE i.library_id = $1 AND f.probe_error IS NOT NULL LIMIT $2)";
    RETRY_COPIES = "UPDATE media_copies SET probe_error = NULL, probe_attempts = 0, probe_after = 0 WHERE id IN \
        (SELECT id FROM media_copies WHERE library_id = $1 AND probe_error IS NOT NULL LIMIT $2)";
}

/// A file to probe.
#[derive(Clone, Debug, FromRow)]
pub struct Due {
    pub id: String,
    /// True for a further file of its item.
    pub is_copy: bool,
    pub size: i64,
    pub mtime: i64,
    pub probe_attempts: i64,
    pub library_id: String,
    pub place: String,
}

/// Files that are due for probing after `attempts` failed attempts, those that wait longest first.
pub async fn due(tx: &mut Tx, attempts: i64, now: Timestamp, most: i64) -> Result<Vec<Due>, DbError> {
    let mut due = qm_db::all!(tx, Due, DUE, attempts, now.ms(), most).await?;
    let left = most - due.len() as i64;
    if left > 0 {
        due.extend(qm_db::all!(tx, Due, DUE_COPIES, attempts, now.ms(), left).await?);
    }
    Ok(due)
}

/// Files that were probed before their tracks were stored, those probed longest ago first.
pub async fn untracked(tx: &mut Tx, now: Timestamp, most: i64) -> Result<Vec<Due>, DbError> {
    let mut due = qm_db::all!(tx, Due, UNTRACKED, now.ms(), most).await?;
    let left = most - due.len() as i64;
    if left > 0 {
        due.extend(qm_db::all!(tx, Due, UNTRACKED_COPIES, now.ms(), left).await?);
    }
    Ok(due)
}

/// Stores that no tracks are known of a file whose other properties stay.
pub async fn set_trackless(tx: &mut Tx, file: &Due) -> Result<(), DbError> {
    let statement = if file.is_copy { TRACKLESS_COPY } else { TRACKLESS };
    let _ = qm_db::exec!(tx, statement, &file.id).await?;
    Ok(())
}

/// Stores the findings about a file, if it is unchanged. `fingerprint`: digest of its head and tail.
pub async fn found(
    tx: &mut Tx,
    file: &Due,
    streams: &Streams,
    fingerprint: Option<&str>,
    now: Timestamp,
) -> Result<(), DbError> {
    let (hold, statement) = if file.is_copy {
        (HOLD_OF_COPY, FOUND_COPY)
    } else {
        (HOLD, FOUND)
    };
    let _ = qm_db::exec!(tx, hold, &file.id).await?;
    let text = |text: &Option<String>| text.as_deref().map(clean);
    let measured = &streams.measured;
    let _ = qm_db::exec!(
        tx,
        statement,
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
        fingerprint,
        tracks::text(&streams.tracks),
        streams.tracks.len() as i64,
    )
    .await?;
    Ok(())
}

/// Stores a failed attempt, if the file is unchanged. `why`: reason to give up; without it, the file is due again from
/// `after` on. What is known of a file that was probed before stays.
pub async fn failed(tx: &mut Tx, file: &Due, why: Option<&str>, after: Timestamp) -> Result<(), DbError> {
    let _ = qm_db::exec!(
        tx,
        if file.is_copy { FAILED_COPY } else { FAILED },
        &file.id,
        file.size,
        file.mtime,
        why.map(clean),
        after.ms()
    )
    .await?;
    Ok(())
}

/// Delays a file that cannot be probed now.
pub async fn put_off(tx: &mut Tx, file: &Due, after: Timestamp) -> Result<(), DbError> {
    let statement = if file.is_copy { PUT_OFF_COPY } else { PUT_OFF };
    let _ = qm_db::exec!(tx, statement, &file.id, after.ms()).await?;
    Ok(())
}

/// Makes up to `most` files of a library with failed attempts due again; returns their number.
pub async fn retry(tx: &mut Tx, library_id: &str, most: i64) -> Result<u64, DbError> {
    let first = qm_db::exec!(tx, RETRY, library_id, most).await?.rows();
    let further = qm_db::exec!(tx, RETRY_COPIES, library_id, most).await?.rows();
    Ok(first.max(further))
}
