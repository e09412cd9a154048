//! Plugins: WASM components, loaded from a directory, sandboxed, supervised, reloaded while the server runs.
//!
//! `core` turns files into supervised instances and knows no role; `imports` is what the host offers to plugins, one file
//! an interface with its grant; `roles` is what plugins are for, one folder a role with an adapter a version of its package.
//!
//! Never: a plugin gets no socket, no file and no environment; it dials, through `qm-net`, what the operator entered
//! for that very engine, or what an administrator granted; a channel what leads outside, and the operator's mail server where that was granted; an action touches the torrent of its run and no other, and has media libraries and media servers do what the house's own actions do. A plugin's fault is a value: a trap or a timeout costs one store and never a thread.
//!
//! Compiling happens in a process of its own ([`Compiler`]), after the start.
//!
//! Bounds ([`Limits`]): 32 MiB a file, 128 MiB of memory an instance and 1 GiB over all, what the host holds for it included, 3 s of computing and 25 s of
//! silence a call, 8 connections, 64 MiB a body or an answer, 32 MiB the arguments of a call of the host, 4,096 handles, 32 waiting calls a lane.

mod core;
mod error;
mod imports;
mod roles;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use qm_kernel::Ctx;
use qm_net::{Grants, Net};
use qm_ports::Settling;
use qm_ports::action::{Actions, MediaHands, TorrentHands};
use qm_ports::channel::Channels;
use qm_ports::engine::{EngineConfig, EngineDriver, EngineError, EngineKind, EngineKinds, changes};
use qm_ports::indexer::Protocols;
use qm_ports::mail::Mailer;
use qm_ports::media_server::MediaServerKinds;
use qm_ports::metadata::Providers;
use tokio::sync::watch;
use tokio::task::JoinHandle;

pub use crate::core::check::{Check, CheckOptions, CheckReport};
pub use crate::core::compile::{Compiler, compile_for_parent};
pub use crate::core::limits::Limits;
pub use crate::core::pins::{Granted, Pin, PinError, Pins, PinsInMemory};
pub use crate::core::refusals::Refusal;
pub use crate::core::services::Judge;
pub use crate::core::status::{LaneState, LaneStatus, PluginState, PluginStatus};
pub use crate::core::values::{Condition, ValueError, Values, ValuesInMemory, within};
pub use crate::error::PluginHostError;

use crate::core::cache::CodeCache;
use crate::core::catalog::{Catalog, SHOWN};
use crate::core::intake;
use crate::core::lane::Owner;
use crate::core::load::Loader;
use crate::core::runtime::Runtime;
use crate::core::scan;
use crate::core::services::Services;
use crate::core::voice::one_line;
use crate::roles::engine::{self, driver::PluginEngine};
use crate::roles::{actions, channel, indexer, media_server, metadata};

/// Time for which a start waits for the plugins that need no compiling.
const FIRST_LOOK: Duration = Duration::from_secs(3);

/// Where plugins are, where compiled code is kept, and what bounds them.
#[derive(Clone)]
pub struct PluginHostConfig {
    /// Every `*.wasm` in it is a plugin.
    pub plugins_dir: PathBuf,
    /// Machine code of compiled plugins: made if missing, mode 0700.
    pub cache_dir: PathBuf,
    pub compiler: Compiler,
    /// Remembers which file an id belongs to.
    pub pins: Arc<dyn Pins>,
    /// What plugins keep.
    pub values: Arc<dyn Values>,
    /// Judges the parameters of an action by its plugin's schema before it is run.
    pub judge: Judge,
    pub limits: Limits,
    pub net: Net,
    /// SHA-256 (lower-case hex) of the files that were built together with the server: what they ask for is granted, and a
    /// part of the shared memory is kept for them.
    pub first_party: HashSet<String>,
}

/// Loads `file` as the host would and, given a configuration, runs the contract tests of its role. What the plugin says
/// meanwhile goes to the log, target `plugin`.
pub async fn check(
    file: &Path,
    options: CheckOptions,
    net: &Net,
    ctx: Ctx,
) -> Result<CheckReport, PluginHostError> {
    crate::core::check::check(file, options, net, ctx, roles::ALL).await
}

/// All installed plugins.
pub struct PluginHost {
    runtime: Arc<Runtime>,
    catalog: Arc<Catalog>,
    channels: Arc<channel::Desk>,
    actions: Arc<actions::Desk>,
    indexers: Arc<indexer::Desk>,
    metadata: Arc<metadata::Desk>,
    media_servers: Arc<media_server::Desk>,
    tasks: Mutex<Vec<JoinHandle<()>>>,
}

impl PluginHost {
    /// Loads the plugins of the directory and goes on watching it until [`PluginHost::shutdown`]. What was compiled
    /// before is in use when this returns, unless it takes longer than [`FIRST_LOOK`]; the rest comes up when it is
    /// compiled.
    pub async fn start(config: PluginHostConfig, ctx: Ctx) -> Result<Arc<Self>, PluginHostError> {
        let services = Services::new(config.values, config.judge);
        let dialer = config.net.dialer().clone();
        let runtime = Runtime::new(config.limits, dialer, services, ctx, roles::ALL)?;
        let cache = CodeCache::open(&config.cache_dir, &runtime.engine);
        cache.sweep_unfinished();
        let first_party = Arc::new(config.first_party);
        let loader = Loader::new(runtime.clone(), cache, config.compiler, roles::ALL, first_party);
        let catalog = Catalog::open(config.plugins_dir, loader, config.pins)?;
        // Before anything is loaded: who was there first.
        catalog.follow_pins().await;
        let tasks = [
            tokio::spawn(intake::work(catalog.clone())),
            tokio::spawn(scan::watch(Arc::downgrade(&catalog))),
        ];
        // Late ones come up by themselves.
        let _ = tokio::time::timeout(FIRST_LOOK, catalog.intake().looked_at()).await;
        Ok(Arc::new(Self {
            channels: Arc::new(channel::Desk::new(runtime.clone(), catalog.clone())),
            actions: Arc::new(actions::Desk::new(runtime.clone(), catalog.clone())),
            indexers: Arc::new(indexer::Desk::new(runtime.clone(), catalog.clone())),
            metadata: Arc::new(metadata::Desk::new(runtime.clone(), catalog.clone())),
            media_servers: Arc::new(media_server::Desk::new(runtime.clone(), catalog.clone())),
            runtime,
            catalog,
            tasks: Mutex::new(tasks.into()),
        }))
    }

    /// Waits until every file found so far is in use or refused, however long it takes to compile.
    pub async fn settled(&self) {
        self.catalog.intake().idle().await;
    }

    /// Every file of the directory, by name.
    pub fn list(&self) -> Vec<PluginStatus> {
        self.told(self.catalog.list())
    }

    /// The list with what only all plugins together show.
    fn told(&self, mut plugins: Vec<PluginStatus>) -> Vec<PluginStatus> {
        self.actions.tell_of_claims(&mut plugins);
        self.indexers.tell_of_claims(&mut plugins);
        plugins
    }

    /// Reads the plugin's file again and swaps it in if it is sound, which also revives parked lanes. A file whose
    /// plugin id is unknown (it could not be loaded) goes by its name without `.wasm`.
    pub async fn reload(&self, id: &str) -> Result<PluginStatus, PluginHostError> {
        let plugin = self.catalog.reload(id).await?;
        Ok(self.told(vec![plugin]).remove(0))
    }

    /// Whether an administrator may give `id` to `file`, which claims it. The change itself is made where pins are kept.
    pub async fn may_accept(&self, id: &str, file: &str) -> Result<(), PluginHostError> {
        self.catalog.may_accept(id, file).await
    }

    /// What to grant to the plugin `id`, in its one form: an error unless it asks for all of it.
    pub fn may_grant(&self, id: &str, wanted: &Granted) -> Result<Granted, PluginHostError> {
        self.catalog.may_grant(id, wanted)
    }

    /// The JSON Schema of what an administrator configures once for the plugin of this id.
    ///
    /// # Errors
    /// There is no such plugin, or its role is configured another way.
    pub fn configured_by(&self, id: &str) -> Result<serde_json::Value, PluginHostError> {
        self.catalog.configured_by(id)
    }

    /// Follows a change of grants at once, and tells how the plugin stands after it.
    pub async fn follow_grants(&self, id: &str) -> Option<PluginStatus> {
        self.catalog.follow_pins().await;
        self.list().into_iter().find(|plugin| plugin.id == id)
    }

    /// Follows a change of the pins at once, instead of within some seconds, and tells how `file` stands after it.
    pub async fn follow_pins(&self, file: &str) -> Option<PluginStatus> {
        self.catalog.follow_pins().await;
        self.catalog.intake().looked_at().await;
        let plugin = self.catalog.status_of(file)?;
        Some(self.told(vec![plugin]).remove(0))
    }

    /// The channels that the plugins provide.
    pub fn channels(&self) -> Arc<dyn Channels> {
        self.channels.clone()
    }

    /// The actions that the plugins provide.
    pub fn actions(&self) -> Arc<dyn Actions> {
        self.actions.clone()
    }

    /// The protocols of indexers that the plugins speak.
    pub fn protocols(&self) -> Arc<dyn Protocols> {
        self.indexers.clone()
    }

    /// The providers of metadata that the plugins speak to.
    pub fn providers(&self) -> Arc<dyn Providers> {
        self.metadata.clone()
    }

    /// The media servers that the plugins speak to.
    pub fn media_servers(&self) -> Arc<dyn MediaServerKinds> {
        self.media_servers.clone()
    }

    /// Says who touches torrents for plugins. Until then none is touched.
    pub fn use_hands(&self, hands: &Arc<dyn TorrentHands>) {
        self.runtime.services.use_hands(hands);
    }

    /// Says who knows media for plugins. Until then there are none.
    pub fn use_media(&self, media: &Arc<dyn MediaHands>) {
        self.runtime.services.use_media(media);
    }

    /// Says who sends mail for plugins. Until then there is no mail server.
    pub fn use_mailer(&self, mailer: Arc<dyn Mailer>) {
        self.runtime.services.use_mailer(mailer);
    }

    /// Stops watching the directory and compiling. Drivers are closed by their owners.
    pub async fn shutdown(&self) {
        let tasks = std::mem::take(&mut *self.tasks.lock().unwrap_or_else(PoisonError::into_inner));
        for task in tasks {
            task.abort();
            // Cancelled or ended: both are what was asked for.
            let _ = task.await;
        }
    }
}

impl Drop for PluginHost {
    fn drop(&mut self) {
        for task in &*self.tasks.lock().unwrap_or_else(PoisonError::into_inner) {
            task.abort();
        }
    }
}

#[async_trait]
impl EngineKinds for PluginHost {
    fn kinds(&self) -> Vec<EngineKind> {
        self.catalog
            .of_role(engine::NAME)
            .into_iter()
            .map(engine::kind_of)
            .collect()
    }

    fn settling(&self, kind: &str) -> Option<Settling> {
        let wanted = format!("the engine kind {}", one_line(kind, SHOWN));
        self.catalog.settling(Some(engine::NAME), wanted)
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
        let code = slot
            .code()
            .filter(|code| code.is_of(engine::NAME))
            .ok_or_else(unknown)?;
        Grants::from_config(&code.about.config_schema, &config.fields).map_err(EngineError::InvalidConfig)?;
        let owner = Owner {
            runtime: self.runtime.clone(),
            slot,
            id: id.to_owned(),
            config: Arc::new(config.fields),
            secrets: config.secrets.into(),
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
