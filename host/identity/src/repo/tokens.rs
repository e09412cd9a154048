//! Table `refresh_tokens`.

use qm_db::{DbError, FromRow, Tx, sql};
use qm_kernel::Timestamp;

sql! {
    FIND = "SELECT id, user_id, family, expires_at, revoked_at, rotated_at FROM refresh_tokens WHERE token_hash = $1";
    INSERT = "INSERT INTO refresh_tokens (id, user_id, token_hash, family, user_agent, ip_address, expires_at, \
        created_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";
    ROTATE = "UPDATE refresh_tokens SET revoked_at = $2, rotated_at = $2 WHERE id = $1 AND revoked_at IS NULL";
    REVOKE_FAMILY = "UPDATE refresh_tokens SET revoked_at = $2 WHERE family = $1 AND revoked_at IS NULL";
    REVOKE_ALL = "UPDATE refresh_tokens SET revoked_at = $2 WHERE user_id = $1 AND revoked_at IS NULL";
    PRUNE = "DELETE FROM refresh_tokens WHERE id IN \
        (SELECT id FROM refresh_tokens WHERE expires_at < $1 ORDER BY expires_at LIMIT $2)";
}

#[derive(FromRow)]
pub struct TokenRow {
    pub id: String,
    pub user_id: String,
    pub family: String,
    pub expires_at: i64,
    pub revoked_at: Option<i64>,
    /// Time of its exchange for the next token of the family; `None` for tokens revoked otherwise.
    pub rotated_at: Option<i64>,
}

/// A row to insert.
pub struct NewToken<'a> {
    pub id: String,
    pub user_id: &'a str,
    pub hash: &'a str,
    pub family: &'a str,
    pub user_agent: Option<&'a str>,
    pub ip_address: String,
    pub expires_at: Timestamp,
}

pub async fn find(tx: &mut Tx, hash: &str) -> Result<Option<TokenRow>, DbError> {
    qm_db::opt!(tx, TokenRow, FIND, hash).await
}

pub async fn insert(tx: &mut Tx, token: NewToken<'_>, now: Timestamp) -> Result<(), DbError> {
    let NewToken {
        id,
        user_id,
        hash,
        family,
        user_agent,
        ip_address,
        expires_at,
    } = token;
    qm_db::exec!(
        tx,
        INSERT,
        id,
        user_id,
        hash,
        family,
        user_agent,
        ip_address,
        expires_at.ms(),
        now.ms()
    )
    .await?
    .exactly(1)
}

/// Marks a live token as rotated: the next one of its family replaces it. The caller has locked the user's
/// row.
pub async fn rotate(tx: &mut Tx, id: &str, now: Timestamp) -> Result<(), DbError> {
    qm_db::exec!(tx, ROTATE, id, now.ms()).await?.exactly(1)
}

pub async fn revoke_family(tx: &mut Tx, family: &str, now: Timestamp) -> Result<u64, DbError> {
    Ok(qm_db::exec!(tx, REVOKE_FAMILY, family, now.ms()).await?.rows())
}

/// Revokes every live token of a user; the caller has locked the user's row (see `users::lock`).
pub async fn revoke_all(tx: &mut Tx, user_id: &str, now: Timestamp) -> Result<u64, DbError> {
    Ok(qm_db::exec!(tx, REVOKE_ALL, user_id, now.ms()).await?.rows())
}

/// Deletes at most `limit` tokens that expired before `before`, oldest first.
pub async fn prune(tx: &mut Tx, before: Timestamp, limit: i64) -> Result<u64, DbError> {
    Ok(qm_db::exec!(tx, PRUNE, before.ms(), limit).await?.rows())
}
