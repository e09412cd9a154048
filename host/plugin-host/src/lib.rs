//! Plugins: WASM components, loaded from a directory, sandboxed, supervised, reloaded while the server runs.
//!
//! A file becomes code in `load` (checked, compiled or mapped by `cache`, tried once); `catalog` knows which file
//! provides which id and `scan` notices changes. A configured engine is a `driver` over two `lane`s, each a task that
//! owns one instance (a `state` in a store of the `runtime`) under a `supervisor`. `api` holds one adapter a version of
//! the plugin API; nothing else knows a version.
//!
//! Never: a plugin gets no socket, no file and no environment; it dials, through `qm-net`, what the operator entered
//! for that very engine. A plugin's fault is a value: a trap or a timeout costs one store and never a thread.
//!
//! Bounds ([`Limits`]): 32 MiB a file, 128 MiB of memory an instance and 1 GiB over all, 3 s of computing and 25 s of
//! silence a call, 8 connections, 64 MiB a body or a transfer, 16,384 handles, 32 waiting calls a lane.

mod api;
mod cache;
mod catalog;
mod check;
mod driver;
mod error;
mod lane;
mod limits;
mod load;
mod memory;
mod runtime;
mod scan;
mod slot;
mod state;
mod status;
mod supervisor;
mod voice;
mod wasi_http;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use qm_kernel::Ctx;
use qm_kernel::engine::{EngineConfig, EngineDriver, EngineError, EngineKind, EngineKinds, changes};
use qm_net::{Grants, Net};
use tokio::sync::watch;
use tokio::task::JoinHandle;

pub use check::{Check, CheckReport, check};
pub use error::PluginHostError;
pub use limits::Limits;
pub use status::{LaneState, LaneStatus, PluginState, PluginStatus};

use cache::CodeCache;
use catalog::Catalog;
use driver::PluginEngine;
use lane::Owner;
use load::Loader;
use runtime::Runtime;

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
    runtime: Arc<Runtime>,
    catalog: Arc<Catalog>,
    watcher: Mutex<Option<JoinHandle<()>>>,
}

impl PluginHost {
    /// Loads every plugin of the directory and goes on watching it until [`PluginHost::shutdown`].
    pub async fn start(config: PluginHostConfig, ctx: Ctx) -> Result<Arc<Self>, PluginHostError> {
        let runtime = Runtime::new(config.limits, config.net.dialer().clone(), ctx)?;
        let cache = CodeCache::open(&config.cache_dir, &runtime.engine);
        let catalog = Catalog::start(config.plugins_dir, Loader::new(runtime.clone(), cache)).await?;
        let watcher = tokio::spawn(scan::watch(Arc::downgrade(&catalog)));
        Ok(Arc::new(Self {
            runtime,
            catalog,
            watcher: Mutex::new(Some(watcher)),
        }))
    }

    /// Every file of the directory, by name.
    pub fn list(&self) -> Vec<PluginStatus> {
        self.catalog.list()
    }

    /// Reads the plugin's file again and swaps it in if it is sound, which also revives parked lanes. A file whose
    /// plugin id is unknown (it could not be loaded) goes by its name without `.wasm`.
    pub async fn reload(&self, id: &str) -> Result<PluginStatus, PluginHostError> {
        self.catalog.reload(id).await
    }

    /// Stops watching the directory. Drivers are closed by their owners.
    pub async fn shutdown(&self) {
        let watcher = self.watcher.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(watcher) = watcher {
            watcher.abort();
            // Cancelled or ended: both are what was asked for.
            let _ = watcher.await;
        }
    }
}

#[async_trait]
impl EngineKinds for PluginHost {
    fn kinds(&self) -> Vec<EngineKind> {
        self.catalog.kinds()
    }

    async fn open(
        &self,
        id: &str,
        kind: &str,
        config: EngineConfig,
    ) -> Result<Arc<dyn EngineDriver>, EngineError> {
        let unknown =
            || EngineError::Unsupported(format!("No installed plugin provides the engine kind {kind}"));
        let slot = self.catalog.slot(kind).ok_or_else(unknown)?;
        let code = slot.code().ok_or_else(unknown)?;
        Grants::from_config(&code.kind.config_schema, &config.0).map_err(EngineError::InvalidConfig)?;
        let owner = Owner {
            runtime: self.runtime.clone(),
            slot,
            engine: id.to_owned(),
            config: Arc::new(config.0),
        };
        Ok(Arc::new(PluginEngine::open(owner)))
    }

    fn generation(&self) -> changes::Receiver {
        Arc::new(Generation(self.catalog.generation().clone()))
    }
}

/// Counts the changes of the set of kinds.
struct Generation(watch::Sender<u64>);

#[async_trait]
impl changes::Changes for Generation {
    fn current(&self) -> u64 {
        *self.0.borrow()
    }

    async fn changed(&self, seen: u64) -> u64 {
        // The sender lives in `self`, so waiting cannot fail.
        self.0
            .subscribe()
            .wait_for(|count| *count != seen)
            .await
            .map_or(seen, |count| *count)
    }
}
