//! Table `settings`: any JSON value a key.

use qm_db::{DbError, Json, Tx, all, exec, opt, sql};
use qm_kernel::Timestamp;
use serde_json::Value;

sql! {
    FIND = "SELECT value FROM settings WHERE key = $1";
    LIST = "SELECT key, value FROM settings ORDER BY key";
    PUT = "INSERT INTO settings (key, value, updated_at) VALUES ($1, $2, $3) \
        ON CONFLICT (key) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at";
    SEED = "INSERT INTO settings (key, value, updated_at) VALUES ($1, $2, $3) ON CONFLICT (key) DO NOTHING";
    REMOVE = "DELETE FROM settings WHERE key = $1";
    REPLACE = "UPDATE settings SET value = $3 WHERE key = $1 AND value = $2";
}

/// The stored value; `None` if it is missing or no JSON.
pub async fn find(tx: &mut Tx, key: &str) -> Result<Option<Value>, DbError> {
    let stored = opt!(tx, (String,), FIND, key).await?;
    Ok(stored.and_then(|(text,)| serde_json::from_str(&text).ok()))
}

/// Every key with the text of its value, by key.
pub async fn list(tx: &mut Tx) -> Result<Vec<(String, String)>, DbError> {
    all!(tx, (String, String), LIST).await
}

pub async fn put(tx: &mut Tx, key: &str, value: &Value, at: Timestamp) -> Result<(), DbError> {
    exec!(tx, PUT, key, Json(value), at.ms()).await?.exactly(1)
}

/// Stores a value where there is none.
pub async fn seed(tx: &mut Tx, key: &str, value: &Value, at: Timestamp) -> Result<(), DbError> {
    exec!(tx, SEED, key, Json(value), at.ms()).await.map(drop)
}

pub async fn remove(tx: &mut Tx, key: &str) -> Result<(), DbError> {
    exec!(tx, REMOVE, key).await.map(drop)
}

/// Replaces a text. `false` when it has changed meanwhile.
pub async fn replace(tx: &mut Tx, key: &str, old: &str, new: &str) -> Result<bool, DbError> {
    Ok(exec!(tx, REPLACE, key, Json(old), Json(new)).await?.rows() == 1)
}

/// Replaces the text of a member of an object. `false` when it has changed meanwhile.
pub async fn replace_member(
    tx: &mut Tx,
    (key, member): (&str, &str),
    old: &str,
    new: &str,
) -> Result<bool, DbError> {
    let Some((text,)) = opt!(tx, (String,), FIND, key).await? else {
        return Ok(false);
    };
    let Ok(Value::Object(mut object)) = serde_json::from_str(&text) else {
        return Ok(false);
    };
    match object.get_mut(member) {
        Some(Value::String(stored)) if stored == old => new.clone_into(stored),
        _ => return Ok(false),
    }
    // Compares the whole text that was read: another member may have changed since.
    Ok(exec!(tx, REPLACE, key, &*text, Json(&object)).await?.rows() == 1)
}
