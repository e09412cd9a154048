//! Shows as people look through them.

use qm_db::{DbError, Tx, sql};
use qm_kernel::PageQuery;
use qm_media_names::show::normalise;

use super::part;
use super::shows::{Row, columns};
use crate::model::item::{Filter, Issue, Sort};
use crate::model::show::Show;

/// SQL condition of a list of shows. A parameter that is NULL lets every row through.
macro_rules! wanted {
    () => {
        "(CAST($1 AS TEXT) IS NULL OR w.library_id = $1) AND (CAST($2 AS TEXT) IS NULL OR w.media_type = $2) \
         AND (CAST($3 AS TEXT) IS NULL OR w.canonical_key LIKE $3 ESCAPE '\\') \
         AND (CAST($4 AS BIGINT) IS NULL OR w.year >= $4) AND (CAST($5 AS BIGINT) IS NULL OR w.year <= $5) \
         AND (CAST($6 AS TEXT) IS NULL OR CASE CAST($6 AS TEXT) WHEN 'titledb' THEN w.titledb_id \
             WHEN 'provider_a' THEN w.provider_a_id ELSE w.provider_b_id END = $7) \
         AND (CAST($8 AS TEXT) IS NULL OR (CAST($8 AS TEXT) = 'yes') = (w.titledb_id IS NOT NULL \
             OR w.provider_a_id IS NOT NULL OR w.provider_b_id IS NOT NULL)) \
         AND (CAST($9 AS TEXT) IS NULL OR (w.titledb_id IS NULL \
             AND EXISTS (SELECT 1 FROM media_show_suggestions s WHERE s.show_id = w.id)))"
    };
}

macro_rules! page {
    ($order:literal) => {
        concat!(
            "SELECT ",
            columns!(),
            " FROM media_shows w WHERE ",
            wanted!(),
            " ORDER BY ",
            $order,
            " LIMIT $10 OFFSET $11"
        )
    };
}

sql! {
    BY_TITLE = page!("w.canonical_key, w.id");
    BY_TITLE_DESC = page!("w.canonical_key DESC, w.id DESC");
    BY_ADDED = page!("w.created_at, w.id");
    BY_ADDED_DESC = page!("w.created_at DESC, w.id DESC");
    BY_YEAR = page!("w.year NULLS LAST, w.canonical_key, w.id");
    BY_YEAR_DESC = page!("w.year DESC NULLS LAST, w.canonical_key, w.id");
    BY_UPDATED_DESC = page!("w.updated_at DESC, w.id DESC");
    TOTAL = concat!("SELECT COUNT(*) FROM media_shows w WHERE ", wanted!());
}

/// Runs a statement with the values of a filter bound to `$1` to `$9`.
macro_rules! filtered {
    ($run:ident, $tx:expr, $row:ty, $statement:expr, $filter:expr $(, $more:expr)*) => {{
        let filter: &Filter = $filter;
        qm_db::$run!(
            $tx,
            $row,
            $statement,
            filter.library_id.as_deref(),
            filter.media_type.as_deref(),
            filter.search.as_deref().map(searched),
            filter.year_from,
            filter.year_to,
            filter.external.as_ref().map(|known| known.provider),
            filter.external.as_ref().map(|known| &*known.value),
            filter.identified.map(|is_known| if is_known { "yes" } else { "no" }),
            (filter.issue == Some(Issue::Suggested)).then_some("suggested")
            $(, $more)*
        )
        .await
    }};
}

/// Searched part of a key. A text without letters and digits is part of none.
fn searched(text: &str) -> String {
    let name = normalise(text);
    part(if name.is_empty() { text } else { &name })
}

/// A page of shows, and their total number. The library, type, search, years, id, issue, order and `identified` of the
/// filter count.
pub async fn page(tx: &mut Tx, filter: &Filter, page: PageQuery) -> Result<(Vec<Show>, u64), DbError> {
    let total = filtered!(one, tx, (i64,), TOTAL, filter)?.0;
    let (limit, offset) = (page.page_size as i64, page.offset() as i64);
    if offset >= total {
        return Ok((Vec::new(), total.unsigned_abs()));
    }
    let statement = match filter.sort {
        Sort::Title => BY_TITLE,
        Sort::TitleDesc => BY_TITLE_DESC,
        Sort::AddedAsc => BY_ADDED,
        Sort::AddedDesc => BY_ADDED_DESC,
        Sort::YearAsc => BY_YEAR,
        Sort::YearDesc => BY_YEAR_DESC,
        Sort::UpdatedDesc => BY_UPDATED_DESC,
    };
    let rows = filtered!(all, tx, Row, statement, filter, limit, offset)?;
    Ok((rows.into_iter().map(Show::from).collect(), total.unsigned_abs()))
}
