//! Rows of many owners at once.

use std::collections::HashMap;

use qm_db::{DbError, Tx, bulk};

use super::Row;
use crate::model::Artwork;
use crate::model::subtitle::Subtitle;
use crate::repo::subtitles;

macro_rules! columns_of {
    () => {
        "a.id, a.item_id, a.show_id, a.season, a.type AS kind, a.source, a.selected, a.url, a.place, a.path, a.slot, a.width, \
         a.height, a.created_at"
    };
}

bulk! {
    POSTERS = concat!("SELECT ", columns_of!(), " FROM (VALUES"), 1,
        ") w CROSS JOIN media_artwork a WHERE a.item_id = w.column1 AND a.type = 'poster'";
    SHOW_POSTERS = concat!("SELECT ", columns_of!(), " FROM (VALUES"), 1,
        ") w CROSS JOIN media_artwork a WHERE a.show_id = w.column1 AND a.type IN ('poster', 'season_poster')";
    OF_ITEMS = concat!("SELECT ", columns_of!(), " FROM (VALUES"), 1,
        ") w CROSS JOIN media_artwork a WHERE a.item_id = w.column1";
    OF_SHOWS = concat!("SELECT ", columns_of!(), " FROM (VALUES"), 1,
        ") w CROSS JOIN media_artwork a WHERE a.show_id = w.column1";
    SUBTITLES = "SELECT s.id, s.item_id, s.place, s.language, s.forced, s.sdh, s.by_default, s.created_at FROM (VALUES", 1,
        ") w CROSS JOIN media_subtitles s WHERE s.item_id = w.column1";
}

/// Keys for [`qm_db::each`], filled up for as few statements as possible: it asks for 64, for 8 and for single ones. No row
/// has the filling key.
fn filled(keys: &[String]) -> Vec<&str> {
    let mut keys: Vec<&str> = keys.iter().map(String::as_str).collect();
    match keys.len() {
        0 | 1 => {}
        2..=8 => keys.resize(8, ""),
        many => keys.resize(many.next_multiple_of(64), ""),
    }
    keys
}

/// Posters of items; of each item all.
pub async fn posters(tx: &mut Tx, items: &[String]) -> Result<Vec<Artwork>, DbError> {
    let rows = qm_db::each!(tx, Row, POSTERS, filled(items), |id| *id).await?;
    Ok(rows.into_iter().map(Artwork::from).collect())
}

/// Posters of shows and of their seasons.
pub async fn show_posters(tx: &mut Tx, shows: &[String]) -> Result<Vec<Artwork>, DbError> {
    let rows = qm_db::each!(tx, Row, SHOW_POSTERS, filled(shows), |id| *id).await?;
    Ok(rows.into_iter().map(Artwork::from).collect())
}

/// Pictures of items and of shows, by the ids of the owners.
pub async fn pictures(
    tx: &mut Tx,
    items: &[String],
    shows: &[String],
) -> Result<HashMap<String, Vec<Artwork>>, DbError> {
    let mut rows = qm_db::each!(tx, Row, OF_ITEMS, filled(items), |id| *id).await?;
    rows.extend(qm_db::each!(tx, Row, OF_SHOWS, filled(shows), |id| *id).await?);
    let mut found: HashMap<String, Vec<Artwork>> = HashMap::new();
    for art in rows.into_iter().map(Artwork::from) {
        found.entry(art.owner.id().to_owned()).or_default().push(art);
    }
    Ok(found)
}

/// Subtitles beside items, by the ids of the items.
pub async fn subtitles(tx: &mut Tx, items: &[String]) -> Result<HashMap<String, Vec<Subtitle>>, DbError> {
    let rows = qm_db::each!(tx, subtitles::Row, SUBTITLES, filled(items), |id| *id).await?;
    let mut found: HashMap<String, Vec<Subtitle>> = HashMap::new();
    for subtitle in rows.into_iter().map(Subtitle::from) {
        found.entry(subtitle.item_id.clone()).or_default().push(subtitle);
    }
    Ok(found)
}
