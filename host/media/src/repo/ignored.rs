//! Table `media_ignored`: places that people asked the service to ignore.

use std::collections::HashSet;

use qm_db::{DbError, FromRow, Tx, sql};
use qm_kernel::{PageQuery, Timestamp};

use crate::model::ignored::Ignored;

sql! {
    PLACES = "SELECT place FROM media_ignored WHERE library_id = $1";
    LIST = "SELECT id, library_id, place, created_at FROM media_ignored \
        WHERE (CAST($1 AS TEXT) IS NULL OR library_id = $1) ORDER BY created_at, place LIMIT $2 OFFSET $3";
    TOTAL = "SELECT COUNT(*) FROM media_ignored WHERE (CAST($1 AS TEXT) IS NULL OR library_id = $1)";
    COUNT = "SELECT COUNT(*) FROM media_ignored WHERE library_id = $1";
    FIND = "SELECT id, library_id, place, created_at FROM media_ignored WHERE id = $1";
    AT = "SELECT id, library_id, place, created_at FROM media_ignored WHERE library_id = $1 AND place = $2";
    INSERT = "INSERT INTO media_ignored (id, library_id, place, created_at) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING";
    DELETE = "DELETE FROM media_ignored WHERE id = $1";
}

#[derive(FromRow)]
struct Row {
    id: String,
    library_id: String,
    place: String,
    created_at: i64,
}

impl From<Row> for Ignored {
    fn from(row: Row) -> Self {
        Self {
            id: row.id,
            library_id: row.library_id,
            place: row.place,
            created_at: Timestamp::from_ms(row.created_at),
        }
    }
}

/// Places of a library that scans skip.
pub async fn places(tx: &mut Tx, library_id: &str) -> Result<HashSet<String>, DbError> {
    let rows = qm_db::all!(tx, (String,), PLACES, library_id).await?;
    Ok(rows.into_iter().map(|(place,)| place).collect())
}

/// A page of ignored places, the oldest first, and their total number.
pub async fn page(
    tx: &mut Tx,
    library_id: Option<&str>,
    page: PageQuery,
) -> Result<(Vec<Ignored>, u64), DbError> {
    let total = qm_db::value!(tx, i64, TOTAL, library_id).await?.unsigned_abs();
    let (limit, offset) = (page.page_size as i64, page.offset() as i64);
    let rows = qm_db::all!(tx, Row, LIST, library_id, limit, offset).await?;
    Ok((rows.into_iter().map(Into::into).collect(), total))
}

/// Number of a library's places that are ignored.
pub async fn count(tx: &mut Tx, library_id: &str) -> Result<u64, DbError> {
    Ok(qm_db::value!(tx, i64, COUNT, library_id).await?.unsigned_abs())
}

pub async fn find(tx: &mut Tx, id: &str) -> Result<Option<Ignored>, DbError> {
    Ok(qm_db::opt!(tx, Row, FIND, id).await?.map(Into::into))
}

/// Adds an ignored place; returns its row, which may be an older one.
pub async fn put(tx: &mut Tx, ignored: &Ignored) -> Result<Ignored, DbError> {
    let (library, place) = (&ignored.library_id, &ignored.place);
    let _ = qm_db::exec!(tx, INSERT, &ignored.id, library, place, ignored.created_at.ms()).await?;
    Ok(qm_db::one!(tx, Row, AT, library, place).await?.into())
}

pub async fn delete(tx: &mut Tx, id: &str) -> Result<(), DbError> {
    let _ = qm_db::exec!(tx, DELETE, id).await?;
    Ok(())
}
