//! Plugins: WASM components, loaded from a directory, sandboxed, supervised, reloaded while the server runs.

mod error;
mod limits;
mod status;

use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use qm_kernel::Ctx;
use qm_kernel::engine::{EngineConfig, EngineDriver, EngineError, EngineKind, EngineKinds, changes};
use qm_net::Net;

pub use error::PluginHostError;
pub use limits::Limits;
pub use status::{LaneState, LaneStatus, PluginState, PluginStatus};

/// Where plugins are, where compiled code is kept, and what bounds them.
#[derive(Clone)]
pub struct PluginHostConfig {
    /// Every `*.wasm` in it is a plugin.
    pub plugins_dir: PathBuf,
    /// Machine code of compiled plugins: made if missing, mode 0700.
    pub cache_dir: PathBuf,
    pub limits: Limits,
    pub net: Net,
}

/// All installed plugins.
pub struct PluginHost {
    generation: Arc<Generation>,
}

impl PluginHost {
    /// Loads every plugin of the directory and goes on watching it until [`PluginHost::shutdown`].
    pub async fn start(config: PluginHostConfig, ctx: Ctx) -> Result<Arc<Self>, PluginHostError> {
        let _ = (config, ctx);
        Ok(Arc::new(Self { generation: Arc::new(Generation(tokio::sync::watch::channel(0).0)) }))
    }

    /// Every file of the directory, by name.
    pub fn list(&self) -> Vec<PluginStatus> {
        Vec::new()
    }

    /// Reads the plugin's file again and swaps it in if it is sound; revives parked lanes either way.
    pub async fn reload(&self, id: &str) -> Result<PluginStatus, PluginHostError> {
        Err(PluginHostError::NoSuchPlugin(id.to_owned()))
    }

    /// Stops watching the directory. Drivers are closed by their owners.
    pub async fn shutdown(&self) {}
}

#[async_trait]
impl EngineKinds for PluginHost {
    fn kinds(&self) -> Vec<EngineKind> {
        Vec::new()
    }

    async fn open(&self, _: &str, kind: &str, _: EngineConfig) -> Result<Arc<dyn EngineDriver>, EngineError> {
        Err(EngineError::Unsupported(format!("no plugin provides the engine kind {kind}")))
    }

    fn generation(&self) -> changes::Receiver {
        self.generation.clone()
    }
}

struct Generation(tokio::sync::watch::Sender<u64>);

#[async_trait]
impl changes::Changes for Generation {
    fn current(&self) -> u64 {
        *self.0.borrow()
    }

    async fn changed(&self, seen: u64) -> u64 {
        // The sender lives in `self`, so waiting cannot fail.
        self.0.subscribe().wait_for(|count| *count != seen).await.map_or(seen, |count| *count)
    }
}
