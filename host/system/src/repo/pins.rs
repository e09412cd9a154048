//! Tables `plugin_pins` (the file that owns a plugin id), `plugin_grants` (hosts that a plugin may reach) and
//! `plugin_capabilities` (interfaces that it may use).

use qm_db::{DbError, Tx, all, exec, opt, sql};
use qm_kernel::Timestamp;

sql! {
    FIND = "SELECT file, pinned_at FROM plugin_pins WHERE id = $1";
    LIST = "SELECT id, file, pinned_at FROM plugin_pins";
    PIN = "INSERT INTO plugin_pins (id, file, pinned_at) VALUES ($1, $2, $3) ON CONFLICT (id) DO NOTHING";
    GRANTS = "SELECT id, host FROM plugin_grants ORDER BY host";
    GRANT = "INSERT INTO plugin_grants (id, host, granted_at) VALUES ($1, $2, $3)";
    UNGRANT = "DELETE FROM plugin_grants WHERE id = $1";
    CAPABILITIES = "SELECT id, capability FROM plugin_capabilities";
    ALLOW = "INSERT INTO plugin_capabilities (id, capability, granted_at) VALUES ($1, $2, $3)";
    DISALLOW = "DELETE FROM plugin_capabilities WHERE id = $1";
    GIVE = "UPDATE plugin_pins SET file = $2, pinned_at = $3 WHERE id = $1";
}

/// File of the id, and the time of the pin in milliseconds.
pub async fn pin_of(tx: &mut Tx, id: &str) -> Result<Option<(String, i64)>, DbError> {
    opt!(tx, (String, i64), FIND, id).await
}

/// Every id with its file, and the time of the pin in milliseconds.
pub async fn pins(tx: &mut Tx) -> Result<Vec<(String, String, i64)>, DbError> {
    all!(tx, (String, String, i64), LIST).await
}

/// Pins the id to the file, unless it is pinned.
pub async fn pin(tx: &mut Tx, id: &str, file: &str, at: Timestamp) -> Result<(), DbError> {
    exec!(tx, PIN, id, file, at.ms()).await.map(drop)
}

/// Pins the id to another file. `false` when it was never pinned.
pub async fn give(tx: &mut Tx, id: &str, file: &str, at: Timestamp) -> Result<bool, DbError> {
    Ok(exec!(tx, GIVE, id, file, at.ms()).await?.rows() == 1)
}

/// Every id with each of its granted hosts, sorted by host.
pub async fn grants(tx: &mut Tx) -> Result<Vec<(String, String)>, DbError> {
    all!(tx, (String, String), GRANTS).await
}

pub async fn grant(tx: &mut Tx, id: &str, host: &str, at: Timestamp) -> Result<(), DbError> {
    exec!(tx, GRANT, id, host, at.ms()).await.map(drop)
}

/// Every id with each of its granted capabilities.
pub async fn capabilities(tx: &mut Tx) -> Result<Vec<(String, String)>, DbError> {
    all!(tx, (String, String), CAPABILITIES).await
}

pub async fn allow(tx: &mut Tx, id: &str, capability: &str, at: Timestamp) -> Result<(), DbError> {
    exec!(tx, ALLOW, id, capability, at.ms()).await.map(drop)
}

/// Revokes all grants of the id.
pub async fn ungrant(tx: &mut Tx, id: &str) -> Result<(), DbError> {
    exec!(tx, UNGRANT, id).await.map(drop)?;
    exec!(tx, DISALLOW, id).await.map(drop)
}
