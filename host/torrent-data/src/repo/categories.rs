//! Directories of categories, read from the list that the area of torrents keeps (`torrent_categories`).

use qm_db::{DbError, Tx, sql};

sql! {
    PATH = "SELECT save_path FROM torrent_categories WHERE name = $1";
}

/// Directory of a category, if it is in the list and has one.
pub async fn find_path(tx: &mut Tx, name: &str) -> Result<Option<String>, DbError> {
    let row = qm_db::opt!(tx, (Option<String>,), PATH, name).await?;
    Ok(row.and_then(|(path,)| path))
}
