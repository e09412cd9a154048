//! Table `media_moves`, and what moves with it: items and shows that lie elsewhere.

use qm_db::{DbError, FromRow, Tx, bulk, sql};
use qm_kernel::Timestamp;
use qm_media_names::place;

use qm_media::model::show::Show;
use qm_media::repo::clean;

sql! {
    STORE = "INSERT INTO media_moves (position, from_path, to_path, after_id) VALUES ($1, $2, $3, '') \
        ON CONFLICT (position) DO NOTHING";
    FIRST = "SELECT position, from_path, to_path, after_id FROM media_moves ORDER BY position LIMIT 1";
    REACHED = "UPDATE media_moves SET after_id = $3 WHERE position = $1 AND after_id = $2";
    DONE = "DELETE FROM media_moves WHERE position = $1 AND after_id = $2";
    // PostgreSQL indexes only the beginning of a place. Each part names the library, as both databases search by it.
    AT_OR_BELOW = "SELECT i.id, i.place, i.match_status, i.locked, f.size, f.mtime \
        FROM media_items i JOIN media_files f ON f.item_id = i.id \
        WHERE ((i.library_id = $1 AND substr(i.place, 1, 200) = substr($2, 1, 200) AND i.place = $2) \
        OR (i.library_id = $1 AND substr(i.place, 1, 200) >= substr($3, 1, 200) \
            AND substr(i.place, 1, 200) <= substr($4, 1, 200) AND i.place >= $3 AND i.place < $4) \
        OR (i.library_id = $1 AND substr(i.place, 1, 200) >= substr($5, 1, 200) \
            AND substr(i.place, 1, 200) <= substr($6, 1, 200) AND i.place >= $5 AND i.place < $6)) \
        AND i.id > $7 ORDER BY i.id LIMIT $8";
    LIES = "SELECT COUNT(*) FROM media_items WHERE id = $1 AND library_id = $2 AND place = $3";
    DELETE = "DELETE FROM media_items WHERE id = $1 AND library_id = $2 AND place = $3";
    FORGET_IDS = "DELETE FROM media_external_ids WHERE item_id = $1";
    SHOW = "SELECT id FROM media_shows WHERE library_id = $1 AND place = $2";
    // A show without ids, metadata and seasons.
    BARE_SHOW = "DELETE FROM media_shows WHERE library_id = $1 AND place = $2 AND titledb_id IS NULL AND provider_a_id IS NULL \
        AND provider_b_id IS NULL \
        AND NOT EXISTS (SELECT 1 FROM media_show_metadata m WHERE m.show_id = media_shows.id) \
        AND NOT EXISTS (SELECT 1 FROM media_seasons s WHERE s.show_id = media_shows.id)";
    MOVE_SHOW = "UPDATE media_shows SET library_id = $2, place = $3, title = $4, year = $5, canonical_key = $6, updated_at = $7, \
        titledb_id = $8, provider_a_id = $9, provider_b_id = $10, titledb_asked = NULL WHERE id = $1";
}

bulk! {
    TAKEN = "SELECT i.id, i.library_id, i.place, f.size, f.mtime FROM (VALUES", 2,
        ") w CROSS JOIN media_items i JOIN media_files f ON f.item_id = i.id WHERE i.library_id = w.column1 \
        AND substr(i.place, 1, 200) = substr(w.column2, 1, 200) AND i.place = w.column2";
}

/// A move or deletion of a file or folder, as its event reports it.
#[derive(Clone, Debug, FromRow)]
pub struct Change {
    pub position: i64,
    pub from_path: String,
    /// New path; `None`: it was deleted.
    pub to_path: Option<String>,
    /// Id of the last item that followed it.
    pub after_id: String,
}

/// An item at or below the moved path.
#[derive(Clone, Debug, FromRow)]
pub struct Lying {
    pub id: String,
    pub place: String,
    pub match_status: String,
    pub locked: bool,
    pub size: i64,
    pub mtime: i64,
}

/// An item at the place to which another one moves.
#[derive(Clone, Debug, FromRow)]
pub struct Taken {
    pub id: String,
    pub library_id: String,
    pub place: String,
    pub size: i64,
    pub mtime: i64,
}

/// Stores the change of an event, once.
pub async fn store(tx: &mut Tx, position: i64, from: &str, to: Option<&str>) -> Result<(), DbError> {
    let _ = qm_db::exec!(tx, STORE, position, clean(from), to.map(clean)).await?;
    Ok(())
}

/// First change that waits.
pub async fn first(tx: &mut Tx) -> Result<Option<Change>, DbError> {
    qm_db::opt!(tx, Change, FIRST).await
}

/// Stores that the items up to `last` have followed a change; false if somebody else has gone on with it.
pub async fn reached(tx: &mut Tx, change: &Change, last: &str) -> Result<bool, DbError> {
    let reached = qm_db::exec!(tx, REACHED, change.position, &change.after_id, last).await?;
    Ok(reached.rows() > 0)
}

/// Deletes a change that all items have followed; false if somebody else has gone on with it.
pub async fn done(tx: &mut Tx, change: &Change) -> Result<bool, DbError> {
    let done = qm_db::exec!(tx, DONE, change.position, &change.after_id).await?;
    Ok(done.rows() > 0)
}

/// Items at a place or below it with ids behind `after`, in the order of their ids, up to `most`.
pub async fn at_or_below(
    tx: &mut Tx,
    library_id: &str,
    at: &str,
    after: &str,
    most: i64,
) -> Result<Vec<Lying>, DbError> {
    let [plain, odd] = place::ranges(at);
    qm_db::all!(
        tx,
        Lying,
        AT_OR_BELOW,
        library_id,
        at,
        plain.0,
        plain.1,
        odd.0,
        odd.1,
        after,
        most
    )
    .await
}

/// Items at these places, each with its library.
pub async fn taken(tx: &mut Tx, places: &[(&str, &str)]) -> Result<Vec<Taken>, DbError> {
    qm_db::each!(tx, Taken, TAKEN, places, |at| at.0, at.1).await
}

/// True if an item still has this library and place.
pub async fn lies(tx: &mut Tx, id: &str, library_id: &str, place: &str) -> Result<bool, DbError> {
    Ok(qm_db::value!(tx, i64, LIES, id, library_id, place).await? > 0)
}

/// Deletes an item if it still has this library and place.
pub async fn delete(tx: &mut Tx, id: &str, library_id: &str, place: &str) -> Result<u64, DbError> {
    Ok(qm_db::exec!(tx, DELETE, id, library_id, place).await?.rows())
}

/// Deletes all outside ids of an item, which has become another film or episode.
pub async fn forget_ids(tx: &mut Tx, id: &str) -> Result<(), DbError> {
    let _ = qm_db::exec!(tx, FORGET_IDS, id).await?;
    Ok(())
}

/// Id of the show of a folder.
pub async fn show_at(tx: &mut Tx, library_id: &str, place: &str) -> Result<Option<String>, DbError> {
    let found = qm_db::opt!(tx, (String,), SHOW, library_id, place).await?;
    Ok(found.map(|(id,)| id))
}

/// Deletes a show without ids and metadata at the place to which another show moves.
pub async fn give_way(tx: &mut Tx, library_id: &str, place: &str) -> Result<(), DbError> {
    let _ = qm_db::exec!(tx, BARE_SHOW, library_id, place).await?;
    Ok(())
}

/// Stores the new folder of a show, which may have a new name.
pub async fn move_show(tx: &mut Tx, show: &Show, now: Timestamp) -> Result<(), DbError> {
    let _ = qm_db::exec!(
        tx,
        MOVE_SHOW,
        &show.id,
        &show.library_id,
        &show.place,
        clean(&show.title),
        show.year,
        clean(&show.canonical_key),
        now.ms(),
        show.titledb_id.as_deref(),
        show.provider_a_id.as_deref(),
        show.provider_b_id.as_deref(),
    )
    .await?;
    Ok(())
}
