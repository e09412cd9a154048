//! Table `users`.

use qm_db::{DbError, FromRow, Tx, sql};
use qm_kernel::Timestamp;

use crate::model::NewUser;

sql! {
    FIND_BY_USERNAME = "SELECT id, username, email, display_name, timezone, password_hash, is_active, totp_secret, \
        totp_enabled, recovery_codes FROM users WHERE username = $1";
    FIND_BY_ID = "SELECT id, username, email, display_name, timezone, password_hash, is_active, totp_secret, \
        totp_enabled, recovery_codes FROM users WHERE id = $1";
    LOCK = "UPDATE users SET updated_at = updated_at WHERE id = $1 RETURNING id, username, email, display_name, \
        timezone, password_hash, is_active, totp_secret, totp_enabled, recovery_codes";
    COUNT_FAILURE = "UPDATE users SET failed_login_attempts = failed_login_attempts + 1, updated_at = $2 \
        WHERE id = $1 AND is_active RETURNING failed_login_attempts";
    MARK_LOGIN = "UPDATE users SET last_login_at = $3, failed_login_attempts = 0, \
        updated_at = $3 WHERE id = $1 AND password_hash = $2 AND is_active";
    SET_RECOVERY_CODES = "UPDATE users SET recovery_codes = $3, updated_at = $4 WHERE id = $1 AND recovery_codes = $2";
    SET_PASSWORD = "UPDATE users SET password_hash = $3, updated_at = $4 WHERE id = $1 AND password_hash = $2";
    INSERT = "INSERT INTO users (id, username, email, display_name, password_hash, is_active, is_system, \
        failed_login_attempts, totp_enabled, recovery_codes, created_at, updated_at) \
        VALUES ($1, $2, $3, $4, $5, $6, $7, 0, $8, '[]', $9, $9)";
}

/// A user with everything a login needs. Never leaves the crate.
#[derive(FromRow)]
pub struct UserRow {
    pub id: String,
    pub username: String,
    pub email: String,
    pub display_name: Option<String>,
    pub timezone: Option<String>,
    pub password_hash: String,
    pub is_active: bool,
    pub totp_secret: Option<String>,
    pub totp_enabled: bool,
    /// JSON array of SHA-256 hex texts.
    pub recovery_codes: String,
}

pub async fn find_by_username(tx: &mut Tx, username: &str) -> Result<Option<UserRow>, DbError> {
    // PostgreSQL refuses a text with a NUL, so nobody can have such a name.
    if username.contains('\0') {
        return Ok(None);
    }
    qm_db::opt!(tx, UserRow, FIND_BY_USERNAME, username).await
}

pub async fn find(tx: &mut Tx, id: &str) -> Result<Option<UserRow>, DbError> {
    qm_db::opt!(tx, UserRow, FIND_BY_ID, id).await
}

/// Reads the user and holds the row until the transaction ends. Whatever issues or revokes a user's tokens holds it
/// first: a revocation on Postgres would otherwise miss the token that a concurrent refresh is just inserting.
pub async fn lock(tx: &mut Tx, id: &str) -> Result<Option<UserRow>, DbError> {
    qm_db::opt!(tx, UserRow, LOCK, id).await
}

/// Counts a failed login of an active user; answers how many there were in a row.
pub async fn count_failure(tx: &mut Tx, id: &str, now: Timestamp) -> Result<Option<i64>, DbError> {
    let row = qm_db::opt!(tx, (i64,), COUNT_FAILURE, id, now.ms()).await?;
    Ok(row.map(|(attempts,)| attempts))
}

/// Notes a login, unless the account was deactivated or its password changed since it was checked.
pub async fn mark_login(tx: &mut Tx, user: &UserRow, now: Timestamp) -> Result<bool, DbError> {
    let affected = qm_db::exec!(tx, MARK_LOGIN, &user.id, &user.password_hash, now.ms()).await?;
    Ok(affected.rows() == 1)
}

/// Replaces the recovery codes, unless they changed since `user` was read.
pub async fn set_recovery_codes(
    tx: &mut Tx,
    user: &UserRow,
    codes: &str,
    now: Timestamp,
) -> Result<bool, DbError> {
    let affected = qm_db::exec!(
        tx,
        SET_RECOVERY_CODES,
        &user.id,
        &user.recovery_codes,
        codes,
        now.ms()
    )
    .await?;
    Ok(affected.rows() == 1)
}

/// Replaces the password, unless it changed since `user` was read.
pub async fn set_password(tx: &mut Tx, user: &UserRow, hash: &str, now: Timestamp) -> Result<bool, DbError> {
    let affected = qm_db::exec!(tx, SET_PASSWORD, &user.id, &user.password_hash, hash, now.ms()).await?;
    Ok(affected.rows() == 1)
}

pub async fn insert(
    tx: &mut Tx,
    id: &str,
    user: &NewUser,
    hash: &str,
    now: Timestamp,
) -> Result<(), DbError> {
    let NewUser {
        username,
        email,
        display_name,
        is_system,
        ..
    } = user;
    qm_db::exec!(
        tx,
        INSERT,
        id,
        username,
        email,
        display_name,
        hash,
        true,
        *is_system,
        false,
        now.ms()
    )
    .await?
    .exactly(1)
}
