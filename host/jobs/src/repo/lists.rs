//! Lists of jobs that the caller may see. Every statement begins with the three parameters of [`Sight`].

use qm_db::{DbError, Statement, Tx, sql};
use qm_kernel::{PageQuery, Timestamp};

use super::item::{ItemRow, item_columns, items};
use crate::error::JobsError;
use crate::model::job::Item;
use crate::model::sight::Sight;
use crate::model::view::{Sort, Wanted};

/// SQL form of [`Sight::shows`].
macro_rules! visible {
    () => {
        "($1 OR visibility_scope = 'public' OR created_by_id = $2 OR (visibility_scope = 'module' AND \
         (required_permission IS NULL OR \
         REPLACE(CAST($3 AS TEXT), ',' || required_permission || ',', '') <> CAST($3 AS TEXT))))"
    };
}

macro_rules! wanted {
    () => {
        concat!(
            visible!(),
            " AND (CAST($4 AS TEXT) IS NULL OR status = $4) \
             AND (CAST($5 AS BOOLEAN) IS NULL OR CAST($5 AS BOOLEAN) = (status IN ('scheduled', 'queued', 'waiting', \
             'blocked', 'running', 'pausing', 'paused', 'retrying', 'cancelling'))) \
             AND (CAST($6 AS TEXT) IS NULL OR module_key = $6) AND (CAST($7 AS TEXT) IS NULL OR workspace_key = $7) \
             AND (CAST($8 AS TEXT) IS NULL OR type = $8) AND (CAST($9 AS TEXT) IS NULL OR source = $9) \
             AND (CAST($10 AS TEXT) IS NULL OR created_by_id = $10) \
             AND (CAST($11 AS TEXT) IS NULL OR correlation_id = $11) \
             AND (CAST($12 AS TEXT) IS NULL OR library_id = $12) AND (CAST($13 AS TEXT) IS NULL OR resource_id = $13) \
             AND (CAST($14 AS TEXT) IS NULL OR id = $14 OR correlation_id = $14 \
             OR LOWER(type) LIKE LOWER($15) ESCAPE '\\' OR LOWER(name) LIKE LOWER($15) ESCAPE '\\')"
        )
    };
}

macro_rules! page {
    ($order:literal) => {
        concat!(
            "SELECT ",
            item_columns!(),
            " FROM platform_jobs WHERE ",
            wanted!(),
            " ORDER BY ",
            $order,
            " LIMIT $16 OFFSET $17"
        )
    };
}

sql! {
    COUNT = concat!("SELECT COUNT(*) FROM platform_jobs WHERE ", wanted!());
    CREATED_ASC = page!("created_at, id");
    CREATED_DESC = page!("created_at DESC, id DESC");
    QUEUED_ASC = page!("queued_at, id");
    QUEUED_DESC = page!("queued_at DESC, id DESC");
    STARTED_ASC = page!("started_at NULLS LAST, id");
    STARTED_DESC = page!("started_at DESC NULLS LAST, id DESC");
    COMPLETED_ASC = page!("completed_at NULLS LAST, id");
    COMPLETED_DESC = page!("completed_at DESC NULLS LAST, id DESC");
    PRIORITY_ASC = page!("priority, created_at, id");
    PRIORITY_DESC = page!("priority DESC, created_at DESC, id DESC");
    STATUS_ASC = page!("status, created_at, id");
    STATUS_DESC = page!("status DESC, created_at DESC, id DESC");
    CHILDREN = concat!(
        "SELECT ", item_columns!(), " FROM platform_jobs WHERE ", visible!(),
        " AND parent_job_id = $4 ORDER BY created_at, id LIMIT $5"
    );
    RECENT_OF_MODULE = concat!(
        "SELECT ", item_columns!(), " FROM platform_jobs WHERE ", visible!(),
        " AND module_key = $4 ORDER BY created_at DESC, id DESC LIMIT $5"
    );
    FAILED_OF_MODULE = "SELECT COUNT(*) FROM platform_jobs WHERE module_key = $1 AND status = 'failed'";
    BY_STATUS = concat!("SELECT status, COUNT(*) FROM platform_jobs WHERE ", visible!(), " GROUP BY status");
    ENDED_SINCE = concat!(
        "SELECT status, COUNT(*) FROM platform_jobs WHERE ", visible!(), " AND updated_at >= $4 AND ( \
         (status IN ('completed', 'completed_with_warnings') AND completed_at >= $4) \
         OR (status = 'failed' AND failed_at >= $4) OR (status = 'cancelled' AND cancelled_at >= $4)) GROUP BY status"
    );
}

/// The statement for this sort column and direction.
fn page_by(sort: Sort, ascending: bool) -> Statement {
    match (sort, ascending) {
        (Sort::Created, true) => CREATED_ASC,
        (Sort::Created, false) => CREATED_DESC,
        (Sort::Queued, true) => QUEUED_ASC,
        (Sort::Queued, false) => QUEUED_DESC,
        (Sort::Started, true) => STARTED_ASC,
        (Sort::Started, false) => STARTED_DESC,
        (Sort::Completed, true) => COMPLETED_ASC,
        (Sort::Completed, false) => COMPLETED_DESC,
        (Sort::Priority, true) => PRIORITY_ASC,
        (Sort::Priority, false) => PRIORITY_DESC,
        (Sort::Status, true) => STATUS_ASC,
        (Sort::Status, false) => STATUS_DESC,
    }
}

/// One page of the visible jobs that match the filters, and their total number.
pub async fn page(
    tx: &mut Tx,
    sight: &Sight,
    wanted: &Wanted,
    page: PageQuery,
) -> Result<(Vec<Item>, u64), JobsError> {
    let pattern = wanted.search.as_deref().map(contains);
    macro_rules! asked {
        ($run:ident, $shape:ty, $statement:expr $(, $more:expr)*) => {
            qm_db::$run!(
                tx, $shape, $statement, sight.all, &sight.user_id, &sight.held, wanted.status.as_deref(), wanted.active,
                wanted.module_key.as_deref(), wanted.workspace_key.as_deref(), wanted.type_key.as_deref(),
                wanted.source.as_deref(), wanted.created_by_id.as_deref(), wanted.correlation_id.as_deref(),
                wanted.library_id.as_deref(), wanted.resource_id.as_deref(), wanted.search.as_deref(),
                pattern.as_deref() $(, $more)*
            )
            .await?
        };
    }
    let total = asked!(value, i64, COUNT);
    let statement = page_by(wanted.sort, wanted.ascending);
    let rows = asked!(
        all,
        ItemRow,
        statement,
        page.page_size as i64,
        page.offset() as i64
    );
    Ok((items(rows)?, total as u64))
}

/// LIKE pattern that finds `text` anywhere.
fn contains(text: &str) -> String {
    let mut pattern = String::with_capacity(text.len() + 2);
    pattern.push('%');
    for c in text.chars() {
        if matches!(c, '%' | '_' | '\\') {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    pattern.push('%');
    pattern
}

/// The child jobs of `parent`, the oldest first.
pub async fn children(tx: &mut Tx, sight: &Sight, parent: &str, most: i64) -> Result<Vec<Item>, JobsError> {
    let rows = qm_db::all!(
        tx,
        ItemRow,
        CHILDREN,
        sight.all,
        &sight.user_id,
        &sight.held,
        parent,
        most
    );
    items(rows.await?)
}

/// The latest jobs of a module, the newest first.
pub async fn recent(tx: &mut Tx, sight: &Sight, module: &str, most: i64) -> Result<Vec<Item>, JobsError> {
    let rows = qm_db::all!(
        tx,
        ItemRow,
        RECENT_OF_MODULE,
        sight.all,
        &sight.user_id,
        &sight.held,
        module,
        most
    );
    items(rows.await?)
}

/// Number of visible jobs in each state.
pub async fn by_status(tx: &mut Tx, sight: &Sight) -> Result<Vec<(String, i64)>, DbError> {
    qm_db::all!(
        tx,
        (String, i64),
        BY_STATUS,
        sight.all,
        &sight.user_id,
        &sight.held
    )
    .await
}

/// Number of visible jobs that ended since `since`, by final state.
pub async fn ended_since(
    tx: &mut Tx,
    sight: &Sight,
    since: Timestamp,
) -> Result<Vec<(String, i64)>, DbError> {
    qm_db::all!(
        tx,
        (String, i64),
        ENDED_SINCE,
        sight.all,
        &sight.user_id,
        &sight.held,
        since.ms()
    )
    .await
}

/// Number of stored failed jobs of a module.
pub async fn failed(tx: &mut Tx, module: &str) -> Result<u64, DbError> {
    Ok(qm_db::value!(tx, i64, FAILED_OF_MODULE, module)
        .await?
        .unsigned_abs())
}
