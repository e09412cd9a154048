//! Which file an id belongs to: the one that had it first, whatever else comes later. What users store under an id (their
//! passwords among it) is handed to the plugin that provides it, so an id must not change hands by dropping a file.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard};

use async_trait::async_trait;
use qm_lanes::IgnorePoison;

/// The file that an id belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pin {
    pub file: String,
    /// Unix milliseconds.
    pub at: i64,
}

/// Hosts and interfaces that an administrator lets a plugin use beside what its configurations name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Granted {
    /// Origins of its own.
    pub hosts: Vec<String>,
    /// Interfaces that have to be granted, by their words.
    pub capabilities: Vec<String>,
}

/// The memory of ids and their files, kept beside what is stored under the ids.
#[async_trait]
pub trait Pins: Send + Sync {
    /// The pin of `id`; to `file`, from now on, when there was none.
    async fn claim(&self, id: &str, file: &str) -> Result<Pin, PinError>;
    /// The pin of every id.
    async fn all(&self) -> Result<HashMap<String, Pin>, PinError>;
    /// Grants of each plugin, by its id.
    async fn grants(&self) -> Result<HashMap<String, Granted>, PinError>;
}

/// The memory cannot be asked; the text says why.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{0}")]
pub struct PinError(pub String);

/// A memory that lasts as long as the process, for tests and tools.
#[derive(Debug, Default)]
pub struct PinsInMemory {
    pins: Mutex<HashMap<String, Pin>>,
    grants: Mutex<HashMap<String, Granted>>,
}

impl PinsInMemory {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, Pin>> {
        self.pins.lock().ignore_poison()
    }

    fn granted(&self) -> MutexGuard<'_, HashMap<String, Granted>> {
        self.grants.lock().ignore_poison()
    }

    /// Grants these hosts, and no others, to `id`, as an administrator does.
    pub fn grant(&self, id: &str, hosts: &[&str]) {
        self.granted().entry(id.to_owned()).or_default().hosts = owned(hosts);
    }

    /// Grants these capabilities, and no others, to `id`, as an administrator does.
    pub fn grant_capabilities(&self, id: &str, words: &[&str]) {
        self.granted().entry(id.to_owned()).or_default().capabilities = owned(words);
    }

    /// Gives `id` to `file`, as an administrator does.
    pub fn give(&self, id: &str, file: &str) {
        let mut pins = self.lock();
        let pin = next(&pins, file);
        pins.insert(id.to_owned(), pin);
    }
}

fn owned(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

/// A pin later than all others.
fn next(pins: &HashMap<String, Pin>, file: &str) -> Pin {
    Pin {
        file: file.to_owned(),
        at: pins.values().map(|pin| pin.at + 1).max().unwrap_or(0),
    }
}

#[async_trait]
impl Pins for PinsInMemory {
    async fn claim(&self, id: &str, file: &str) -> Result<Pin, PinError> {
        let mut pins = self.lock();
        let pin = next(&pins, file);
        Ok(pins.entry(id.to_owned()).or_insert(pin).clone())
    }

    async fn all(&self) -> Result<HashMap<String, Pin>, PinError> {
        Ok(self.lock().clone())
    }

    async fn grants(&self) -> Result<HashMap<String, Granted>, PinError> {
        Ok(self.granted().clone())
    }
}
