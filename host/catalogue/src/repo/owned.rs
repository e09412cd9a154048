//! Owned files of a film or a series, found by indexes, whatever the number of items.

use qm_db::{DbError, FromRow, Tx, bulk};

macro_rules! columns {
    ($asked:literal) => {
        concat!("SELECT ", $asked, " AS asked, i.id, i.library_id, i.place, i.media_type, i.title, i.year, i.season, i.episode, \
         i.episode_end, i.match_status, f.size, f.quality, f.resolution, f.video_codec, f.audio_codec, f.hdr, \
         f.release_group, f.tech_source FROM (VALUES")
    };
}

bulk! {
    BY_TITLE = columns!("w.column1"), 1, ") w CROSS JOIN media_items i JOIN media_files f ON f.item_id = i.id \
        WHERE i.title_key = w.column1 AND i.sort_title IS NULL";
    // Only the few items with a sort title.
    BY_LISTED_TITLE = columns!("w.column1"), 1, ") w CROSS JOIN media_items i JOIN media_files f ON f.item_id = i.id \
        WHERE i.sort_title IS NOT NULL AND i.title = w.column1";
    OF_SERIES = columns!("w.column1"), 1, ") w CROSS JOIN media_items i JOIN media_files f ON f.item_id = i.id \
        WHERE i.series_titledb_id = w.column1";
    BY_ID = columns!("w.column1"), 1, ") w CROSS JOIN media_items i JOIN media_files f ON f.item_id = i.id \
        WHERE i.id = w.column1";
    BY_EXTERNAL = columns!("w.column1 || ' ' || w.column2"), 2, ") w CROSS JOIN media_external_ids x \
        JOIN media_items i ON i.id = x.item_id JOIN media_files f ON f.item_id = i.id \
        WHERE x.provider = w.column1 AND x.external_id = w.column2";
}

/// A file, with the question that found it.
#[derive(Clone, Debug, FromRow)]
pub struct Found {
    pub asked: String,
    pub id: String,
    pub library_id: String,
    pub place: String,
    pub media_type: String,
    pub title: String,
    pub year: Option<i64>,
    pub season: Option<i64>,
    pub episode: Option<i64>,
    pub episode_end: Option<i64>,
    pub match_status: String,
    pub size: i64,
    pub quality: Option<String>,
    pub resolution: Option<String>,
    pub video_codec: Option<String>,
    pub audio_codec: Option<String>,
    pub hdr: Option<String>,
    pub release_group: Option<String>,
    pub tech_source: Option<String>,
}

/// Files by the keys of their titles.
pub async fn by_keys(tx: &mut Tx, keys: &[String]) -> Result<Vec<Found>, DbError> {
    qm_db::each!(tx, Found, BY_TITLE, keys, |key| key).await
}

/// Files with a sort title, found by their titles.
pub async fn by_titles(tx: &mut Tx, titles: &[String]) -> Result<Vec<Found>, DbError> {
    qm_db::each!(tx, Found, BY_LISTED_TITLE, titles, |title| title).await
}

/// Episodes by the ids of their series.
pub async fn of_series(tx: &mut Tx, ids: &[String]) -> Result<Vec<Found>, DbError> {
    qm_db::each!(tx, Found, OF_SERIES, ids, |id| id).await
}

/// Files by the ids of their items.
pub async fn by_ids(tx: &mut Tx, ids: &[String]) -> Result<Vec<Found>, DbError> {
    qm_db::each!(tx, Found, BY_ID, ids, |id| id).await
}

/// Files by outside ids. `asked` of each is the source and the id, with a space between.
pub async fn by_external(tx: &mut Tx, ids: &[(String, String)]) -> Result<Vec<Found>, DbError> {
    qm_db::each!(tx, Found, BY_EXTERNAL, ids, |(provider, id)| provider, id).await
}
