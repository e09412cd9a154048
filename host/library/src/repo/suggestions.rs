//! Table `media_suggestions`: titles that items may be, which nobody has said.

use qm_db::{DbError, Tx, sql};

use super::clean;
use crate::model::titles::Suggestion;

sql! {
    FORGET = "DELETE FROM media_suggestions WHERE item_id = $1";
    ADD = "INSERT INTO media_suggestions (item_id, titledb_id, title, year, score) VALUES ($1, $2, $3, $4, $5)";
    OF_ITEM = "SELECT titledb_id, title, year, score FROM media_suggestions WHERE item_id = $1 ORDER BY score DESC, titledb_id";
}

/// Stores the suggestions for an item, instead of those before.
pub async fn replace(tx: &mut Tx, item: &str, suggested: &[Suggestion]) -> Result<(), DbError> {
    let _ = qm_db::exec!(tx, FORGET, item).await?;
    for one in suggested {
        let title = clean(&one.title);
        qm_db::exec!(tx, ADD, item, &one.titledb_id, title, one.year, one.score)
            .await?
            .exactly(1)?;
    }
    Ok(())
}

/// The likeliest first.
pub async fn of_item(tx: &mut Tx, item: &str) -> Result<Vec<Suggestion>, DbError> {
    qm_db::all!(tx, Suggestion, OF_ITEM, item).await
}
