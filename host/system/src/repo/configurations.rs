//! Table `plugin_configurations`: configuration of a plugin as a whole, encrypted.

use async_trait::async_trait;
use qm_db::{DbError, Tx, all, exec, opt, sql};
use qm_kernel::Timestamp;
use qm_platform::{SealedPage, SealedRow, SealedValues};

sql! {
    FIND = "SELECT sealed FROM plugin_configurations WHERE plugin = $1";
    PUT = "INSERT INTO plugin_configurations (plugin, sealed, updated_at) VALUES ($1, $2, $3) \
        ON CONFLICT (plugin) DO UPDATE SET sealed = excluded.sealed, updated_at = excluded.updated_at";
    LIST = "SELECT plugin, sealed FROM plugin_configurations WHERE plugin > $1 ORDER BY plugin LIMIT $2";
    REPLACE = "UPDATE plugin_configurations SET sealed = $3 WHERE plugin = $1 AND sealed = $2";
}

const FIELD: &str = "configuration";

/// The encrypted configuration of a plugin.
pub async fn find(tx: &mut Tx, plugin: &str) -> Result<Option<String>, DbError> {
    let found = opt!(tx, (String,), FIND, plugin).await?;
    Ok(found.map(|(sealed,)| sealed))
}

pub async fn put(tx: &mut Tx, plugin: &str, sealed: &str, at: Timestamp) -> Result<(), DbError> {
    exec!(tx, PUT, plugin, sealed, at.ms()).await?.exactly(1)
}

/// Encrypted configurations of plugins, for a change of keys.
pub struct SealedConfigurations;

#[async_trait]
impl SealedValues for SealedConfigurations {
    fn area(&self) -> &'static str {
        "plugins"
    }

    async fn list(&self, tx: &mut Tx, after: Option<&str>, limit: u32) -> Result<SealedPage, DbError> {
        let found = all!(
            tx,
            (String, String),
            LIST,
            after.unwrap_or_default(),
            i64::from(limit)
        )
        .await?;
        Ok(SealedPage::of_one(FIELD, found, limit))
    }

    async fn replace(&self, tx: &mut Tx, row: &SealedRow, new: &str) -> Result<bool, DbError> {
        let done = exec!(tx, REPLACE, &row.object, &row.stored, new).await?;
        Ok(done.rows() == 1)
    }
}
