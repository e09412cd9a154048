//! Plugins: WASM components, loaded from a directory, sandboxed, supervised, reloaded while the server runs.
//!
//! `core` turns files into supervised instances and knows no role; `imports` is what the host offers to plugins, one file
//! an interface with its grant. Roles are given to [`PluginHost::start`]: each is a [`role::Role`], made of what [`role`] offers,
//! in the crate `qm-plugin-roles`.
//!
//! Never: a plugin gets no socket, no file and no environment; it dials, through `qm-net`, what the operator entered for that
//! very engine, or what an administrator granted; a channel what leads outside, and the operator's mail server where that was
//! granted; an action touches the torrent of its run and no other, and has media libraries and media servers do what the house's
//! own actions do. A plugin's fault is a value: a trap or a timeout costs one store and never a thread.
//!
//! Compiling happens in a process of its own ([`Compiler`]), after the start.
//!
//! Bounds ([`Limits`]): 32 MiB a file, 128 MiB of memory an instance and 1 GiB over all, what the host holds for it included, 3 s
//! of computing and 25 s of silence a call, 8 connections, 64 MiB a body or an answer, 32 MiB the arguments of a call of the
//! host, 4,096 handles, 32 waiting calls a lane.

mod core;
mod error;
pub mod imports;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use qm_kernel::Ctx;
use qm_lanes::IgnorePoison;
use qm_net::Net;
use qm_plugin_guest::services::Services;
use qm_ports::action::{MediaHands, TorrentHands};
use qm_ports::mail::Mailer;
use tokio::task::JoinHandle;

pub use crate::core::check::{Check, CheckOptions, CheckReport};
pub use crate::core::compile::{Compiler, compile_for_parent};
pub use crate::core::installed::Installed;
pub use crate::core::pins::{Granted, Pin, PinError, Pins, PinsInMemory};
pub use crate::core::status::{LaneState, LaneStatus, PluginState, PluginStatus};
pub use crate::error::PluginHostError;
pub use qm_plugin_guest::limits::Limits;
pub use qm_plugin_guest::refusals::Refusal;
pub use qm_plugin_guest::services::Judge;
pub use qm_plugin_guest::values::{Condition, ValueError, Values, ValuesInMemory, within};

use crate::core::cache::CodeCache;
use crate::core::catalog::Catalog;
use crate::core::load::Loader;
use crate::core::runtime::Runtime;
use crate::core::{claims, intake, scan};
use crate::role::Roles;

/// Parts that a role of plugins is made of.
pub mod role {
    pub use crate::core::certificate::{text_for_plugin, with_certificate};
    pub use crate::core::check::{note, word};
    pub use crate::core::fault::Fault;
    pub use crate::core::lane::{Answer, Lane, Open, Owner, Resident};
    pub use crate::core::load::Loaded;
    pub use crate::core::role::{About, Claims, Code, Descriptor, Role, Roles, Version};
    pub use crate::core::role_calls::{CallSpec, PluginCalls, RoleCalls};
    pub use crate::core::system::trim_soon;
    pub use crate::core::trial::{Heard, SessionTrial, Trial};
    pub use qm_plugin_guest::memory::Charge;
    pub use qm_plugin_guest::services::{CallContext, capability};
    pub use qm_plugin_guest::state::State;
    pub use qm_plugin_guest::voice::{Voice, one_line};
}

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
    /// Store of the values that plugins keep.
    pub values: Arc<dyn Values>,
    /// Judges the parameters of an action by its plugin's schema before it is run.
    pub judge: Judge,
    pub limits: Limits,
    pub net: Net,
    /// SHA-256 (lower-case hex) of the files that were built together with the server: what they ask for is granted, and a
    /// part of the shared memory is kept for them.
    pub first_party: HashSet<String>,
}

/// Loads `file` as the host would, as a plugin of one of `roles`, and, given a configuration, runs the contract tests of its
/// role. What the plugin says meanwhile goes to the log, target `plugin`.
pub async fn check(
    file: &Path,
    options: CheckOptions,
    net: &Net,
    ctx: Ctx,
    roles: Roles,
) -> Result<CheckReport, PluginHostError> {
    crate::core::check::check(file, options, net, ctx, roles).await
}

/// All installed plugins.
pub struct PluginHost {
    runtime: Arc<Runtime>,
    catalog: Arc<Catalog>,
    roles: Roles,
    tasks: Mutex<Vec<JoinHandle<()>>>,
}

impl PluginHost {
    /// Loads the plugins of the directory and goes on watching it until [`PluginHost::shutdown`]; a file is matched against
    /// `roles` in their order. What was compiled before is in use when this returns, unless it takes longer than
    /// [`FIRST_LOOK`]; the rest comes up when it is compiled.
    pub async fn start(
        config: PluginHostConfig,
        ctx: Ctx,
        roles: Roles,
    ) -> Result<Arc<Self>, PluginHostError> {
        let services = Services::new(config.values, config.judge);
        let dialer = config.net.dialer().clone();
        let runtime = Runtime::new(config.limits, dialer, services, ctx, roles)?;
        let cache = CodeCache::open(&config.cache_dir, &runtime.engine);
        cache.sweep_unfinished();
        let first_party = Arc::new(config.first_party);
        let loader = Loader::new(runtime.clone(), cache, config.compiler, roles, first_party);
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
            runtime,
            catalog,
            roles,
            tasks: Mutex::new(tasks.into()),
        }))
    }

    /// The plugins as their roles see them.
    pub fn installed(&self) -> Installed {
        Installed::new(self.runtime.clone(), self.catalog.clone())
    }

    /// Waits until every file found so far is in use or refused, however long it takes to compile.
    pub async fn settled(&self) {
        self.catalog.intake().idle().await;
    }

    /// Every file of the directory, by name.
    pub fn list(&self) -> Vec<PluginStatus> {
        self.with_claims(self.catalog.list())
    }

    /// The list with what only all plugins together show.
    fn with_claims(&self, mut plugins: Vec<PluginStatus>) -> Vec<PluginStatus> {
        claims::tell(&self.catalog, self.roles, &mut plugins);
        plugins
    }

    /// Reads the plugin's file again and swaps it in if it is sound, which also revives parked lanes. A file whose
    /// plugin id is unknown (it could not be loaded) goes by its name without `.wasm`.
    pub async fn reload(&self, id: &str) -> Result<PluginStatus, PluginHostError> {
        let plugin = self.catalog.reload(id).await?;
        Ok(self.with_claims(vec![plugin]).remove(0))
    }

    /// Tells whether an administrator may give `id` to `file`, which claims it. The change itself is made where pins are kept.
    pub async fn may_accept(&self, id: &str, file: &str) -> Result<(), PluginHostError> {
        self.catalog.may_accept(id, file).await
    }

    /// The grant for the plugin `id`, in its one form: an error unless it asks for all of it.
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
        Some(self.with_claims(vec![plugin]).remove(0))
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
        let tasks = std::mem::take(&mut *self.tasks.lock().ignore_poison());
        for task in tasks {
            task.abort();
            // Cancelled or ended: both are what was asked for.
            let _ = task.await;
        }
    }
}

impl Drop for PluginHost {
    fn drop(&mut self) {
        for task in &*self.tasks.lock().ignore_poison() {
            task.abort();
        }
    }
}
