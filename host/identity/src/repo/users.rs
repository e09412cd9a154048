//! Table `users`.

use qm_db::{DbError, FromRow, Tx, sql};
use qm_kernel::{Permission, Role, Timestamp};

use crate::model::NewUser;

sql! {
    FIND_BY_USERNAME = "SELECT id, username, email, display_name, timezone, password_hash, is_active, is_system, \
        totp_secret, totp_enabled, recovery_codes, last_login_at, created_at FROM users WHERE username = $1";
    FIND_BY_ID = "SELECT id, username, email, display_name, timezone, password_hash, is_active, is_system, \
        totp_secret, totp_enabled, recovery_codes, last_login_at, created_at FROM users WHERE id = $1";
    LOCK = "UPDATE users SET updated_at = updated_at WHERE id = $1 RETURNING id, username, email, display_name, \
        timezone, password_hash, is_active, is_system, totp_secret, totp_enabled, recovery_codes, last_login_at, \
        created_at";
    PAGE = "SELECT id, username, email, display_name, timezone, password_hash, is_active, is_system, totp_secret, \
        totp_enabled, recovery_codes, last_login_at, created_at FROM users ORDER BY created_at, id LIMIT $1 OFFSET $2";
    COUNT = "SELECT COUNT(*) FROM users";
    COUNT_FAILURE = "UPDATE users SET failed_login_attempts = failed_login_attempts + 1, updated_at = $2 \
        WHERE id = $1 AND is_active RETURNING failed_login_attempts";
    MARK_LOGIN = "UPDATE users SET last_login_at = $4, failed_login_attempts = 0, updated_at = $4 \
        WHERE id = $1 AND password_hash = $2 AND totp_enabled = $3 AND is_active";
    SPEND_STEP = "UPDATE users SET totp_last_step = $3 WHERE id = $1 AND totp_secret = $2 \
        AND COALESCE(totp_last_step, -1) < $3";
    SET_RECOVERY_CODES = "UPDATE users SET recovery_codes = $3, updated_at = $4 WHERE id = $1 AND recovery_codes = $2";
    SET_PASSWORD = "UPDATE users SET password_hash = $3, updated_at = $4 WHERE id = $1 AND password_hash = $2";
    SET_PROFILE = "UPDATE users SET email = $2, email_folded = $7, display_name = $3, timezone = $4, is_active = $5, updated_at = $6 \
        WHERE id = $1";
    START_TOTP = "UPDATE users SET totp_secret = $2, updated_at = $3 WHERE id = $1 AND NOT totp_enabled";
    ENABLE_TOTP = "UPDATE users SET totp_enabled = $3, recovery_codes = $4, totp_last_step = $6, updated_at = $5 \
        WHERE id = $1 AND totp_secret = $2 AND NOT totp_enabled";
    RENEW_RECOVERY_CODES = "UPDATE users SET recovery_codes = $3, totp_last_step = $5, updated_at = $4 \
        WHERE id = $1 AND totp_secret = $2 AND totp_enabled AND COALESCE(totp_last_step, -1) < $5";
    DISABLE_TOTP = "UPDATE users SET totp_enabled = $2, totp_secret = NULL, totp_last_step = NULL, \
        recovery_codes = '[]', updated_at = $3 WHERE id = $1";
    INSERT = "INSERT INTO users (id, username, email, display_name, password_hash, is_active, is_system, \
        failed_login_attempts, totp_enabled, recovery_codes, created_at, updated_at, email_folded) \
        VALUES ($1, $2, $3, $4, $5, $6, $7, 0, $8, '[]', $9, $9, $10)";
    DELETE = "DELETE FROM users WHERE id = $1";
    ACTIVE = "SELECT id, timezone FROM users WHERE id = $1 AND is_active";
    /// $2 is the role that holds every permission.
    HOLDERS = "SELECT u.id, u.timezone FROM users u WHERE u.is_active AND EXISTS (SELECT 1 FROM user_roles ur \
            JOIN roles r ON r.id = ur.role_id WHERE ur.user_id = u.id AND (r.name = $2 OR EXISTS (SELECT 1 \
            FROM role_permissions rp JOIN permissions p ON p.id = rp.permission_id \
            WHERE rp.role_id = r.id AND p.key = $1))) ORDER BY u.id";
}

/// A user with all columns that a login needs. Never leaves the crate.
#[derive(FromRow)]
pub struct UserRow {
    pub id: String,
    pub username: String,
    pub email: String,
    pub display_name: Option<String>,
    pub timezone: Option<String>,
    pub password_hash: String,
    pub is_active: bool,
    pub is_system: bool,
    pub totp_secret: Option<String>,
    pub totp_enabled: bool,
    /// JSON array of SHA-256 hex texts.
    pub recovery_codes: String,
    pub last_login_at: Option<i64>,
    pub created_at: i64,
}

/// PostgreSQL refuses NUL in texts, so no row has such a name or id.
fn cannot_exist(text: &str) -> bool {
    text.contains('\0')
}

/// Normalised form for uniqueness: `Jo@Example.org` and `jo@example.org` are the same mailbox to a reader of
/// lists.
fn folded(email: &str) -> String {
    email.to_lowercase()
}

pub async fn find_by_username(tx: &mut Tx, username: &str) -> Result<Option<UserRow>, DbError> {
    if cannot_exist(username) {
        return Ok(None);
    }
    qm_db::opt!(tx, UserRow, FIND_BY_USERNAME, username).await
}

pub async fn find(tx: &mut Tx, id: &str) -> Result<Option<UserRow>, DbError> {
    if cannot_exist(id) {
        return Ok(None);
    }
    qm_db::opt!(tx, UserRow, FIND_BY_ID, id).await
}

/// Reads the user and locks the row until the transaction ends. Every change of a user's tokens locks it
/// first: on Postgres a revocation would otherwise miss the token that a concurrent refresh is inserting.
pub async fn lock(tx: &mut Tx, id: &str) -> Result<Option<UserRow>, DbError> {
    if cannot_exist(id) {
        return Ok(None);
    }
    qm_db::opt!(tx, UserRow, LOCK, id).await
}

/// A page of users, oldest first.
pub async fn page(tx: &mut Tx, limit: i64, offset: i64) -> Result<Vec<UserRow>, DbError> {
    qm_db::all!(tx, UserRow, PAGE, limit, offset).await
}

pub async fn count(tx: &mut Tx) -> Result<i64, DbError> {
    qm_db::value!(tx, i64, COUNT).await
}

/// Counts a failed login of an active user; returns the number of consecutive failures.
pub async fn count_failure(tx: &mut Tx, id: &str, now: Timestamp) -> Result<Option<i64>, DbError> {
    let row = qm_db::opt!(tx, (i64,), COUNT_FAILURE, id, now.ms()).await?;
    Ok(row.map(|(attempts,)| attempts))
}

/// Records a login and locks the row, unless the account was deactivated, its password changed or its second
/// factor switched since it was checked.
pub async fn mark_login(tx: &mut Tx, user: &UserRow, now: Timestamp) -> Result<bool, DbError> {
    let affected = qm_db::exec!(
        tx,
        MARK_LOGIN,
        &user.id,
        &user.password_hash,
        user.totp_enabled,
        now.ms()
    )
    .await?;
    Ok(affected.rows() == 1)
}

/// Records the time step of a used code, unless that step or a later one was used before. Of two concurrent
/// callers with the same code only one gets true.
pub async fn spend_step(tx: &mut Tx, user: &UserRow, step: i64) -> Result<bool, DbError> {
    let affected = qm_db::exec!(tx, SPEND_STEP, &user.id, &user.totp_secret, step).await?;
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

/// Stores address, names, time zone and active state of `user`. The caller has locked the row.
pub async fn set_profile(tx: &mut Tx, user: &UserRow, now: Timestamp) -> Result<(), DbError> {
    qm_db::exec!(
        tx,
        SET_PROFILE,
        &user.id,
        &user.email,
        &user.display_name,
        &user.timezone,
        user.is_active,
        now.ms(),
        folded(&user.email)
    )
    .await?
    .exactly(1)
}

/// Stores the encrypted seed of a second factor in setup; `false` when a second factor is on.
pub async fn start_totp(tx: &mut Tx, id: &str, sealed: &str, now: Timestamp) -> Result<bool, DbError> {
    let affected = qm_db::exec!(tx, START_TOTP, id, sealed, now.ms()).await?;
    Ok(affected.rows() == 1)
}

/// Switches the second factor on, unless its seed changed, or it was switched on, since `user` was read. The step of the
/// code that does it is spent.
pub async fn enable_totp(
    tx: &mut Tx,
    user: &UserRow,
    step: i64,
    codes: &str,
    now: Timestamp,
) -> Result<bool, DbError> {
    let affected = qm_db::exec!(
        tx,
        ENABLE_TOTP,
        &user.id,
        &user.totp_secret,
        true,
        codes,
        now.ms(),
        step
    )
    .await?;
    Ok(affected.rows() == 1)
}

/// Replaces all recovery codes and spends the step of the code that does it, unless that one or a later one was used
/// before, or the second factor changed since `user` was read.
pub async fn renew_recovery_codes(
    tx: &mut Tx,
    user: &UserRow,
    step: i64,
    codes: &str,
    now: Timestamp,
) -> Result<bool, DbError> {
    let affected = qm_db::exec!(
        tx,
        RENEW_RECOVERY_CODES,
        &user.id,
        &user.totp_secret,
        codes,
        now.ms(),
        step
    )
    .await?;
    Ok(affected.rows() == 1)
}

/// Deletes seed, flag and recovery codes of the second factor.
pub async fn disable_totp(tx: &mut Tx, id: &str, now: Timestamp) -> Result<(), DbError> {
    qm_db::exec!(tx, DISABLE_TOTP, id, false, now.ms())
        .await?
        .exactly(1)
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
        now.ms(),
        folded(email)
    )
    .await?
    .exactly(1)
}

/// Deletes the user with all dependent rows; audit rows stay without a name. The caller has locked the row.
pub async fn delete(tx: &mut Tx, id: &str) -> Result<(), DbError> {
    qm_db::exec!(tx, DELETE, id).await?.exactly(1)
}

/// Id and time zone of an active user.
pub async fn active(tx: &mut Tx, id: &str) -> Result<Option<(String, Option<String>)>, DbError> {
    if cannot_exist(id) {
        return Ok(None);
    }
    qm_db::opt!(tx, (String, Option<String>), ACTIVE, id).await
}

/// Ids and time zones of the active users whose roles hold the permission, or hold everything.
pub async fn holders(tx: &mut Tx, permission: Permission) -> Result<Vec<(String, Option<String>)>, DbError> {
    let everything = Role::SuperAdmin.name();
    qm_db::all!(
        tx,
        (String, Option<String>),
        HOLDERS,
        permission.key(),
        everything
    )
    .await
}
