//! Table `plugin_values`: key-value storage of plugins.

use qm_db::{DbError, Tx, all, exec, one, opt, sql};

sql! {
    GET = "SELECT value FROM plugin_values WHERE plugin = $1 AND key = $2";
    KEYS = "SELECT key FROM plugin_values WHERE plugin = $1";
    PUT = "INSERT INTO plugin_values (plugin, key, value) VALUES ($1, $2, $3) \
        ON CONFLICT (plugin, key) DO UPDATE SET value = excluded.value";
    REMOVE = "DELETE FROM plugin_values WHERE plugin = $1 AND key = $2";
    USED = "SELECT COUNT(*), CAST(COALESCE(SUM(OCTET_LENGTH(key) + OCTET_LENGTH(value)), 0) AS BIGINT) \
        FROM plugin_values WHERE plugin = $1";
}

pub async fn get(tx: &mut Tx, plugin: &str, key: &str) -> Result<Option<String>, DbError> {
    let found = opt!(tx, (String,), GET, plugin, key).await?;
    Ok(found.map(|(value,)| value))
}

/// Every key of the plugin, unsorted.
pub async fn keys(tx: &mut Tx, plugin: &str) -> Result<Vec<String>, DbError> {
    let found = all!(tx, (String,), KEYS, plugin).await?;
    Ok(found.into_iter().map(|(key,)| key).collect())
}

pub async fn put(tx: &mut Tx, plugin: &str, key: &str, value: &str) -> Result<(), DbError> {
    exec!(tx, PUT, plugin, key, value).await?.exactly(1)
}

pub async fn remove(tx: &mut Tx, plugin: &str, key: &str) -> Result<(), DbError> {
    exec!(tx, REMOVE, plugin, key).await.map(drop)
}

/// Number of keys of the plugin, and bytes of all its keys and values.
pub async fn used(tx: &mut Tx, plugin: &str) -> Result<(i64, i64), DbError> {
    one!(tx, (i64, i64), USED, plugin).await
}
