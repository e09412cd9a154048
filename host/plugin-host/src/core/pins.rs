//! Which file an id belongs to: the one that had it first, whatever else comes later. What users store under an id (their
//! passwords among it) is handed to the plugin that provides it, so an id must not change hands by dropping a file.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;

/// The memory of ids and their files, kept beside what is stored under the ids.
#[async_trait]
pub trait Pins: Send + Sync {
    /// The file that `id` belongs to; `file`, from now on, when it belonged to none.
    async fn claim(&self, id: &str, file: &str) -> Result<String, PinError>;
    /// The file of every id.
    async fn all(&self) -> Result<HashMap<String, String>, PinError>;
    /// The hosts of its own that each plugin was granted, by its id.
    async fn grants(&self) -> Result<HashMap<String, Vec<String>>, PinError>;
}

/// The memory cannot be asked; the text says why.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{0}")]
pub struct PinError(pub String);

/// A memory that lasts as long as the process, for tests and tools.
#[derive(Debug, Default)]
pub struct PinsInMemory {
    pins: Mutex<HashMap<String, String>>,
    grants: Mutex<HashMap<String, Vec<String>>>,
}

impl PinsInMemory {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, String>> {
        self.pins.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Grants these hosts, and no others, to `id`, as an administrator does.
    pub fn grant(&self, id: &str, hosts: &[&str]) {
        let hosts = hosts.iter().map(|&host| host.to_owned()).collect();
        let mut grants = self.grants.lock().unwrap_or_else(PoisonError::into_inner);
        grants.insert(id.to_owned(), hosts);
    }

    /// Gives `id` to `file`, as an administrator does.
    pub fn give(&self, id: &str, file: &str) {
        self.lock().insert(id.to_owned(), file.to_owned());
    }
}

#[async_trait]
impl Pins for PinsInMemory {
    async fn claim(&self, id: &str, file: &str) -> Result<String, PinError> {
        let mut pins = self.lock();
        Ok(pins
            .entry(id.to_owned())
            .or_insert_with(|| file.to_owned())
            .clone())
    }

    async fn all(&self) -> Result<HashMap<String, String>, PinError> {
        Ok(self.lock().clone())
    }

    async fn grants(&self) -> Result<HashMap<String, Vec<String>>, PinError> {
        Ok(self.grants.lock().unwrap_or_else(PoisonError::into_inner).clone())
    }
}
