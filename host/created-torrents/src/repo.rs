//! Tables `created_torrents` and `created_torrent_files`, whose rows go with those of the first.

use qm_db::{DbError, FromRow, Json, Tx, sql};
use qm_kernel::{PageQuery, Timestamp};

use crate::model::{Choices, CreatedTorrent, Facts, Seeding, State, format_of, format_word};

sql! {
    PAGE = "SELECT id, user_id, job_id, state, name, root, path, format, is_private, seeding, hash_v1, hash_v2, size, \
        piece_size, pieces, error, created_at, ended_at FROM created_torrents \
        WHERE user_id = $1 ORDER BY created_at DESC, id DESC LIMIT $2 OFFSET $3";
    FIND = "SELECT id, user_id, job_id, state, name, root, path, format, is_private, seeding, hash_v1, hash_v2, size, \
        piece_size, pieces, error, created_at, ended_at FROM created_torrents WHERE id = $1";
    COUNT = "SELECT count(*) FROM created_torrents WHERE user_id = $1";
    COUNT_ACTIVE = "SELECT count(*) FROM created_torrents WHERE user_id = $1 AND ended_at IS NULL";
    ACTIVE = "SELECT id, user_id, job_id, state, name, root, path, format, is_private, seeding, hash_v1, hash_v2, size, \
        piece_size, pieces, error, created_at, ended_at FROM created_torrents WHERE user_id = $1 AND ended_at IS NULL";
    ALL_ACTIVE = "SELECT id, user_id, job_id, state, name, root, path, format, is_private, seeding, hash_v1, hash_v2, \
        size, piece_size, pieces, error, created_at, ended_at FROM created_torrents WHERE ended_at IS NULL AND id > $1 ORDER BY id LIMIT $2";
    CHOICES = "SELECT choices FROM created_torrents WHERE id = $1";
    FILE = "SELECT file FROM created_torrent_files WHERE id = $1";
    ADD_FILE = "INSERT INTO created_torrent_files (id, file) VALUES ($1, $2)";
    ADD = "INSERT INTO created_torrents (id, user_id, job_id, state, name, root, path, format, is_private, choices, seeding, \
        created_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)";
    BEGIN = "UPDATE created_torrents SET state = 'hashing' WHERE id = $1 AND state IN ('queued', 'hashing')";
    STORE = "UPDATE created_torrents SET state = 'seeding', hash_v1 = $2, hash_v2 = $3, size = $4, piece_size = $5, \
        pieces = $6, seeding = $7 WHERE id = $1 AND state IN ('queued', 'hashing')";
    CLOSE = "UPDATE created_torrents SET state = $2, error = $3, seeding = $4, ended_at = $5, choices = NULL \
        WHERE id = $1 AND ended_at IS NULL";
    REMOVE = "DELETE FROM created_torrents WHERE user_id = $1 AND id = $2";
    PRUNE_OLD = "DELETE FROM created_torrents WHERE id IN \
        (SELECT id FROM created_torrents WHERE ended_at < $1 ORDER BY ended_at LIMIT $2)";
    PRUNE_USER = "DELETE FROM created_torrents WHERE id IN (SELECT id FROM created_torrents \
        WHERE user_id = $1 AND ended_at IS NOT NULL ORDER BY created_at DESC, id DESC LIMIT $2 OFFSET $3)";
}

#[derive(FromRow)]
struct Row {
    id: String,
    user_id: String,
    job_id: String,
    state: String,
    name: String,
    root: String,
    path: String,
    format: String,
    is_private: bool,
    seeding: Option<Json<Seeding>>,
    hash_v1: Option<String>,
    hash_v2: Option<String>,
    size: Option<i64>,
    piece_size: Option<i64>,
    pieces: Option<i64>,
    error: Option<String>,
    created_at: i64,
    ended_at: Option<i64>,
}

impl From<Row> for CreatedTorrent {
    fn from(row: Row) -> Self {
        let number = |stored: Option<i64>| stored.unwrap_or_default().unsigned_abs();
        let facts = row.size.map(|size| Facts {
            hash_v1: row.hash_v1,
            hash_v2: row.hash_v2,
            size: size.unsigned_abs(),
            piece_size: number(row.piece_size),
            pieces: number(row.pieces),
        });
        Self {
            id: row.id,
            user_id: row.user_id,
            job_id: row.job_id,
            state: State::from_word(&row.state),
            name: row.name,
            root: row.root,
            path: row.path,
            format: format_of(&row.format),
            is_private: row.is_private,
            facts,
            seeding: row.seeding.map(|seeding| seeding.0),
            error: row.error,
            created_at: Timestamp::from_ms(row.created_at),
            ended_at: row.ended_at.map(Timestamp::from_ms),
        }
    }
}

fn stored(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Torrents of a user, the newest first, and the number of all.
pub async fn read_page(
    tx: &mut Tx,
    user_id: &str,
    page: PageQuery,
) -> Result<(Vec<CreatedTorrent>, u64), DbError> {
    let (most, offset) = (stored(page.page_size), stored(page.offset()));
    let rows = qm_db::all!(tx, Row, PAGE, user_id, most, offset).await?;
    let total: i64 = qm_db::value!(tx, i64, COUNT, user_id).await?;
    Ok((
        rows.into_iter().map(CreatedTorrent::from).collect(),
        total.unsigned_abs(),
    ))
}

/// A torrent of whatever user.
pub async fn find(tx: &mut Tx, id: &str) -> Result<Option<CreatedTorrent>, DbError> {
    Ok(qm_db::opt!(tx, Row, FIND, id).await?.map(CreatedTorrent::from))
}

/// Number of torrents of a user that have not ended.
pub async fn count_active(tx: &mut Tx, user_id: &str) -> Result<u64, DbError> {
    let count: i64 = qm_db::value!(tx, i64, COUNT_ACTIVE, user_id).await?;
    Ok(count.unsigned_abs())
}

/// Torrents of a user that have not ended.
pub async fn list_active(tx: &mut Tx, user_id: &str) -> Result<Vec<CreatedTorrent>, DbError> {
    let rows = qm_db::all!(tx, Row, ACTIVE, user_id).await?;
    Ok(rows.into_iter().map(CreatedTorrent::from).collect())
}

/// Torrents that have not ended, of all users, by their ids behind one.
pub async fn list_all_active(tx: &mut Tx, after: &str, most: usize) -> Result<Vec<CreatedTorrent>, DbError> {
    let rows = qm_db::all!(tx, Row, ALL_ACTIVE, after, most as i64).await?;
    Ok(rows.into_iter().map(CreatedTorrent::from).collect())
}

/// The choices for a torrent that has not ended.
pub async fn read_choices(tx: &mut Tx, id: &str) -> Result<Option<Choices>, DbError> {
    let row = qm_db::opt!(tx, (Option<Json<Choices>>,), CHOICES, id).await?;
    Ok(row.and_then(|(choices,)| choices).map(|choices| choices.0))
}

/// The finished file.
pub async fn read_file(tx: &mut Tx, id: &str) -> Result<Option<Vec<u8>>, DbError> {
    let row = qm_db::opt!(tx, (Vec<u8>,), FILE, id).await?;
    Ok(row.map(|(file,)| file))
}

pub async fn add(tx: &mut Tx, created: &CreatedTorrent, choices: &Choices) -> Result<(), DbError> {
    let seeding = created.seeding.as_ref().map(Json);
    qm_db::exec!(
        tx,
        ADD,
        &created.id,
        &created.user_id,
        &created.job_id,
        created.state.as_str(),
        &created.name,
        &created.root,
        &created.path,
        format_word(created.format),
        created.is_private,
        Json(choices),
        seeding,
        created.created_at.ms()
    )
    .await?
    .exactly(1)
}

/// Marks a torrent as being made; false: it is gone, made, or ended.
pub async fn begin(tx: &mut Tx, id: &str) -> Result<bool, DbError> {
    Ok(qm_db::exec!(tx, BEGIN, id).await?.rows() > 0)
}

/// Stores a finished file, which an engine may get next. False: the torrent is gone, or has ended.
pub async fn store_file(
    tx: &mut Tx,
    id: &str,
    (file, facts): (&[u8], &Facts),
    seeding: Option<&Seeding>,
) -> Result<bool, DbError> {
    let done = qm_db::exec!(
        tx,
        STORE,
        id,
        facts.hash_v1.as_deref(),
        facts.hash_v2.as_deref(),
        stored(facts.size),
        stored(facts.piece_size),
        stored(facts.pieces),
        seeding.map(Json)
    );
    if done.await?.rows() == 0 {
        return Ok(false);
    }
    qm_db::exec!(tx, ADD_FILE, id, file).await?.exactly(1)?;
    Ok(true)
}

/// Ends a torrent, whose choices are forgotten. False: it is gone, or has ended already.
pub async fn close(
    tx: &mut Tx,
    id: &str,
    state: State,
    error: Option<&str>,
    seeding: Option<&Seeding>,
    at: Timestamp,
) -> Result<bool, DbError> {
    let done = qm_db::exec!(tx, CLOSE, id, state.as_str(), error, seeding.map(Json), at.ms());
    Ok(done.await?.rows() > 0)
}

pub async fn remove(tx: &mut Tx, user_id: &str, id: &str) -> Result<(), DbError> {
    qm_db::exec!(tx, REMOVE, user_id, id).await?.exactly(1)
}

/// Deletes torrents that ended before an instant; answers their number.
pub async fn prune_old(tx: &mut Tx, before: Timestamp, most: usize) -> Result<u64, DbError> {
    let done = qm_db::exec!(tx, PRUNE_OLD, before.ms(), most as i64);
    Ok(done.await?.rows())
}

/// Deletes ended torrents of a user but for the newest ones.
pub async fn prune_user(tx: &mut Tx, user_id: &str, keep: u64, most: usize) -> Result<u64, DbError> {
    let done = qm_db::exec!(tx, PRUNE_USER, user_id, most as i64, stored(keep));
    Ok(done.await?.rows())
}
