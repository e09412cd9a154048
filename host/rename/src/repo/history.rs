//! History of runs, as people look at it.

use qm_db::{DbError, FromRow, Tx, sql};
use qm_kernel::{PageQuery, Timestamp};

use super::runs::{OperationRow, columns};
use crate::model::run::{Operation, Undoable};

sql! {
    // Of the newest rows only.
    UNDOABLE = "SELECT run_id, MAX(created_at) AS at, COUNT(*) AS operations, MAX(mode) AS mode FROM (SELECT run_id, created_at, mode \
        FROM media_rename_operations WHERE status = 'success' AND undone_at IS NULL AND action <> 'delete' \
        ORDER BY id DESC LIMIT $1) newest GROUP BY run_id ORDER BY MAX(created_at) DESC, run_id DESC LIMIT $2";
    OF_RUN = concat!("SELECT ", columns!(), " FROM media_rename_operations WHERE run_id = $1 AND status <> 'begun' \
        ORDER BY position, id LIMIT $2");
    COUNT_OF_RUN = "SELECT COUNT(*) FROM media_rename_operations WHERE run_id = $1 AND status <> 'begun'";
    PAGE = concat!("SELECT ", columns!(), " FROM media_rename_operations WHERE status <> 'begun' ORDER BY id DESC LIMIT $1 OFFSET $2");
    COUNT = "SELECT COUNT(*) FROM media_rename_operations WHERE status <> 'begun'";
    ABOUT = "SELECT id FROM media_rename_operations WHERE substr(source, 1, 200) >= substr($1, 1, 200) \
            AND substr(source, 1, 200) <= substr($2, 1, 200) AND source >= $1 AND source < $2 AND status <> 'begun' \
        UNION SELECT id FROM media_rename_operations WHERE substr(destination, 1, 200) >= substr($1, 1, 200) \
            AND substr(destination, 1, 200) <= substr($2, 1, 200) AND destination >= $1 AND destination < $2 \
            AND status <> 'begun' \
        ORDER BY 1 DESC LIMIT $3";
    AT = "SELECT id FROM media_rename_operations WHERE substr(source, 1, 200) = substr($1, 1, 200) AND source = $1 \
            AND status <> 'begun' \
        UNION SELECT id FROM media_rename_operations WHERE substr(destination, 1, 200) = substr($1, 1, 200) \
            AND destination = $1 AND status <> 'begun' \
        ORDER BY 1 DESC LIMIT $2";
    ONE = concat!("SELECT ", columns!(), " FROM media_rename_operations WHERE id = $1");
}

#[derive(FromRow)]
struct UndoableRow {
    run_id: String,
    at: i64,
    operations: i64,
    mode: String,
}

/// Newest runs with something to undo.
pub async fn undoable(tx: &mut Tx, newest: i64, most: i64) -> Result<Vec<Undoable>, DbError> {
    let rows = qm_db::all!(tx, UndoableRow, UNDOABLE, newest, most).await?;
    let runs = rows.into_iter().map(|row| Undoable {
        run_id: row.run_id,
        at: Timestamp::from_ms(row.at),
        operations: row.operations,
        mode: row.mode,
    });
    Ok(runs.collect())
}

/// Operations of a run, the oldest first, and their number.
pub async fn of_run(tx: &mut Tx, run_id: &str, most: i64) -> Result<(Vec<Operation>, u64), DbError> {
    if run_id.contains('\0') {
        return Ok((Vec::new(), 0));
    }
    let rows = qm_db::all!(tx, OperationRow, OF_RUN, run_id, most).await?;
    let count: i64 = qm_db::value!(tx, i64, COUNT_OF_RUN, run_id).await?;
    Ok((
        rows.into_iter().map(Operation::from).collect(),
        count.unsigned_abs(),
    ))
}

/// A page of all operations, the newest first, and their number.
pub async fn page(tx: &mut Tx, page: PageQuery) -> Result<(Vec<Operation>, u64), DbError> {
    let (most, skipped) = (bounded(page.page_size), bounded(page.offset()));
    let rows = qm_db::all!(tx, OperationRow, PAGE, most, skipped).await?;
    let count: i64 = qm_db::value!(tx, i64, COUNT).await?;
    Ok((
        rows.into_iter().map(Operation::from).collect(),
        count.unsigned_abs(),
    ))
}

fn bounded(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Ids of operations about paths from `first` up to `end`, the newest first.
pub async fn about(tx: &mut Tx, first: &str, end: &str, most: i64) -> Result<Vec<String>, DbError> {
    let rows = qm_db::all!(tx, (String,), ABOUT, first, end, most).await?;
    Ok(rows.into_iter().map(|(id,)| id).collect())
}

/// Ids of operations about a path itself, the newest first.
pub async fn about_path(tx: &mut Tx, path: &str, most: i64) -> Result<Vec<String>, DbError> {
    let rows = qm_db::all!(tx, (String,), AT, path, most).await?;
    Ok(rows.into_iter().map(|(id,)| id).collect())
}

/// Operations by their ids, in that order.
pub async fn named(tx: &mut Tx, ids: &[String]) -> Result<Vec<Operation>, DbError> {
    let mut found = Vec::with_capacity(ids.len());
    for id in ids {
        let row = qm_db::opt!(tx, OperationRow, ONE, id).await?;
        found.extend(row.map(Operation::from));
    }
    Ok(found)
}
