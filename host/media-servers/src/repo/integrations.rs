//! Table `media_server_integrations`. Configurations are encrypted.

use qm_db::{DbError, FromRow, Tx, all, exec, one, opt, sql};
use qm_kernel::Timestamp;

use crate::model::{Integration, Status};

macro_rules! columns {
    () => {
        "id, name, kind, is_enabled, config, status, last_refresh_at, last_health_check_at, server_version, created_at, \
         updated_at"
    };
}

sql! {
    ALL = concat!("SELECT ", columns!(), " FROM media_server_integrations ORDER BY created_at, id");
    FIND = concat!("SELECT ", columns!(), " FROM media_server_integrations WHERE id = $1");
    COUNT = "SELECT COUNT(*) FROM media_server_integrations";
    INSERT = concat!("INSERT INTO media_server_integrations (", columns!(), ") VALUES ($1, $2, $3, $4, $5, $6, NULL, NULL, \
        NULL, $7, $7)");
    UPDATE = "UPDATE media_server_integrations SET name = $2, kind = $3, is_enabled = $4, config = $5, status = $6, \
        server_version = $7, updated_at = $8 WHERE id = $1";
    DELETE = "DELETE FROM media_server_integrations WHERE id = $1";
    CHECKED = "UPDATE media_server_integrations SET status = $2, last_health_check_at = $3, \
        server_version = COALESCE($4, server_version) WHERE id = $1 AND updated_at = $5";
    REFRESHED = "UPDATE media_server_integrations SET status = $2, last_refresh_at = COALESCE($3, last_refresh_at) \
        WHERE id = $1 AND updated_at = $4";
}

#[derive(FromRow)]
struct Row {
    id: String,
    name: String,
    kind: String,
    is_enabled: bool,
    config: String,
    status: String,
    last_refresh_at: Option<i64>,
    last_health_check_at: Option<i64>,
    server_version: Option<String>,
    created_at: i64,
    updated_at: i64,
}

impl From<Row> for Integration {
    fn from(row: Row) -> Self {
        Self {
            id: row.id,
            name: row.name,
            kind: row.kind,
            is_enabled: row.is_enabled,
            config: row.config,
            status: Status::named(&row.status),
            last_refresh_at: row.last_refresh_at.map(Timestamp::from_ms),
            last_health_check_at: row.last_health_check_at.map(Timestamp::from_ms),
            server_version: row.server_version,
            created_at: Timestamp::from_ms(row.created_at),
            updated_at: Timestamp::from_ms(row.updated_at),
        }
    }
}

/// Every media server, the oldest first.
pub async fn all(tx: &mut Tx) -> Result<Vec<Integration>, DbError> {
    let rows = all!(tx, Row, ALL).await?;
    Ok(rows.into_iter().map(Integration::from).collect())
}

pub async fn find(tx: &mut Tx, id: &str) -> Result<Option<Integration>, DbError> {
    Ok(opt!(tx, Row, FIND, id).await?.map(Integration::from))
}

pub async fn count(tx: &mut Tx) -> Result<u64, DbError> {
    let (count,) = one!(tx, (i64,), COUNT).await?;
    Ok(count as u64)
}

/// Inserts a new server.
pub async fn insert(tx: &mut Tx, new: &Integration) -> Result<(), DbError> {
    exec!(
        tx,
        INSERT,
        &new.id,
        &new.name,
        &new.kind,
        new.is_enabled,
        &new.config,
        new.status.as_str(),
        new.created_at.ms()
    )
    .await?
    .exactly(1)
}

pub async fn update(tx: &mut Tx, new: &Integration) -> Result<(), DbError> {
    exec!(
        tx,
        UPDATE,
        &new.id,
        &new.name,
        &new.kind,
        new.is_enabled,
        &new.config,
        new.status.as_str(),
        new.server_version.as_deref(),
        new.updated_at.ms()
    )
    .await?
    .exactly(1)
}

pub async fn delete(tx: &mut Tx, id: &str) -> Result<(), DbError> {
    exec!(tx, DELETE, id).await?.exactly(1)
}

/// Stores a test result, unless the server was changed meanwhile.
pub async fn checked(
    tx: &mut Tx,
    which: &Integration,
    at: Timestamp,
    status: Status,
    version: Option<&str>,
) -> Result<(), DbError> {
    let _ = exec!(
        tx,
        CHECKED,
        &which.id,
        status.as_str(),
        at.ms(),
        version,
        which.updated_at.ms()
    )
    .await?;
    Ok(())
}

/// Stores the result of a refresh, and its time if it was accepted, unless the server was changed meanwhile.
pub async fn refreshed(
    tx: &mut Tx,
    which: &Integration,
    status: Status,
    at: Option<Timestamp>,
) -> Result<(), DbError> {
    let _ = exec!(
        tx,
        REFRESHED,
        &which.id,
        status.as_str(),
        at.map(Timestamp::ms),
        which.updated_at.ms()
    )
    .await?;
    Ok(())
}
