//! Tables `plugin_pins` (whose an id is) and `plugin_grants` (hosts of its own that a plugin may reach).

use qm_db::{DbError, Tx, all, exec, opt, sql};
use qm_kernel::Timestamp;

sql! {
    FIND = "SELECT file FROM plugin_pins WHERE id = $1";
    LIST = "SELECT id, file FROM plugin_pins";
    PIN = "INSERT INTO plugin_pins (id, file, pinned_at) VALUES ($1, $2, $3) ON CONFLICT (id) DO NOTHING";
    GRANTS = "SELECT id, host FROM plugin_grants ORDER BY host";
    GRANT = "INSERT INTO plugin_grants (id, host, granted_at) VALUES ($1, $2, $3)";
    UNGRANT = "DELETE FROM plugin_grants WHERE id = $1";
    GIVE = "UPDATE plugin_pins SET file = $2, pinned_at = $3 WHERE id = $1";
}

/// The file that has the id.
pub async fn file_of(tx: &mut Tx, id: &str) -> Result<Option<String>, DbError> {
    let found = opt!(tx, (String,), FIND, id).await?;
    Ok(found.map(|(file,)| file))
}

/// Every id with its file.
pub async fn files(tx: &mut Tx) -> Result<Vec<(String, String)>, DbError> {
    all!(tx, (String, String), LIST).await
}

/// Gives the id to the file, unless one has it.
pub async fn pin(tx: &mut Tx, id: &str, file: &str, at: Timestamp) -> Result<(), DbError> {
    exec!(tx, PIN, id, file, at.ms()).await.map(drop)
}

/// Gives the id to another file. False when nobody ever had it.
pub async fn give(tx: &mut Tx, id: &str, file: &str, at: Timestamp) -> Result<bool, DbError> {
    Ok(exec!(tx, GIVE, id, file, at.ms()).await?.rows() == 1)
}

/// Every id with each of its hosts, in order of hosts.
pub async fn grants(tx: &mut Tx) -> Result<Vec<(String, String)>, DbError> {
    all!(tx, (String, String), GRANTS).await
}

pub async fn grant(tx: &mut Tx, id: &str, host: &str, at: Timestamp) -> Result<(), DbError> {
    exec!(tx, GRANT, id, host, at.ms()).await.map(drop)
}

/// Takes every host from the id.
pub async fn ungrant(tx: &mut Tx, id: &str) -> Result<(), DbError> {
    exec!(tx, UNGRANT, id).await.map(drop)
}
