//! Tables `media_suggestions` and `media_show_suggestions`: titles that items and shows may have, suggested and not
//! confirmed.

use qm_db::{DbError, Tx, sql};

use super::clean;
use crate::model::titles::Suggestion;

sql! {
    FORGET = "DELETE FROM media_suggestions WHERE item_id = $1";
    ADD = "INSERT INTO media_suggestions (item_id, titledb_id, title, year, score) VALUES ($1, $2, $3, $4, $5)";
    OF_ITEM = "SELECT titledb_id, title, year, score FROM media_suggestions WHERE item_id = $1 ORDER BY score DESC, titledb_id";
    FORGET_SHOW = "DELETE FROM media_show_suggestions WHERE show_id = $1";
    ADD_SHOW = "INSERT INTO media_show_suggestions (show_id, titledb_id, title, year, score) VALUES ($1, $2, $3, $4, $5)";
    OF_SHOW = "SELECT titledb_id, title, year, score FROM media_show_suggestions WHERE show_id = $1 \
        AND EXISTS (SELECT 1 FROM media_shows w WHERE w.id = $1 AND w.titledb_id IS NULL) ORDER BY score DESC, titledb_id";
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

/// Suggestions for an item, the likeliest first.
pub async fn of_item(tx: &mut Tx, item: &str) -> Result<Vec<Suggestion>, DbError> {
    qm_db::all!(tx, Suggestion, OF_ITEM, item).await
}

/// Stores the suggestions for a show, instead of those before.
pub async fn replace_show(tx: &mut Tx, show: &str, suggested: &[Suggestion]) -> Result<(), DbError> {
    let _ = qm_db::exec!(tx, FORGET_SHOW, show).await?;
    for one in suggested {
        let title = clean(&one.title);
        qm_db::exec!(tx, ADD_SHOW, show, &one.titledb_id, title, one.year, one.score)
            .await?
            .exactly(1)?;
    }
    Ok(())
}

/// Suggestions for a show, the likeliest first; none if the show is identified.
pub async fn of_show(tx: &mut Tx, show: &str) -> Result<Vec<Suggestion>, DbError> {
    qm_db::all!(tx, Suggestion, OF_SHOW, show).await
}
