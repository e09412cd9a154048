//! Items without metadata from providers, and times of questions in vain.

use qm_db::{DbError, Tx, sql};
use qm_kernel::Timestamp;

/// SQL condition: matched, unlocked items with metadata only from their names or from the data set of titles, about which no
/// provider was asked lately.
macro_rules! lacking {
    () => {
        "FROM media_items i WHERE i.library_id = $1 AND i.match_status <> 'unmatched' AND NOT i.locked \
         AND NOT EXISTS (SELECT 1 FROM media_metadata m WHERE m.item_id = i.id AND m.provider_name NOT IN ('local', 'titledb')) \
         AND NOT EXISTS (SELECT 1 FROM media_metadata_tries t WHERE t.item_id = i.id AND t.item_updated_at = i.updated_at \
             AND t.again_at > $2)"
    };
}

sql! {
    LACKING = concat!("SELECT i.id ", lacking!(), " AND i.id > $3 ORDER BY i.id LIMIT $4");
    COUNT = concat!("SELECT COUNT(*) ", lacking!());
    TRIED = "INSERT INTO media_metadata_tries (item_id, item_updated_at, again_at) VALUES ($1, $2, $3) \
        ON CONFLICT (item_id) DO UPDATE SET item_updated_at = excluded.item_updated_at, again_at = excluded.again_at";
    FORGET = "DELETE FROM media_metadata_tries WHERE item_id = $1";
}

/// Ids behind `after` of the items of a library about which providers should be asked, in the order of the ids.
pub async fn lacking(
    tx: &mut Tx,
    library_id: &str,
    now: Timestamp,
    after: &str,
    most: i64,
) -> Result<Vec<String>, DbError> {
    let rows = qm_db::all!(tx, (String,), LACKING, library_id, now.ms(), after, most).await?;
    Ok(rows.into_iter().map(|(id,)| id).collect())
}

/// Number of items of a library about which providers are due to be asked.
pub async fn count(tx: &mut Tx, library_id: &str, now: Timestamp) -> Result<u64, DbError> {
    let count = qm_db::value!(tx, i64, COUNT, library_id, now.ms()).await?;
    Ok(count.unsigned_abs())
}

/// Stores that providers were asked in vain about an item, if it is unchanged since `updated_at`.
pub async fn tried(
    tx: &mut Tx,
    item_id: &str,
    updated_at: Timestamp,
    again_at: Timestamp,
) -> Result<(), DbError> {
    let _ = qm_db::exec!(tx, TRIED, item_id, updated_at.ms(), again_at.ms()).await?;
    Ok(())
}

/// Forgets questions in vain about an item that a provider has described.
pub async fn forget_questions(tx: &mut Tx, item_id: &str) -> Result<(), DbError> {
    let _ = qm_db::exec!(tx, FORGET, item_id).await?;
    Ok(())
}
