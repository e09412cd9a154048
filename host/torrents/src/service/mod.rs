//! The area's use cases. [`Torrents`] is what the server wires; routes and other areas call it.

mod add;
mod claims;
mod commands;
mod dashboard;
mod details;
mod engines;
#[cfg(test)]
mod flood;
mod hands;
mod intake;
mod list;
mod moves;
mod payloads;
mod places;
mod probes;
mod registry;
mod removals;
mod shared_data;
mod tags;
mod taxonomy;
#[cfg(test)]
mod tests;
mod turns;
mod upkeep;

use std::sync::{Arc, Weak};

use qm_confined::OwnPlace;
use qm_db::Db;
pub use qm_kernel::Caller;
use qm_kernel::Ctx;
use qm_net::Net;
use qm_platform::{Acting, Audit, AuditEntry, AuditResult, Cipher, Ground};
use qm_ports::engine::EngineKinds;
use qm_ports::list::{TorrentList, TorrentLists};
use qm_ports::rules::RuleWatch;
use qm_realtime::Hub;
use serde_json::Value;

pub use crate::model::answers::{BulkAction, EngineChoice};
pub use add::{AddInput, AddSource};

use self::claims::Claims;
use self::list::MergedList;
use self::moves::Moves;
use self::places::Places;
use self::registry::Registry;
use self::turns::Turns;
use self::upkeep::Upkeep;
use crate::dto::torrent::TorrentEntry;
use crate::error::TorrentsError;
use crate::sync::SyncDeps;
use crate::sync::engine::{Engine, EngineStatus};
use crate::sync::metrics::SyncMetrics;

/// Dependencies of the area.
#[derive(Clone)]
pub struct TorrentsDeps {
    pub ground: Ground,
    pub kinds: Arc<dyn EngineKinds>,
    pub net: Net,
    pub hub: Hub,
    /// `FILE_MANAGER_ROOTS`
    pub file_roots: Vec<String>,
    /// The server's own places, which no client may be sent to.
    pub own: Vec<OwnPlace>,
    /// The rules that wait for what happens to torrents.
    pub watch: Arc<dyn RuleWatch>,
}

/// Engines and their torrents.
pub struct Torrents {
    /// For work that goes on when whoever asked for it is gone.
    me: Weak<Self>,
    db: Db,
    kinds: Arc<dyn EngineKinds>,
    net: Net,
    audit: Audit,
    acting: Arc<dyn Acting>,
    cipher: Cipher,
    hub: Hub,
    ctx: Ctx,
    places: Places,
    registry: Registry,
    merged: MergedList,
    /// Turns at adding, by engine and hash.
    adding: Turns,
    moves: Moves,
    /// Places whose data is being taken.
    claims: Claims,
    upkeep: Upkeep,
}

impl Torrents {
    /// Loads the enabled engines and starts their loops.
    pub async fn start(deps: TorrentsDeps) -> Result<Arc<Self>, TorrentsError> {
        let upkeep = Upkeep::new(&deps.ground.db, deps.ground.settings).await?;
        let sync = SyncDeps {
            db: deps.ground.db.clone(),
            hub: deps.hub.clone(),
            ctx: deps.ground.ctx.clone(),
            metrics: SyncMetrics::new(&deps.ground.metrics)?,
            limits: upkeep.limits(),
            watch: deps.watch,
        };
        let moves_of = deps.ground.ctx.id();
        let torrents = Arc::new_cyclic(|me| Self {
            me: me.clone(),
            registry: Registry::new(
                deps.kinds.clone(),
                deps.ground.cipher.clone(),
                sync,
                deps.ground.background,
            ),
            db: deps.ground.db,
            kinds: deps.kinds,
            net: deps.net,
            audit: deps.ground.audit,
            acting: deps.ground.acting,
            cipher: deps.ground.cipher,
            hub: deps.hub,
            ctx: deps.ground.ctx,
            places: Places::new(&deps.file_roots, &deps.own),
            merged: MergedList::default(),
            adding: Turns::default(),
            moves: Moves::new(moves_of),
            claims: Claims::default(),
            upkeep,
        });
        torrents.part_urls().await?;
        torrents.load_moves().await?;
        // First, so that no kind is missed that appears during the reload.
        torrents.registry.follow_kinds(&torrents);
        torrents.registry.reload().await?;
        Ok(torrents)
    }

    /// Waits for moves to be undone or done, stops every loop, stores what they had not stored yet and closes the engines.
    pub async fn shutdown(&self) {
        self.moves.close().await;
        self.registry.shutdown().await;
    }

    /// A torrent of the last snapshot of a loaded engine, for areas that act on events.
    pub fn torrent(&self, engine_id: &str, hash: &str) -> Option<Arc<TorrentEntry>> {
        self.registry.get(engine_id)?.snapshot()?.get(hash).cloned()
    }

    /// The last known status of a loaded engine; `None` before its first read.
    pub fn status(&self, engine_id: &str) -> Option<Arc<EngineStatus>> {
        self.registry.get(engine_id)?.status()
    }

    pub(crate) fn resolve(&self, engine_id: Option<&str>) -> Result<Arc<Engine>, TorrentsError> {
        self.registry.resolve(engine_id)
    }
}

impl TorrentLists for Torrents {
    fn lists(&self) -> Vec<Arc<dyn TorrentList>> {
        let engines = self.registry.all();
        let lists = engines.iter().filter_map(|engine| engine.snapshot());
        lists.map(|list| list as Arc<dyn TorrentList>).collect()
    }
}

/// An audit row of `caller`.
fn audit_entry<'a>(
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
