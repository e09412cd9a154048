//! Key-value storage of plugins in the database; it survives a restart.
//!
//! Bounds: those of [`qm_plugin_host::within`], checked in the transaction that writes; plugin writes are
//! serialised, so that two concurrent ones cannot exceed the bounds together.

use async_trait::async_trait;
use qm_db::{Db, DbError};
use qm_kernel::as_error;
use qm_plugin_host::{Condition, ValueError, Values, within};
use serde_json::{Map, Value};
use tokio::sync::Mutex;

use crate::repo::values as repo;
use crate::service::configurations::PluginConfigurations;

/// Stored values of one database.
pub struct PluginValues {
    db: Db,
    configurations: PluginConfigurations,
    writing: Mutex<()>,
}

/// Reason why nothing was written.
enum Refusal {
    Bound(ValueError),
    Database(DbError),
}

impl From<DbError> for Refusal {
    fn from(error: DbError) -> Self {
        Refusal::Database(error)
    }
}

impl PluginValues {
    pub fn new(db: Db, configurations: PluginConfigurations) -> Self {
        Self {
            db,
            configurations,
            writing: Mutex::new(()),
        }
    }

    async fn write(
        &self,
        plugin: &str,
        key: &str,
        value: Option<&str>,
        only: Condition<'_>,
    ) -> Result<bool, Refusal> {
        let _turn = self.writing.lock().await;
        let mut tx = self.db.begin_write().await?;
        if let Condition::Was(_) = only {
            let found = repo::get(&mut tx, plugin, key).await?;
            if !only.holds(found.as_deref()) {
                return Ok(false);
            }
        }
        match value {
            None => repo::remove(&mut tx, plugin, key).await?,
            Some(value) => {
                repo::put(&mut tx, plugin, key, value).await?;
                let (keys, bytes) = repo::used(&mut tx, plugin).await?;
                let size = |count: i64| usize::try_from(count).unwrap_or(usize::MAX);
                // The write is rolled back with the transaction.
                within(size(keys), size(bytes)).map_err(Refusal::Bound)?;
            }
        }
        tx.commit().await?;
        Ok(true)
    }
}

fn unavailable(error: &DbError) -> ValueError {
    tracing::warn!(error = as_error(error), "a value of a plugin cannot be reached");
    // The database's own words are only logged.
    ValueError::Unavailable("the database does not answer".to_owned())
}

#[async_trait]
impl Values for PluginValues {
    async fn get(&self, plugin: &str, key: &str) -> Result<Option<String>, ValueError> {
        let found = async { repo::get(&mut self.db.begin_read().await?, plugin, key).await };
        found.await.map_err(|error| unavailable(&error))
    }

    async fn keys(&self, plugin: &str) -> Result<Vec<String>, ValueError> {
        let found = async { repo::keys(&mut self.db.begin_read().await?, plugin).await };
        let mut keys = found.await.map_err(|error| unavailable(&error))?;
        keys.sort_unstable();
        Ok(keys)
    }

    async fn put(
        &self,
        plugin: &str,
        key: &str,
        value: Option<&str>,
        only: Condition<'_>,
    ) -> Result<bool, ValueError> {
        self.write(plugin, key, value, only)
            .await
            .map_err(|refusal| match refusal {
                Refusal::Bound(bound) => bound,
                Refusal::Database(error) => unavailable(&error),
            })
    }

    async fn configuration(&self, plugin: &str) -> Result<Option<Map<String, Value>>, ValueError> {
        let found = async {
            let mut tx = self.db.begin_read().await?;
            self.configurations.read(&mut tx, plugin).await
        };
        found.await.map_err(|error| unavailable(&error))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

    use qm_kernel::{Ctx, Secret};
    use qm_platform::Cipher;

    use super::*;

    qm_db::db_test! {
        async fn values_are_kept_by_plugin_and_within_bounds(db: Db) {
            let configurations =
                || PluginConfigurations::new(Cipher::new(&Secret::new("key"), Ctx::system()), Ctx::system());
            let values = PluginValues::new(db.clone(), configurations());
            let always = Condition::Always;
            assert!(values.put("a", "k", Some("1"), always).await.unwrap());
            assert!(values.put("a", "K", Some("\u{e4}"), always).await.unwrap());
            assert!(values.put("b", "k", Some("2"), always).await.unwrap());
            let again = PluginValues::new(db.clone(), configurations());
            assert_eq!(again.get("a", "k").await.unwrap().as_deref(), Some("1"));
            assert_eq!(again.get("b", "k").await.unwrap().as_deref(), Some("2"));
            assert_eq!(again.get("c", "k").await.unwrap(), None);
            assert_eq!(again.keys("a").await.unwrap(), ["K", "k"]);

            assert!(!values.put("a", "k", Some("3"), Condition::Was(Some("2"))).await.unwrap());
            assert!(!values.put("a", "k", Some("3"), Condition::Was(None)).await.unwrap());
            assert!(values.put("a", "k", Some("3"), Condition::Was(Some("1"))).await.unwrap());
            assert!(values.put("a", "k", None, Condition::Was(Some("3"))).await.unwrap());
            assert_eq!(values.keys("a").await.unwrap(), ["K"]);

            let large = "x".repeat(60 << 10);
            for n in 0..17 {
                values.put("b", &format!("large {n}"), Some(&large), always).await.unwrap();
            }
            assert_eq!(values.put("b", "one more", Some(&large), always).await, Err(ValueError::TooLarge));
            assert_eq!(values.get("b", "one more").await.unwrap(), None, "what was refused is not there");
            for n in 0..256 {
                values.put("c", &n.to_string(), Some(""), always).await.unwrap();
            }
            assert_eq!(values.put("c", "more", Some(""), always).await, Err(ValueError::TooMany));
            assert!(values.put("c", "7", Some("in its place"), always).await.unwrap());
        }
    }
}
