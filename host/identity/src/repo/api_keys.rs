//! Table `api_keys`.

use qm_db::{DbError, FromRow, Json, Tx, sql};
use qm_kernel::Timestamp;

sql! {
    OF_USER = "SELECT id, name, prefix, scopes, last_used_at, revoked_at, created_at FROM api_keys WHERE user_id = $1 \
        ORDER BY created_at DESC, id";
    INSERT = "INSERT INTO api_keys (id, user_id, name, prefix, key_hash, scopes, created_at) \
        VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (prefix) DO NOTHING";
    REVOKE = "UPDATE api_keys SET revoked_at = $3 WHERE id = $1 AND user_id = $2 RETURNING name, prefix";
}

#[derive(FromRow)]
pub struct KeyRow {
    pub id: String,
    pub name: String,
    pub prefix: String,
    pub scopes: Json<Vec<String>>,
    pub last_used_at: Option<i64>,
    pub revoked_at: Option<i64>,
    pub created_at: i64,
}

/// A row to insert.
pub struct NewKey<'a> {
    pub id: &'a str,
    pub user_id: &'a str,
    pub name: &'a str,
    pub prefix: &'a str,
    pub hash: &'a str,
    pub scopes: &'a [String],
}

/// The user's keys, newest first, including revoked ones.
pub async fn of_user(tx: &mut Tx, user_id: &str) -> Result<Vec<KeyRow>, DbError> {
    qm_db::all!(tx, KeyRow, OF_USER, user_id).await
}

/// Inserts a key; `false` when the prefix exists.
pub async fn insert(tx: &mut Tx, key: NewKey<'_>, now: Timestamp) -> Result<bool, DbError> {
    let NewKey {
        id,
        user_id,
        name,
        prefix,
        hash,
        scopes,
    } = key;
    let affected = qm_db::exec!(
        tx,
        INSERT,
        id,
        user_id,
        name,
        prefix,
        hash,
        Json(scopes),
        now.ms()
    )
    .await?;
    Ok(affected.rows() == 1)
}

/// Revokes a key of this user, or renews its time of revocation. Returns its name and prefix; `None` when the
/// user has no such key.
pub async fn revoke(
    tx: &mut Tx,
    user_id: &str,
    id: &str,
    now: Timestamp,
) -> Result<Option<(String, String)>, DbError> {
    // PostgreSQL refuses NUL in texts, so no key has such an id.
    if id.contains('\0') {
        return Ok(None);
    }
    qm_db::opt!(tx, (String, String), REVOKE, id, user_id, now.ms()).await
}
