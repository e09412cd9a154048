//! Table `media_extras`: files that belong to films and shows and are neither.

use std::collections::HashMap;

use qm_db::{DbError, FromRow, Tx, bulk, sql};
use qm_kernel::Timestamp;

use super::clean;
use crate::model::extra::Extra;

macro_rules! columns {
    () => {
        "id, library_id, place, type AS kind, owner, season, same_key, size, mtime, created_at"
    };
}

/// Most extras that are listed for one film or show.
const MOST: i64 = 1_000;

sql! {
    OF_DIRECTORY = concat!("SELECT ", columns!(), " FROM media_extras WHERE directory_id = $1");
    OF_OWNER = concat!("SELECT ", columns!(), " FROM media_extras WHERE library_id = $1 \
        AND substr(owner, 1, 200) = substr($2, 1, 200) AND owner = $2 ORDER BY type, place LIMIT $3");
    SET = "UPDATE media_extras SET type = $2, owner = $3, season = $4, same_key = $5, size = $6, mtime = $7 WHERE id = $1";
    DELETE = "DELETE FROM media_extras WHERE id = $1";
    MOVE = "UPDATE media_extras SET library_id = $2, directory_id = $3, place = $4, owner = $5, same_key = NULL WHERE id = $1";
    DELETE_AT = "DELETE FROM media_extras WHERE library_id = $1 AND place = $2 AND id <> $3";
    // Texts of paths that are not UTF-8 begin with a slash.
    BELOW = concat!("SELECT ", columns!(), " FROM media_extras WHERE library_id = $1 \
        AND ((place >= $2 AND place < $3) OR (place >= '/' AND place < '0')) ORDER BY place");
}

bulk! {
    INSERT = "INSERT INTO media_extras (id, library_id, directory_id, place, type, owner, season, same_key, size, mtime, \
        created_at) VALUES", 11, "";
}

#[derive(FromRow)]
struct Row {
    id: String,
    library_id: String,
    place: String,
    kind: String,
    owner: String,
    season: Option<i64>,
    same_key: Option<String>,
    size: i64,
    mtime: i64,
    created_at: i64,
}

impl From<Row> for Extra {
    fn from(row: Row) -> Self {
        Self {
            id: row.id,
            library_id: row.library_id,
            place: row.place,
            kind: row.kind,
            owner: row.owner,
            season: row.season,
            same_key: row.same_key,
            size: row.size,
            mtime: row.mtime,
            created_at: Timestamp::from_ms(row.created_at),
        }
    }
}

/// Replaces the stored extras of a directory by those that were seen.
pub async fn put(
    tx: &mut Tx,
    directory_id: &str,
    seen: &[Extra],
    new_id: impl Fn() -> String,
) -> Result<(), DbError> {
    let rows = qm_db::all!(tx, Row, OF_DIRECTORY, directory_id).await?;
    let mut stored: HashMap<String, Extra> = rows
        .into_iter()
        .map(|row| (row.place.clone(), row.into()))
        .collect();
    let mut new: Vec<(String, &Extra)> = Vec::new();
    for extra in seen {
        match stored.remove(&extra.place) {
            None => new.push((new_id(), extra)),
            Some(known) if known.is_as(extra) => {}
            Some(known) => {
                let _ = qm_db::exec!(
                    tx,
                    SET,
                    &known.id,
                    &extra.kind,
                    clean(&extra.owner),
                    extra.season,
                    extra.same_key.as_deref(),
                    extra.size,
                    extra.mtime
                )
                .await?;
            }
        }
    }
    for gone in stored.into_values() {
        let _ = qm_db::exec!(tx, DELETE, &gone.id).await?;
    }
    let _ = qm_db::batch!(
        tx,
        INSERT,
        new,
        |(id, extra)| id,
        &extra.library_id,
        directory_id,
        &extra.place,
        &extra.kind,
        clean(&extra.owner),
        extra.season,
        extra.same_key.as_deref(),
        extra.size,
        extra.mtime,
        extra.created_at.ms(),
    )
    .await?;
    Ok(())
}

/// Extras of the film or the show of a folder.
pub async fn of_owner(tx: &mut Tx, library_id: &str, owner: &str) -> Result<Vec<Extra>, DbError> {
    let rows = qm_db::all!(tx, Row, OF_OWNER, library_id, clean(owner), MOST).await?;
    Ok(rows.into_iter().map(Into::into).collect())
}

/// Extras that lie below a folder of a library; some that lie elsewhere may be among them.
pub async fn below(tx: &mut Tx, library_id: &str, folder: &str) -> Result<Vec<Extra>, DbError> {
    let [plain, _] = qm_media_names::place::ranges(folder);
    let rows = qm_db::all!(tx, Row, BELOW, library_id, plain.0, plain.1).await?;
    Ok(rows.into_iter().map(Into::into).collect())
}

pub async fn delete(tx: &mut Tx, id: &str) -> Result<(), DbError> {
    let _ = qm_db::exec!(tx, DELETE, id).await?;
    Ok(())
}

/// Stores the new place of an extra, and the folder of its film.
pub async fn relocate(
    tx: &mut Tx,
    id: &str,
    library_id: &str,
    directory_id: &str,
    place: &str,
    owner: &str,
) -> Result<(), DbError> {
    let _ = qm_db::exec!(tx, DELETE_AT, library_id, place, id).await?;
    let _ = qm_db::exec!(tx, MOVE, id, library_id, directory_id, place, clean(owner)).await?;
    Ok(())
}
