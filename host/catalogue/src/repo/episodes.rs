//! Items whose files may be named by the rules of a library.

use qm_db::{DbError, FromRow, Tx, sql};

sql! {
    EPISODES = "SELECT id, place, title, year FROM media_items WHERE library_id = $1 AND NOT locked \
        AND (season IS NOT NULL OR episode IS NOT NULL) ORDER BY id LIMIT $2";
    UNLOCKED = "SELECT id, place, title, year FROM media_items WHERE library_id = $1 AND NOT locked AND id > $2 \
        ORDER BY id LIMIT $3";
    ITEM = "SELECT id, place, title, year, library_id, locked FROM media_items WHERE id = $1";
    PLACES = "SELECT i.library_id, i.place FROM media_items i WHERE i.id = $1 \
        UNION ALL SELECT c.library_id, c.place FROM media_copies c WHERE c.item_id = $1";
}

/// An item: its first file, and its title.
#[derive(Clone, Debug, FromRow)]
pub struct Episode {
    pub id: String,
    pub place: String,
    pub title: String,
    pub year: Option<i64>,
}

/// An item with its library.
#[derive(Clone, Debug, FromRow)]
pub struct Stocked {
    #[sqlx(flatten)]
    pub item: Episode,
    pub library_id: String,
    pub locked: bool,
}

/// Unlocked items of a library behind an id, in the order of their ids.
pub async fn unlocked(
    tx: &mut Tx,
    library_id: &str,
    after: &str,
    most: i64,
) -> Result<Vec<Episode>, DbError> {
    qm_db::all!(tx, Episode, UNLOCKED, library_id, after, most).await
}

/// The item with this id.
pub async fn item(tx: &mut Tx, id: &str) -> Result<Option<Stocked>, DbError> {
    qm_db::opt!(tx, Stocked, ITEM, id).await
}

/// Unlocked items of a library with a season or an episode, in the order of their ids.
pub async fn episodes(tx: &mut Tx, library_id: &str, most: i64) -> Result<Vec<Episode>, DbError> {
    qm_db::all!(tx, Episode, EPISODES, library_id, most).await
}

/// Libraries and places of an item's files; none: there is no such item.
pub async fn places(tx: &mut Tx, item_id: &str) -> Result<Vec<(String, String)>, DbError> {
    qm_db::all!(tx, (String, String), PLACES, item_id).await
}
