//! Table `torrent_views`.

use qm_db::{DbError, FromRow, Json, Tx, sql};
use qm_kernel::Timestamp;

use crate::model::{Settings, View};

sql! {
    OF_USER = "SELECT id, settings, name, created_at, updated_at FROM torrent_views WHERE user_id = $1 ORDER BY name, id";
    FIND = "SELECT id, settings, name, created_at, updated_at FROM torrent_views WHERE user_id = $1 AND id = $2";
    COUNT = "SELECT count(*) FROM torrent_views WHERE user_id = $1";
    ADD = "INSERT INTO torrent_views (id, user_id, name, settings, created_at, updated_at) VALUES ($1, $2, $3, $4, $5, $6)";
    CHANGE = "UPDATE torrent_views SET name = $3, settings = $4, updated_at = $5 WHERE user_id = $1 AND id = $2";
    REMOVE = "DELETE FROM torrent_views WHERE user_id = $1 AND id = $2";
}

#[derive(FromRow)]
struct Row {
    id: String,
    name: String,
    settings: Json<Settings>,
    created_at: i64,
    updated_at: i64,
}

impl From<Row> for View {
    fn from(row: Row) -> Self {
        Self {
            id: row.id,
            name: row.name,
            settings: row.settings.0,
            created_at: Timestamp::from_ms(row.created_at),
            updated_at: Timestamp::from_ms(row.updated_at),
        }
    }
}

/// Views of a user, in the order of their names.
pub async fn list(tx: &mut Tx, user_id: &str) -> Result<Vec<View>, DbError> {
    let rows = qm_db::all!(tx, Row, OF_USER, user_id).await?;
    Ok(rows.into_iter().map(View::from).collect())
}

/// A view of this user.
pub async fn find(tx: &mut Tx, user_id: &str, id: &str) -> Result<Option<View>, DbError> {
    Ok(qm_db::opt!(tx, Row, FIND, user_id, id).await?.map(View::from))
}

/// Number of views of a user.
pub async fn count(tx: &mut Tx, user_id: &str) -> Result<u64, DbError> {
    let count: i64 = qm_db::value!(tx, i64, COUNT, user_id).await?;
    Ok(count.unsigned_abs())
}

pub async fn add(tx: &mut Tx, user_id: &str, view: &View) -> Result<(), DbError> {
    let (id, name, settings) = (&view.id, &view.name, Json(&view.settings));
    let (created_at, updated_at) = (view.created_at.ms(), view.updated_at.ms());
    qm_db::exec!(tx, ADD, id, user_id, name, settings, created_at, updated_at)
        .await?
        .exactly(1)
}

pub async fn change(tx: &mut Tx, user_id: &str, view: &View) -> Result<(), DbError> {
    let (id, name, settings) = (&view.id, &view.name, Json(&view.settings));
    let updated_at = view.updated_at.ms();
    qm_db::exec!(tx, CHANGE, user_id, id, name, settings, updated_at)
        .await?
        .exactly(1)
}

pub async fn remove(tx: &mut Tx, user_id: &str, id: &str) -> Result<(), DbError> {
    qm_db::exec!(tx, REMOVE, user_id, id).await?.exactly(1)
}
