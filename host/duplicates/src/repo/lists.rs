//! Groups as people look at them.

use qm_db::{DbError, Statement, Tx, bulk, sql};
use qm_kernel::{PageQuery, Timestamp};

use super::clean;
use super::groups::{CandidateRow, Row, columns};
use crate::model::{Candidate, Filter, Overview, Sort, StoredGroup};

/// SQL condition of a list. A parameter that is NULL lets every row through.
macro_rules! wanted {
    () => {
        "g.status = $1 AND (CAST($2 AS TEXT) IS NULL OR g.group_type = $2) AND (CAST($3 AS TEXT) IS NULL OR g.reason = $3) \
         AND (CAST($4 AS TEXT) IS NULL OR g.requires_review) \
         AND ((CAST($5 AS TEXT) IS NULL AND CAST($6 AS TEXT) IS NULL AND CAST($7 AS TEXT) IS NULL) \
         OR EXISTS (SELECT 1 FROM media_duplicate_candidates c WHERE c.group_id = g.id \
             AND (CAST($5 AS TEXT) IS NULL OR c.library_id = $5) AND (CAST($6 AS TEXT) IS NULL OR c.media_type = $6) \
             AND (CAST($7 AS TEXT) IS NULL OR c.title_key LIKE $7 ESCAPE '\\' OR c.path_key LIKE $7 ESCAPE '\\')))"
    };
}

macro_rules! page {
    ($order:literal) => {
        concat!(
            "SELECT ",
            columns!(),
            " FROM media_duplicate_groups g WHERE ",
            wanted!(),
            " ORDER BY ",
            $order,
            " LIMIT $8 OFFSET $9"
        )
    };
}

sql! {
    BY_REVIEW = page!("g.requires_review DESC, g.savings DESC, g.created_at DESC, g.id");
    BY_SAVINGS = page!("g.savings DESC, g.created_at DESC, g.id");
    BY_CONFIDENCE_DESC = page!("g.confidence DESC, g.created_at DESC, g.id");
    BY_CONFIDENCE = page!("g.confidence, g.created_at DESC, g.id");
    BY_TIME_DESC = page!("g.created_at DESC, g.id DESC");
    BY_TIME = page!("g.created_at, g.id");
    BY_FILES = page!("g.members DESC, g.created_at DESC, g.id");
    BY_TITLE = page!("g.title_key, g.created_at DESC, g.id");
    TOTAL = concat!("SELECT COUNT(*) FROM media_duplicate_groups g WHERE ", wanted!());
    CLEAR = concat!("SELECT ", columns!(), " FROM media_duplicate_groups g WHERE g.status = 'open' AND NOT g.requires_review \
        AND g.recommended_item_id IS NOT NULL ORDER BY g.savings DESC, g.created_at DESC, g.id LIMIT $1");
    STATUSES = "SELECT status, COUNT(*) FROM media_duplicate_groups GROUP BY status ORDER BY status";
    TYPES = "SELECT group_type, COUNT(*) FROM media_duplicate_groups GROUP BY group_type ORDER BY group_type";
    REASONS = "SELECT reason, COUNT(*) FROM media_duplicate_groups GROUP BY reason ORDER BY reason";
    OPEN_SUMS = "SELECT COALESCE(CAST(SUM(CASE WHEN requires_review THEN 1 ELSE 0 END) AS BIGINT), 0), \
        COALESCE(CAST(SUM(savings) AS BIGINT), 0) FROM media_duplicate_groups WHERE status = 'open'";
    NEWEST = "SELECT MAX(created_at) FROM media_duplicate_groups";
    PLANS = "SELECT COALESCE(CAST(SUM(CASE WHEN status = 'completed' THEN 1 ELSE 0 END) AS BIGINT), 0), \
        COALESCE(CAST(SUM(CASE WHEN status = 'pending' THEN 1 ELSE 0 END) AS BIGINT), 0) FROM media_duplicate_plans";
}

bulk! {
    OF_GROUPS = "SELECT c.group_id, c.item_id, c.library_id, c.media_type, c.title_key, c.path_key, c.size, c.quality, c.rank \
        FROM (VALUES", 2, ") w CROSS JOIN media_duplicate_candidates c WHERE c.group_id = w.column1 \
        AND c.rank <= CAST(w.column2 AS BIGINT) ORDER BY c.group_id, c.quality DESC, c.size DESC, c.rank";
}

/// Runs a statement with the values of a filter bound to `$1` to `$7`.
macro_rules! filtered {
    ($run:ident, $tx:expr, $row:ty, $statement:expr, $filter:expr $(, $more:expr)*) => {{
        let filter: &Filter = $filter;
        let text = |of: &Option<String>| of.as_deref().map(clean);
        let review = filter.needs_review.then_some("yes");
        let search = filter.search.as_deref().map(|part| pattern(&part.to_lowercase()));
        qm_db::$run!(
            $tx, $row, $statement, &filter.status, text(&filter.group_type), text(&filter.reason), review,
            text(&filter.library_id), text(&filter.media_type), search $(, $more)*
        )
        .await
    }};
}

/// Pattern of LIKE that finds a part of a text; special characters get a `\` before them.
fn pattern(text: &str) -> String {
    let mut pattern = String::from("%");
    for letter in clean(text).chars() {
        if matches!(letter, '%' | '_' | '\\') {
            pattern.push('\\');
        }
        pattern.push(letter);
    }
    pattern.push('%');
    pattern
}

const fn statement(sort: Sort) -> Statement {
    match sort {
        Sort::NeedsReview => BY_REVIEW,
        Sort::SavingsDesc => BY_SAVINGS,
        Sort::ConfidenceDesc => BY_CONFIDENCE_DESC,
        Sort::ConfidenceAsc => BY_CONFIDENCE,
        Sort::Recent => BY_TIME_DESC,
        Sort::Oldest => BY_TIME,
        Sort::FilesDesc => BY_FILES,
        Sort::Title => BY_TITLE,
    }
}

/// A page of groups, and the number of all that the filter selects.
pub async fn page(tx: &mut Tx, filter: &Filter, page: PageQuery) -> Result<(Vec<StoredGroup>, i64), DbError> {
    let total = filtered!(value, tx, i64, TOTAL, filter)?;
    let (limit, offset) = (page.page_size as i64, page.offset() as i64);
    if offset >= total {
        return Ok((Vec::new(), total));
    }
    let rows = filtered!(all, tx, Row, statement(filter.sort), filter, limit, offset)?;
    Ok((rows.into_iter().map(StoredGroup::from).collect(), total))
}

/// Members of groups, each group's best ones first: by their quality, then by their size. Of each group those with the
/// first `most` ranks.
pub async fn members(tx: &mut Tx, groups: &[String], most: i64) -> Result<Vec<Candidate>, DbError> {
    let rows = qm_db::each!(tx, CandidateRow, OF_GROUPS, groups, |id| id, most).await?;
    Ok(rows.into_iter().map(Candidate::from).collect())
}

/// Open groups that need no review, those with the largest savings first.
pub async fn clear(tx: &mut Tx, most: i64) -> Result<Vec<StoredGroup>, DbError> {
    let rows = qm_db::all!(tx, Row, CLEAR, most).await?;
    Ok(rows.into_iter().map(StoredGroup::from).collect())
}

pub async fn overview(tx: &mut Tx) -> Result<Overview, DbError> {
    let (needs_review, savings) = qm_db::one!(tx, (i64, i64), OPEN_SUMS).await?;
    let (completed_plans, pending_plans) = qm_db::one!(tx, (i64, i64), PLANS).await?;
    let newest = qm_db::value!(tx, Option<i64>, NEWEST).await?;
    Ok(Overview {
        by_status: qm_db::all!(tx, (String, i64), STATUSES).await?,
        by_type: qm_db::all!(tx, (String, i64), TYPES).await?,
        by_reason: qm_db::all!(tx, (String, i64), REASONS).await?,
        needs_review,
        savings,
        last_detected_at: newest.map(Timestamp::from_ms),
        completed_plans,
        pending_plans,
    })
}
