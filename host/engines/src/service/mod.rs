//! Use cases of engines. [`Engines`] is what the area wires; routes and other crates of torrents call it.

mod engines;
mod probes;
mod registry;
mod sights;
mod upkeep;

use std::sync::Arc;

use qm_db::Db;
use qm_kernel::{Caller, Ctx};
use qm_platform::{Acting, Audit, AuditEntry, AuditResult, Cipher, Ground};
use qm_ports::engine::EngineKinds;
use qm_ports::list::{TorrentList, TorrentLists};
use qm_ports::rules::RuleWatch;
use qm_realtime::Hub;
use qm_torrent_lists::Limits;
use serde_json::Value;

use self::registry::Registry;
use self::upkeep::Upkeep;
use crate::error::TorrentsError;
use crate::sync::SyncDeps;
use crate::sync::engine::Engine;
use crate::sync::metrics::SyncMetrics;

pub use self::registry::is_loaded_as;

/// Dependencies of engines.
pub struct EnginesDeps {
    pub ground: Ground,
    pub kinds: Arc<dyn EngineKinds>,
    pub hub: Hub,
    /// The rules that wait for what happens to torrents.
    pub watch: Arc<dyn RuleWatch>,
}

/// The configured engines, and those of them that are loaded.
pub struct Engines {
    db: Db,
    kinds: Arc<dyn EngineKinds>,
    audit: Audit,
    acting: Arc<dyn Acting>,
    cipher: Cipher,
    ctx: Ctx,
    registry: Registry,
    upkeep: Upkeep,
}

impl Engines {
    /// Makes the engines ready; none is loaded before [`Engines::start`].
    pub async fn prepare(deps: EnginesDeps) -> Result<Arc<Self>, TorrentsError> {
        let ground = deps.ground;
        let upkeep = Upkeep::new(&ground.db, ground.settings).await?;
        let sync = SyncDeps {
            db: ground.db.clone(),
            hub: deps.hub,
            ctx: ground.ctx.clone(),
            metrics: SyncMetrics::new(&ground.metrics)?,
            limits: upkeep.limits(),
            watch: deps.watch,
        };
        let engines = Arc::new(Self {
            registry: Registry::new(deps.kinds.clone(), ground.cipher.clone(), sync, ground.background),
            db: ground.db,
            kinds: deps.kinds,
            audit: ground.audit,
            acting: ground.acting,
            cipher: ground.cipher,
            ctx: ground.ctx,
            upkeep,
        });
        engines.part_urls().await?;
        Ok(engines)
    }

    /// Loads the enabled engines and starts their loops.
    pub async fn start(self: &Arc<Self>) -> Result<(), TorrentsError> {
        // First, so that no kind is missed that appears during the reload.
        self.registry.follow_kinds(self);
        self.reload().await
    }

    /// Stops every loop, stores what they had not stored yet and closes the engines.
    pub async fn shutdown(&self) {
        self.registry.shutdown().await;
    }

    /// A loaded engine.
    pub fn get(&self, id: &str) -> Option<Arc<Engine>> {
        self.registry.get(id)
    }

    /// The loaded engines in the order of their rows.
    pub fn all(&self) -> Vec<Arc<Engine>> {
        self.registry.all()
    }

    /// The engine a request means: the given one, else the default, else the first.
    pub fn resolve(&self, id: Option<&str>) -> Result<Arc<Engine>, TorrentsError> {
        self.registry.resolve(id)
    }

    /// The reason why no engine is loaded.
    pub fn no_engine(&self) -> TorrentsError {
        self.registry.no_engine()
    }

    /// Limits on what is taken of each engine, as the settings say at the moment.
    pub fn limits(&self) -> Limits {
        **self.upkeep.limits().load()
    }

    /// Brings what is loaded in line with the database and the installed kinds.
    pub async fn reload(&self) -> Result<(), TorrentsError> {
        self.registry.reload().await
    }
}

impl TorrentLists for Engines {
    fn lists(&self) -> Vec<Arc<dyn TorrentList>> {
        let engines = self.registry.all();
        let lists = engines.iter().filter_map(|engine| engine.snapshot());
        lists.map(|list| list as Arc<dyn TorrentList>).collect()
    }

    fn free_bytes(&self, engine_id: &str) -> Option<u64> {
        self.registry.get(engine_id)?.free_bytes()
    }
}

/// An audit row of `caller`.
pub fn audit_entry<'a>(
    caller: Caller<'a>,
    action: &'static str,
    object: Option<(&'static str, &str)>,
    metadata: Option<Value>,
) -> AuditEntry<'a> {
    AuditEntry {
        user_id: Some(caller.principal.user_id.to_string()),
        action,
        object_type: object.map(|(kind, _)| kind),
        object_id: object.map(|(_, id)| id.to_owned()),
        result: AuditResult::Success,
        client: Some(caller.client),
        metadata,
    }
}
