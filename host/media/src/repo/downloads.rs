//! Items of one download, for the work that follows it.

use qm_db::{DbError, FromRow, Tx, bulk, sql};
use qm_media_names::place;

use super::bulk::below;
use super::names::Named;

sql! {
    AT = "SELECT id FROM media_items WHERE library_id = $1 AND place = $2 \
        UNION SELECT item_id FROM media_copies WHERE library_id = $1 AND place = $2";
}

bulk! {
    OF = "SELECT i.id, i.library_id, i.place, i.media_type, i.title, i.year, i.season, i.episode, i.episode_end, \
        i.confidence, i.sort_title, i.match_status, i.updated_at, i.locked FROM (VALUES", 1, ") w CROSS JOIN media_items i WHERE i.id = w.column1";
}

/// An item of a download.
#[derive(Clone, Debug, FromRow)]
pub struct Arrived {
    #[sqlx(flatten)]
    pub item: Named,
    pub locked: bool,
}

impl Arrived {
    pub fn is_known(&self) -> bool {
        self.item.match_status != "unmatched"
    }
}

/// Ids of the items at a place of a library or below it, in the order of the ids.
pub async fn at_or_below(tx: &mut Tx, library_id: &str, at: &str) -> Result<Vec<String>, DbError> {
    let own = qm_db::all!(tx, (String,), AT, library_id, at).await?;
    let below = below(tx, library_id, at).await?;
    let below = below.into_iter().filter(|(_, item)| place::is_within(item, at));
    let copies = super::copies::below(tx, library_id, at).await?;
    let copies = copies
        .into_iter()
        .filter(|copy| place::is_within(&copy.place, at));
    let ids = own
        .into_iter()
        .map(|(id,)| id)
        .chain(copies.map(|copy| copy.item_id));
    let mut ids: Vec<String> = ids.chain(below.map(|(id, _)| id)).collect();
    ids.sort();
    ids.dedup();
    Ok(ids)
}

/// Items that still exist, by their ids.
pub async fn find_arrived(tx: &mut Tx, ids: &[String]) -> Result<Vec<Arrived>, DbError> {
    let mut found = qm_db::each!(tx, Arrived, OF, ids, |id| id).await?;
    found.sort_by(|a, b| a.item.id.cmp(&b.item.id));
    Ok(found)
}
