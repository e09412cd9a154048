//! The few values that plugins keep (`kv`), and what an administrator entered for a plugin as a whole: where they are is
//! said by whoever starts the host.
//!
//! Bounds, kept by whoever implements [`Values`]: [`KEYS`] a plugin, [`TOTAL`] bytes of keys and values together. The host
//! itself bounds one key and one value before it asks.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard};

use async_trait::async_trait;
use qm_lanes::IgnorePoison;
use serde_json::{Map, Value};

/// Keys of one plugin.
pub const KEYS: usize = 256;
/// Bytes of all its keys and values.
pub const TOTAL: usize = 1 << 20;

/// The memory of plugins, by the plugin's id.
#[async_trait]
pub trait Values: Send + Sync {
    async fn get(&self, plugin: &str, key: &str) -> Result<Option<String>, ValueError>;
    /// Every key, in order of their bytes.
    async fn keys(&self, plugin: &str) -> Result<Vec<String>, ValueError>;
    /// Writes a value, or with none removes the key, if the condition holds at that moment. False: it does not.
    async fn put(
        &self,
        plugin: &str,
        key: &str,
        value: Option<&str>,
        only: Condition<'_>,
    ) -> Result<bool, ValueError>;
    /// The configuration of the plugin, secrets in clear; none when nobody entered one.
    async fn configuration(&self, plugin: &str) -> Result<Option<Map<String, Value>>, ValueError>;
}

/// When a value is written.
#[derive(Clone, Copy, Debug)]
pub enum Condition<'a> {
    Always,
    /// While the key has this value; none: while there is no such key.
    Was(Option<&'a str>),
}

impl Condition<'_> {
    pub fn holds(self, found: Option<&str>) -> bool {
        match self {
            Condition::Always => true,
            Condition::Was(expected) => expected == found,
        }
    }
}

/// Why a value was not kept.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ValueError {
    #[error("a plugin keeps {KEYS} values at most")]
    TooMany,
    #[error("the keys and values of a plugin have {} KiB at most", TOTAL >> 10)]
    TooLarge,
    /// The text says why.
    #[error("{0}")]
    Unavailable(String),
}

/// Tells whether so many keys with so many bytes are within the bounds.
pub fn within(keys: usize, bytes: usize) -> Result<(), ValueError> {
    if keys > KEYS {
        Err(ValueError::TooMany)
    } else if bytes > TOTAL {
        Err(ValueError::TooLarge)
    } else {
        Ok(())
    }
}

/// A memory that lasts as long as the process, for tests and tools.
#[derive(Debug, Default)]
pub struct ValuesInMemory {
    kept: Mutex<HashMap<String, BTreeMap<String, String>>>,
    configurations: Mutex<HashMap<String, Map<String, Value>>>,
}

impl ValuesInMemory {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, BTreeMap<String, String>>> {
        self.kept.lock().ignore_poison()
    }

    fn configurations(&self) -> MutexGuard<'_, HashMap<String, Map<String, Value>>> {
        self.configurations.lock().ignore_poison()
    }

    /// Configures a plugin, as an administrator does.
    pub fn configure(&self, plugin: &str, configuration: Map<String, Value>) {
        self.configurations().insert(plugin.to_owned(), configuration);
    }
}

#[async_trait]
impl Values for ValuesInMemory {
    async fn get(&self, plugin: &str, key: &str) -> Result<Option<String>, ValueError> {
        Ok(self.lock().get(plugin).and_then(|own| own.get(key)).cloned())
    }

    async fn keys(&self, plugin: &str) -> Result<Vec<String>, ValueError> {
        let all = self.lock();
        Ok(all
            .get(plugin)
            .into_iter()
            .flat_map(BTreeMap::keys)
            .cloned()
            .collect())
    }

    async fn put(
        &self,
        plugin: &str,
        key: &str,
        value: Option<&str>,
        only: Condition<'_>,
    ) -> Result<bool, ValueError> {
        let mut all = self.lock();
        let own = all.entry(plugin.to_owned()).or_default();
        if !only.holds(own.get(key).map(String::as_str)) {
            return Ok(false);
        }
        let Some(value) = value else {
            own.remove(key);
            return Ok(true);
        };
        let others = own.iter().filter(|(name, _)| *name != key);
        let bytes: usize = others.map(|(name, value)| name.len() + value.len()).sum();
        let keys = own.len() + usize::from(!own.contains_key(key));
        within(keys, bytes + key.len() + value.len())?;
        own.insert(key.to_owned(), value.to_owned());
        Ok(true)
    }

    async fn configuration(&self, plugin: &str) -> Result<Option<Map<String, Value>>, ValueError> {
        Ok(self.configurations().get(plugin).cloned())
    }
}
