//! Tables `torrent_categories` and `torrent_tags`.

use qm_db::{DbError, Tx, sql};

use crate::model::stored::{CategoryRow, TagRow};

sql! {
    CATEGORIES = "SELECT id, name, color, save_path, created_at FROM torrent_categories ORDER BY name";
    ADD_CATEGORY = "INSERT INTO torrent_categories (id, name, color, save_path, created_at) VALUES ($1, $2, $3, $4, $5)";
    FIND_CATEGORY = "SELECT id, name, color, save_path, created_at FROM torrent_categories WHERE id = $1";
    CHANGE_CATEGORY = "UPDATE torrent_categories SET color = $2, save_path = $3 WHERE id = $1";
    DELETE_CATEGORY = "DELETE FROM torrent_categories WHERE id = $1 RETURNING id, name, color, save_path, created_at";
    TAGS = "SELECT id, name, color, created_at FROM torrent_tags ORDER BY name";
    ADD_TAG = "INSERT INTO torrent_tags (id, name, color, created_at) VALUES ($1, $2, $3, $4)";
    DELETE_TAG = "DELETE FROM torrent_tags WHERE id = $1 RETURNING id, name, color, created_at";
}

/// All categories by name.
pub async fn categories(tx: &mut Tx) -> Result<Vec<CategoryRow>, DbError> {
    qm_db::all!(tx, CategoryRow, CATEGORIES).await
}

/// `false`: there is one of that name.
pub async fn add_category(tx: &mut Tx, row: &CategoryRow) -> Result<bool, DbError> {
    let added = qm_db::exec!(
        tx,
        ADD_CATEGORY,
        &row.id,
        &row.name,
        row.color.as_deref(),
        row.save_path.as_deref(),
        row.created_at
    );
    unless_taken(added.await, "torrent_categories")
}

/// A category by its id.
pub async fn find_category(tx: &mut Tx, id: &str) -> Result<Option<CategoryRow>, DbError> {
    qm_db::opt!(tx, CategoryRow, FIND_CATEGORY, id).await
}

/// Writes the color and the directory of a category.
pub async fn change_category(tx: &mut Tx, row: &CategoryRow) -> Result<(), DbError> {
    qm_db::exec!(tx, CHANGE_CATEGORY, &row.id, &row.color, &row.save_path)
        .await?
        .exactly(1)
}

/// Deletes a category and returns what it was.
pub async fn delete_category(tx: &mut Tx, id: &str) -> Result<Option<CategoryRow>, DbError> {
    qm_db::opt!(tx, CategoryRow, DELETE_CATEGORY, id).await
}

/// All tags by name.
pub async fn tags(tx: &mut Tx) -> Result<Vec<TagRow>, DbError> {
    qm_db::all!(tx, TagRow, TAGS).await
}

/// `false`: there is one of that name.
pub async fn add_tag(tx: &mut Tx, row: &TagRow) -> Result<bool, DbError> {
    let added = qm_db::exec!(
        tx,
        ADD_TAG,
        &row.id,
        &row.name,
        row.color.as_deref(),
        row.created_at
    );
    unless_taken(added.await, "torrent_tags")
}

/// Deletes a tag and returns what it was.
pub async fn delete_tag(tx: &mut Tx, id: &str) -> Result<Option<TagRow>, DbError> {
    qm_db::opt!(tx, TagRow, DELETE_TAG, id).await
}

fn unless_taken(added: Result<qm_db::Affected, DbError>, table: &str) -> Result<bool, DbError> {
    match added {
        Ok(affected) => affected.exactly(1).map(|()| true),
        Err(error) if error.is_unique_violation_of(table, "name") => Ok(false),
        Err(error) => Err(error),
    }
}
