//! Questions to the data set of titles about items and shows, and its answers.

use std::collections::BTreeSet;

use qm_db::{DbError, FromRow, Tx, sql};
use qm_kernel::Timestamp;

use qm_media_names::place;

macro_rules! columns {
    () => {
        "id, place, media_type, title, year, season, episode, series_titledb_id, titledb_asked"
    };
}

/// SQL condition: the item is unchanged since the data set was asked about it.
macro_rules! as_asked {
    () => {
        "id = $1 AND NOT locked AND match_status <> 'unmatched' AND media_type = $2 AND title = $3 \
         AND year IS NOT DISTINCT FROM CAST($4 AS BIGINT) AND season IS NOT DISTINCT FROM CAST($5 AS BIGINT) \
         AND episode IS NOT DISTINCT FROM CAST($6 AS BIGINT) \
         AND series_titledb_id IS NOT DISTINCT FROM CAST($7 AS TEXT)"
    };
}

sql! {
    OPEN = concat!("SELECT ", columns!(), " FROM media_items WHERE library_id = $1 AND match_status <> 'unmatched' \
        AND NOT locked AND place > $2 AND (titledb_asked IS NULL OR titledb_asked NOT IN ('found', $3)) \
        ORDER BY place LIMIT $4");
    ONE = concat!("SELECT ", columns!(), " FROM media_items WHERE id = $1 AND match_status <> 'unmatched' AND NOT locked");
    ANSWERED = concat!("UPDATE media_items SET titledb_asked = $8 WHERE ", as_asked!());
    BELONGS = "UPDATE media_items SET series_titledb_id = $2, updated_at = $3 WHERE id = $1";
    FOUND = "INSERT INTO media_external_ids (id, item_id, provider, external_id, url, is_derived) \
        VALUES ($1, $2, 'titledb', $3, $4, $5) ON CONFLICT (item_id, provider) DO UPDATE SET \
        external_id = excluded.external_id, url = excluded.url \
        WHERE media_external_ids.is_derived AND media_external_ids.external_id <> excluded.external_id";
    CHANGED = "UPDATE media_items SET updated_at = $2 WHERE id = $1";
    // Texts of paths that are not UTF-8 begin with a slash.
    SERIES_BELOW = "SELECT series_titledb_id FROM media_items WHERE library_id = $1 AND place >= $2 AND place < $3 \
        AND series_titledb_id IS NOT NULL ORDER BY place LIMIT 1";
    // PostgreSQL indexes only the beginning of a place.
    SEASONS_BELOW = "SELECT DISTINCT season FROM media_items WHERE library_id = $1 \
        AND substr(place, 1, 200) >= substr($2, 1, 200) AND substr(place, 1, 200) <= substr($3, 1, 200) \
        AND place >= $2 AND place < $3 AND season IS NOT NULL AND media_type IN ('tv', 'anime', 'episode') LIMIT 500";
    SHOW_ANSWERED = "UPDATE media_shows SET titledb_id = $2, titledb_asked = $3, updated_at = $4 \
        WHERE id = $1 AND titledb_id IS NULL";
    SHOW_UNKNOWN = "UPDATE media_shows SET titledb_asked = $2 WHERE id = $1 AND titledb_id IS NULL";
    SHOWS = "SELECT id, place, titledb_id, titledb_asked FROM media_shows WHERE library_id = $1 ORDER BY place";
}

/// An item that the data set is asked about.
#[derive(Clone, Debug, FromRow)]
pub struct Pending {
    pub id: String,
    pub place: String,
    pub media_type: String,
    pub title: String,
    pub year: Option<i64>,
    pub season: Option<i64>,
    pub episode: Option<i64>,
    pub series_titledb_id: Option<String>,
    /// Edition of the data set that was asked last.
    pub titledb_asked: Option<String>,
}

/// A show that the data set is asked about.
#[derive(Clone, Debug, FromRow)]
pub struct AskedShow {
    pub id: String,
    pub place: String,
    pub titledb_id: Option<String>,
    pub titledb_asked: Option<String>,
}

/// Items of a library that this edition was not asked about, with places behind `after`, in their order. Locked and
/// unmatched items are left out.
pub async fn pending(
    tx: &mut Tx,
    library_id: &str,
    edition: &str,
    after: &str,
    most: i64,
) -> Result<Vec<Pending>, DbError> {
    qm_db::all!(tx, Pending, OPEN, library_id, after, edition, most).await
}

/// One item; `None`: it is locked, unmatched or unknown.
pub async fn find_pending(tx: &mut Tx, id: &str) -> Result<Option<Pending>, DbError> {
    qm_db::opt!(tx, Pending, ONE, id).await
}

/// Answer of the data set about an item.
pub struct Answer<'a> {
    /// Id of the series that the item belongs to.
    pub series: Option<&'a str>,
    /// Id of the item itself.
    pub own: Option<&'a str>,
    /// Id for the new row of that id, if one is made.
    pub new_id: String,
    pub url: Option<String>,
    /// The edition, or `found`.
    pub asked: &'a str,
}

/// Stores an answer, if the item is unchanged. An id from a person or a provider stays.
pub async fn answered(
    tx: &mut Tx,
    item: &Pending,
    answer: &Answer<'_>,
    now: Timestamp,
) -> Result<bool, DbError> {
    let done = qm_db::exec!(
        tx,
        ANSWERED,
        &item.id,
        &item.media_type,
        &item.title,
        item.year,
        item.season,
        item.episode,
        item.series_titledb_id.as_deref(),
        answer.asked
    )
    .await?;
    if done.rows() == 0 {
        return Ok(false);
    }
    if answer.series != item.series_titledb_id.as_deref() {
        let _ = qm_db::exec!(tx, BELONGS, &item.id, answer.series, now.ms()).await?;
    }
    if let Some(own) = answer.own {
        let (id, url) = (&answer.new_id, answer.url.as_deref());
        let found = qm_db::exec!(tx, FOUND, id, &item.id, own, url, true).await?;
        if found.rows() > 0 {
            let _ = qm_db::exec!(tx, CHANGED, &item.id, now.ms()).await?;
        }
    }
    Ok(true)
}

/// The shows of a library, by their folders.
pub async fn shows(tx: &mut Tx, library_id: &str) -> Result<Vec<AskedShow>, DbError> {
    qm_db::all!(tx, AskedShow, SHOWS, library_id).await
}

/// Id of the series of any item below a folder.
pub async fn series_below(tx: &mut Tx, library_id: &str, folder: &str) -> Result<Option<String>, DbError> {
    // The character after the slash is a zero.
    let (from, to) = (format!("{folder}/"), format!("{folder}0"));
    let found = qm_db::opt!(tx, (String,), SERIES_BELOW, library_id, from, to).await?;
    Ok(found.map(|(id,)| id))
}

/// Seasons of the episodes below a show's folder.
pub async fn seasons_below(tx: &mut Tx, library_id: &str, folder: &str) -> Result<Vec<i64>, DbError> {
    let mut seasons = BTreeSet::new();
    for (from, to) in place::ranges(folder) {
        let rows = qm_db::all!(tx, (i64,), SEASONS_BELOW, library_id, from, to).await?;
        seasons.extend(rows.into_iter().map(|(season,)| season));
    }
    Ok(seasons.into_iter().collect())
}

/// Stores an answer about a show; `false`: it got an id meanwhile, or is gone. `found`: its id.
pub async fn show_answered(
    tx: &mut Tx,
    id: &str,
    found: Option<&str>,
    edition: &str,
    now: Timestamp,
) -> Result<bool, DbError> {
    let done = match found {
        Some(found) => qm_db::exec!(tx, SHOW_ANSWERED, id, found, edition, now.ms()).await?,
        None => qm_db::exec!(tx, SHOW_UNKNOWN, id, edition).await?,
    };
    Ok(done.rows() > 0)
}
