//! Items as people look at them.

use std::collections::HashMap;

use qm_db::{DbError, FromRow, Statement, Tx, bulk, sql};
use qm_kernel::{PageQuery, Timestamp};

use super::{clean, filled, part};
use crate::model::item::{Filter, Issue, Item, MediaFile, Sort, Tech};
use crate::model::measured::Measured;
use crate::model::view::{Counts, Faults};

/// Columns of a file, whose table is `f`.
macro_rules! file_columns {
    () => {
        "f.id AS file_id, f.label, f.part, f.size, f.mtime, f.container, f.video_codec, f.audio_codec, f.resolution, f.hdr, f.language, \
         f.release_group, f.quality, f.width, f.height, f.bitrate_kbps, f.duration_sec, f.audio_channels, f.frame_rate, \
         f.video_bit_depth, f.chroma_subsampling, f.color_primaries, f.color_transfer, f.color_space, f.hdr_format, f.probed_at, f.probe_error, f.probe_attempts, f.created_at AS file_created_at"
    };
}

macro_rules! columns {
    () => {
        concat!(
            "i.id, i.library_id, i.place, i.media_type, i.title, i.sort_title, i.year, i.season, i.episode, i.episode_end, \
             i.match_status, i.confidence, i.locked, i.duplicate_group_id, i.series_titledb_id, i.same_key, \
             i.pictures, i.subtitles, i.created_at, i.updated_at, ",
            $crate::repo::lists::file_columns!()
        )
    };
}

pub(super) use {columns, file_columns};

/// SQL condition of a list. A parameter that is NULL lets every row through. The order of parameters is that of the macro
/// below.
macro_rules! wanted {
    () => {
        "(CAST($1 AS TEXT) IS NULL OR w.library_id = $1) AND (CAST($2 AS TEXT) IS NULL OR w.media_type = $2) \
         AND (CAST($3 AS TEXT) IS NULL OR w.match_status = $3) AND (CAST($4 AS TEXT) IS NULL OR w.title = $4) \
         AND (CAST($5 AS TEXT) IS NULL OR w.title_key LIKE $5 ESCAPE '\\') \
         AND (CAST($6 AS TEXT) IS NULL OR w.title_key >= $6) \
         AND (CAST($7 AS TEXT) IS NULL OR (CAST($7 AS TEXT) = 'duplicate' AND w.duplicate_group_id IS NOT NULL) \
         OR (CAST($7 AS TEXT) = 'missing_artwork' AND w.pictures = 0) \
         OR (CAST($7 AS TEXT) = 'missing_subtitles' AND w.subtitles = 0) \
         OR (CAST($7 AS TEXT) = 'suggested' AND EXISTS (SELECT 1 FROM media_suggestions s WHERE s.item_id = w.id))) \
         AND (CAST($8 AS BIGINT) IS NULL OR w.year >= $8) AND (CAST($9 AS BIGINT) IS NULL OR w.year <= $9) \
         AND (CAST($10 AS BIGINT) IS NULL OR w.season = $10) \
         AND (CAST($11 AS TEXT) IS NULL OR w.id IN (SELECT r.item_id FROM media_files r WHERE r.resolution = $11)) \
         AND (CAST($12 AS TEXT) IS NULL OR w.id IN (SELECT g.item_id FROM media_genres g WHERE g.genre = $12)) \
         AND (CAST($13 AS TEXT) IS NULL OR w.id IN (\
             SELECT e.item_id FROM media_external_ids e WHERE e.provider = $13 AND e.external_id = $14 \
             UNION SELECT b.id FROM media_items b WHERE CAST($13 AS TEXT) = 'titledb' AND b.series_titledb_id = $14 \
             UNION SELECT b.id FROM media_shows s JOIN media_items b ON b.library_id = s.library_id \
                 AND substr(b.place, 1, 200) >= substr(s.place || '/', 1, 200) \
                 AND substr(b.place, 1, 200) <= substr(s.place || '0', 1, 200) \
                 AND b.place >= s.place || '/' AND b.place < s.place || '0' \
                 WHERE CASE CAST($13 AS TEXT) WHEN 'titledb' THEN s.titledb_id WHEN 'provider_a' THEN s.provider_a_id \
                     ELSE s.provider_b_id END = $14)) \
         AND (CAST($15 AS TEXT) IS NULL OR (CAST($15 AS TEXT) = 'yes') = (w.series_titledb_id IS NOT NULL \
             OR EXISTS (SELECT 1 FROM media_external_ids e WHERE e.item_id = w.id)))"
    };
}

macro_rules! page {
    ($order:literal, $again:literal) => {
        concat!(
            "SELECT ", columns!(), " FROM (SELECT w.id FROM media_items w WHERE ", wanted!(), " ORDER BY ", $order,
            " LIMIT $16 OFFSET $17) p JOIN media_items i ON i.id = p.id JOIN media_files f ON f.item_id = i.id ORDER BY ", $again
        )
    };
}

/// The same for all items, or for those of one library: without conditions, so that the database can count along an index.
macro_rules! plain {
    ($wanted:literal, $limit:literal, $order:literal, $again:literal) => {
        concat!(
            "SELECT ",
            columns!(),
            " FROM (SELECT w.id FROM media_items w ",
            $wanted,
            " ORDER BY ",
            $order,
            $limit,
            ") p JOIN media_items i ON i.id = p.id JOIN media_files f ON f.item_id = i.id ORDER BY ",
            $again
        )
    };
    ($order:literal, $again:literal) => {
        plain!("", " LIMIT $1 OFFSET $2", $order, $again)
    };
    (of $order:literal, $again:literal) => {
        plain!("WHERE w.library_id = $1", " LIMIT $2 OFFSET $3", $order, $again)
    };
}

sql! {
    ALL_BY_TITLE = plain!("w.title_key, w.created_at, w.id", "i.title_key, i.created_at, i.id");
    ALL_BY_TITLE_DESC = plain!("w.title_key DESC, w.created_at DESC, w.id DESC", "i.title_key DESC, i.created_at DESC, i.id DESC");
    ALL_BY_ADDED = plain!("w.created_at, w.id", "i.created_at, i.id");
    ALL_BY_ADDED_DESC = plain!("w.created_at DESC, w.id DESC", "i.created_at DESC, i.id DESC");
    ALL_BY_UPDATED_DESC = plain!("w.updated_at DESC, w.id DESC", "i.updated_at DESC, i.id DESC");
    ITS_BY_TITLE = plain!(of "w.title_key, w.created_at, w.id", "i.title_key, i.created_at, i.id");
    ITS_BY_TITLE_DESC = plain!(of "w.title_key DESC, w.created_at DESC, w.id DESC", "i.title_key DESC, i.created_at DESC, i.id DESC");
    FOUND_BY_TITLE = plain!("WHERE w.title_key LIKE $1 ESCAPE '\\'", " LIMIT $2 OFFSET $3",
        "w.title_key, w.created_at, w.id", "i.title_key, i.created_at, i.id");
    FOUND = "SELECT COUNT(*) FROM media_items WHERE title_key LIKE $1 ESCAPE '\\'";
    BY_TITLE = page!("w.title_key, w.created_at, w.id", "i.title_key, i.created_at, i.id");
    BY_TITLE_DESC = page!("w.title_key DESC, w.created_at DESC, w.id DESC", "i.title_key DESC, i.created_at DESC, i.id DESC");
    BY_ADDED = page!("w.created_at, w.id", "i.created_at, i.id");
    BY_ADDED_DESC = page!("w.created_at DESC, w.id DESC", "i.created_at DESC, i.id DESC");
    BY_YEAR = page!("w.year NULLS LAST, w.id", "i.year NULLS LAST, i.id");
    BY_YEAR_DESC = page!("w.year DESC NULLS LAST, w.id", "i.year DESC NULLS LAST, i.id");
    BY_UPDATED_DESC = page!("w.updated_at DESC, w.id DESC", "i.updated_at DESC, i.id DESC");
    BY_ID = page!("w.id", "i.id");
    BEHIND = concat!(
        "SELECT ", columns!(), " FROM (SELECT w.id FROM media_items w WHERE ", wanted!(), " AND w.id > $16 ORDER BY w.id LIMIT $17) p \
         JOIN media_items i ON i.id = p.id JOIN media_files f ON f.item_id = i.id ORDER BY i.id"
    );
    TOTAL = concat!("SELECT COUNT(*) FROM media_items w WHERE ", wanted!());
    EVERYTHING = "SELECT COUNT(*) FROM media_items";
    OF_LIBRARY = "SELECT COUNT(*) FROM media_items WHERE library_id = $1";
    FIND = concat!("SELECT ", columns!(), " FROM media_items i JOIN media_files f ON f.item_id = i.id WHERE i.id = $1");
    ALPHABET = concat!("SELECT w.letter, COUNT(*) FROM media_items w WHERE ", wanted!(), " GROUP BY w.letter");
    BY_TYPE = "SELECT media_type, COUNT(*) FROM media_items GROUP BY media_type";
    UNMATCHED = "SELECT COUNT(*) FROM media_items WHERE match_status = 'unmatched'";
    UNSURE = "SELECT COUNT(*) FROM media_items WHERE confidence < 50";
    SINCE = "SELECT COUNT(*) FROM media_items WHERE created_at >= $1";
    BARE = "SELECT COALESCE(CAST(SUM(CASE WHEN pictures = 0 THEN 1 ELSE 0 END) AS BIGINT), 0), \
        COALESCE(CAST(SUM(CASE WHEN subtitles = 0 THEN 1 ELSE 0 END) AS BIGINT), 0) FROM media_items";
    ISSUES = "SELECT COALESCE(CAST(SUM(CASE WHEN match_status = 'unmatched' THEN 1 ELSE 0 END) AS BIGINT), 0) AS unmatched, \
        COALESCE(CAST(SUM(CASE WHEN pictures = 0 THEN 1 ELSE 0 END) AS BIGINT), 0) AS missing_artwork, \
        COALESCE(CAST(SUM(CASE WHEN subtitles = 0 THEN 1 ELSE 0 END) AS BIGINT), 0) AS missing_subtitles, \
        COALESCE(CAST(SUM(CASE WHEN duplicate_group_id IS NOT NULL THEN 1 ELSE 0 END) AS BIGINT), 0) AS duplicate \
        FROM media_items WHERE CAST($1 AS TEXT) IS NULL OR library_id = $1";
}

bulk! {
    NAMED = concat!("SELECT ", columns!(), " FROM (VALUES"), 1,
        ") w CROSS JOIN media_items i JOIN media_files f ON f.item_id = i.id WHERE i.id = w.column1";
}

#[derive(FromRow)]
struct MeasuredRow {
    width: Option<i64>,
    height: Option<i64>,
    bitrate_kbps: Option<i64>,
    duration_sec: Option<i64>,
    audio_channels: Option<i64>,
    frame_rate: Option<String>,
    video_bit_depth: Option<i64>,
    chroma_subsampling: Option<String>,
    color_primaries: Option<String>,
    color_transfer: Option<String>,
    color_space: Option<String>,
    hdr_format: Option<String>,
}

impl From<MeasuredRow> for Measured {
    fn from(row: MeasuredRow) -> Self {
        Self {
            width: row.width,
            height: row.height,
            bitrate_kbps: row.bitrate_kbps,
            duration_sec: row.duration_sec,
            audio_channels: row.audio_channels,
            frame_rate: row.frame_rate.and_then(|rate| rate.parse().ok()),
            video_bit_depth: row.video_bit_depth,
            chroma_subsampling: row.chroma_subsampling,
            color_primaries: row.color_primaries,
            color_transfer: row.color_transfer,
            color_space: row.color_space,
            hdr_format: row.hdr_format,
        }
    }
}

/// A file, as [`file_columns`] has it.
#[derive(FromRow)]
pub(super) struct FileRow {
    file_id: String,
    label: Option<String>,
    part: Option<i64>,
    size: i64,
    mtime: i64,
    container: Option<String>,
    video_codec: Option<String>,
    audio_codec: Option<String>,
    resolution: Option<String>,
    hdr: Option<String>,
    language: Option<String>,
    release_group: Option<String>,
    quality: Option<String>,
    #[sqlx(flatten)]
    measured: MeasuredRow,
    probed_at: Option<i64>,
    probe_error: Option<String>,
    probe_attempts: i64,
    file_created_at: i64,
}

#[derive(FromRow)]
pub(super) struct Row {
    id: String,
    library_id: String,
    place: String,
    media_type: String,
    title: String,
    sort_title: Option<String>,
    year: Option<i64>,
    season: Option<i64>,
    episode: Option<i64>,
    episode_end: Option<i64>,
    match_status: String,
    confidence: i64,
    locked: bool,
    duplicate_group_id: Option<String>,
    series_titledb_id: Option<String>,
    same_key: Option<String>,
    pictures: i64,
    subtitles: i64,
    created_at: i64,
    updated_at: i64,
    #[sqlx(flatten)]
    file: FileRow,
}

impl From<FileRow> for MediaFile {
    fn from(row: FileRow) -> Self {
        Self {
            id: row.file_id,
            label: row.label,
            part: row.part,
            size: row.size,
            mtime: row.mtime,
            tech: Tech {
                container: row.container,
                video_codec: row.video_codec,
                audio_codec: row.audio_codec,
                resolution: row.resolution,
                hdr: row.hdr,
                language: row.language,
                release_group: row.release_group,
                quality: row.quality,
            },
            measured: row.measured.into(),
            probed_at: row.probed_at.map(Timestamp::from_ms),
            probe_error: row.probe_error,
            probe_attempts: row.probe_attempts,
            created_at: Timestamp::from_ms(row.file_created_at),
        }
    }
}

impl From<Row> for (Item, MediaFile) {
    fn from(row: Row) -> Self {
        let item = Item {
            id: row.id,
            library_id: row.library_id,
            place: row.place,
            media_type: row.media_type,
            title: row.title,
            sort_title: row.sort_title,
            year: row.year,
            season: row.season,
            episode: row.episode,
            episode_end: row.episode_end,
            match_status: row.match_status,
            confidence: row.confidence,
            locked: row.locked,
            duplicate_group_id: row.duplicate_group_id,
            series_titledb_id: row.series_titledb_id,
            same_key: row.same_key,
            pictures: row.pictures,
            subtitles: row.subtitles,
            metadata: None,
            created_at: Timestamp::from_ms(row.created_at),
            updated_at: Timestamp::from_ms(row.updated_at),
            external_ids: Vec::new(),
            copies: Vec::new(),
            artwork: Vec::new(),
        };
        (item, row.file.into())
    }
}

/// Numbers of items with each fault.
#[derive(FromRow)]
struct FaultsRow {
    unmatched: i64,
    missing_artwork: i64,
    missing_subtitles: i64,
    duplicate: i64,
}

/// Runs a statement with the values of a filter bound to `$1` to `$15`.
macro_rules! filtered {
    ($run:ident, $tx:expr, $row:ty, $statement:expr, $filter:expr $(, $more:expr)*) => {{
        let filter: &Filter = $filter;
        let search = filter.search.as_deref().filter(|_| filter.title.is_none());
        let status = match filter.issue {
            Some(Issue::Unmatched) => Some("unmatched"),
            _ => filter.match_status.as_deref(),
        };
        qm_db::$run!(
            $tx,
            $row,
            $statement,
            filter.library_id.as_deref(),
            filter.media_type.as_deref(),
            status,
            filter.title.as_deref(),
            search.map(|text| part(&text.to_lowercase())),
            filter.starts_at.map(|letter| letter.to_ascii_lowercase().to_string()),
            match filter.issue {
                Some(Issue::Duplicate) => Some("duplicate"),
                Some(Issue::Suggested) => Some("suggested"),
                Some(Issue::MissingArtwork) => Some("missing_artwork"),
                Some(Issue::MissingSubtitles) => Some("missing_subtitles"),
                Some(Issue::Unmatched) | None => None,
            },
            filter.year_from,
            filter.year_to,
            filter.season,
            filter.resolution.as_deref().map(clean),
            filter.genre.as_deref().map(|genre| clean(genre).to_lowercase()),
            filter.external.as_ref().map(|known| known.provider),
            filter.external.as_ref().map(|known| &*known.value),
            filter.identified.map(|is_known| if is_known { "yes" } else { "no" })
            $(, $more)*
        )
        .await
    }};
}

/// A page of items, and their total number.
pub async fn page(
    tx: &mut Tx,
    filter: &Filter,
    page: PageQuery,
) -> Result<(Vec<(Item, MediaFile)>, u64), DbError> {
    let by_id = matches!(
        filter.issue,
        Some(Issue::MissingArtwork | Issue::MissingSubtitles)
    );
    let total = total(tx, filter).await?;
    let (limit, offset) = (page.page_size as i64, page.offset() as i64);
    if offset >= total as i64 {
        return Ok((Vec::new(), total));
    }
    if let Some(text) = searched_alone(filter).filter(|_| filter.sort == Sort::Title) {
        let rows = qm_db::all!(tx, Row, FOUND_BY_TITLE, text, limit, offset).await?;
        return Ok((rows.into_iter().map(Into::into).collect(), total));
    }
    if is_of_library_alone(filter) {
        let rows = match (&filter.library_id, filter.sort) {
            (None, sort) => match of_all(sort) {
                Some(statement) => Some(qm_db::all!(tx, Row, statement, limit, offset).await?),
                None => None,
            },
            (Some(id), Sort::Title) => Some(qm_db::all!(tx, Row, ITS_BY_TITLE, id, limit, offset).await?),
            (Some(id), Sort::TitleDesc) => {
                Some(qm_db::all!(tx, Row, ITS_BY_TITLE_DESC, id, limit, offset).await?)
            }
            _ => None,
        };
        if let Some(rows) = rows {
            return Ok((rows.into_iter().map(Into::into).collect(), total));
        }
    }
    let statement = match filter.sort {
        _ if by_id => BY_ID,
        Sort::Title => BY_TITLE,
        Sort::TitleDesc => BY_TITLE_DESC,
        Sort::AddedAsc => BY_ADDED,
        Sort::AddedDesc => BY_ADDED_DESC,
        Sort::YearAsc => BY_YEAR,
        Sort::YearDesc => BY_YEAR_DESC,
        Sort::UpdatedDesc => BY_UPDATED_DESC,
    };
    let rows = filtered!(all, tx, Row, statement, filter, limit, offset)?;
    Ok((rows.into_iter().map(Into::into).collect(), total))
}

/// Items of a list of ids, in its order; unknown ids are left out.
pub async fn named(tx: &mut Tx, ids: &[String]) -> Result<Vec<(Item, MediaFile)>, DbError> {
    let keys = filled(ids.iter().map(String::as_str));
    let rows = qm_db::each!(tx, Row, NAMED, keys, |id| *id).await?;
    let mut found: HashMap<String, Row> = rows.into_iter().map(|row| (row.id.clone(), row)).collect();
    let rows = ids.iter().filter_map(|id| found.remove(id));
    Ok(rows.map(Into::into).collect())
}

/// Items with ids behind `after`, in the order of the ids.
pub async fn behind(
    tx: &mut Tx,
    filter: &Filter,
    after: &str,
    most: i64,
) -> Result<Vec<(Item, MediaFile)>, DbError> {
    let rows = filtered!(all, tx, Row, BEHIND, filter, after, most)?;
    Ok(rows.into_iter().map(Into::into).collect())
}

/// The statement for a page of all items, where an index has them in that order.
const fn of_all(sort: Sort) -> Option<Statement> {
    match sort {
        Sort::Title => Some(ALL_BY_TITLE),
        Sort::TitleDesc => Some(ALL_BY_TITLE_DESC),
        Sort::AddedAsc => Some(ALL_BY_ADDED),
        Sort::AddedDesc => Some(ALL_BY_ADDED_DESC),
        Sort::UpdatedDesc => Some(ALL_BY_UPDATED_DESC),
        Sort::YearAsc | Sort::YearDesc => None,
    }
}

/// True if a filter has no condition, or only that of a library.
const fn is_of_library_alone(filter: &Filter) -> bool {
    filter.media_type.is_none()
        && filter.match_status.is_none()
        && filter.title.is_none()
        && filter.search.is_none()
        && filter.starts_at.is_none()
        && filter.issue.is_none()
        && filter.year_from.is_none()
        && filter.year_to.is_none()
        && filter.season.is_none()
        && filter.resolution.is_none()
        && filter.genre.is_none()
        && filter.external.is_none()
        && filter.identified.is_none()
}

/// Search text of a filter that has no other condition.
fn searched_alone(filter: &Filter) -> Option<String> {
    let text = filter.search.as_deref()?;
    let others = Filter {
        search: None,
        ..filter.clone()
    };
    let is_alone = others.library_id.is_none() && is_of_library_alone(&others);
    is_alone.then(|| part(&text.to_lowercase()))
}

async fn total(tx: &mut Tx, filter: &Filter) -> Result<u64, DbError> {
    if let Some(text) = searched_alone(filter) {
        return Ok(qm_db::value!(tx, i64, FOUND, text).await?.unsigned_abs());
    }
    let total = match (&filter.library_id, is_of_library_alone(filter)) {
        (None, true) => qm_db::value!(tx, i64, EVERYTHING).await?,
        (Some(id), true) => qm_db::value!(tx, i64, OF_LIBRARY, id).await?,
        (_, false) => filtered!(one, tx, (i64,), TOTAL, filter)?.0,
    };
    Ok(total.unsigned_abs())
}

pub async fn find(tx: &mut Tx, id: &str) -> Result<Option<(Item, MediaFile)>, DbError> {
    Ok(qm_db::opt!(tx, Row, FIND, id).await?.map(Into::into))
}

/// Number of items by letter; letters without items are left out.
pub async fn alphabet(tx: &mut Tx, filter: &Filter) -> Result<Vec<(String, i64)>, DbError> {
    filtered!(all, tx, (String, i64), ALPHABET, filter)
}

pub async fn counts(tx: &mut Tx, since: Timestamp) -> Result<Counts, DbError> {
    let by_type = qm_db::all!(tx, (String, i64), BY_TYPE).await?;
    let bare = qm_db::one!(tx, (i64, i64), BARE).await?;
    Ok(Counts {
        total: by_type.iter().map(|(_, count)| count).sum(),
        by_type,
        unmatched: qm_db::value!(tx, i64, UNMATCHED).await?,
        unsure: qm_db::value!(tx, i64, UNSURE).await?,
        recent: qm_db::value!(tx, i64, SINCE, since.ms()).await?,
        missing_artwork: bare.0,
        missing_subtitles: bare.1,
    })
}

/// Numbers of items of a library, or of all libraries, that have each fault.
pub async fn issues(tx: &mut Tx, library_id: Option<&str>) -> Result<Faults, DbError> {
    let row = qm_db::one!(tx, FaultsRow, ISSUES, library_id).await?;
    Ok(Faults {
        unmatched: row.unmatched,
        missing_artwork: row.missing_artwork,
        missing_subtitles: row.missing_subtitles,
        duplicate: row.duplicate,
    })
}
