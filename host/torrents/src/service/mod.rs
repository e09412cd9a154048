//! The area's use cases. [`Torrents`] is what the server wires; routes and other areas call it.

mod add;
#[cfg(test)]
mod categories_tests;
mod commands;
mod dashboard;
mod details;
#[cfg(test)]
mod flood;
mod groups;
#[cfg(test)]
mod groups_tests;
mod hands;
mod intake;
mod list;
#[cfg(test)]
mod moves_tests;
mod paths;
#[cfg(test)]
mod paths_tests;
mod payloads;
#[cfg(test)]
mod probes_tests;
#[cfg(test)]
mod shared_data_tests;
mod tags;
mod taxonomy;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod upkeep_tests;

use std::sync::Arc;

use qm_confined::OwnPlace;
use qm_db::Db;
use qm_engines::model::turns::Turns;
use qm_engines::{Engine, EngineStatus, Engines, EnginesDeps, TorrentsError};
pub use qm_kernel::Caller;
use qm_kernel::Ctx;
use qm_net::Net;
use qm_platform::{Audit, Cipher, Ground};
use qm_ports::carry::DataMover;
use qm_ports::engine::EngineKinds;
use qm_ports::intake::IntakeTellers;
use qm_ports::rules::RuleWatch;
use qm_realtime::Hub;
use qm_torrent_data::{TorrentData, TorrentDataDeps};
use qm_torrent_lists::TorrentEntry;

pub use crate::model::answers::EngineChoice;
pub use add::{AddInput, AddSource};

use self::groups::Groups;
use self::list::MergedList;

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

/// The torrents of all engines.
pub struct Torrents {
    pub(crate) engines: Arc<Engines>,
    pub(crate) data: Arc<TorrentData>,
    /// Areas that know what they grabbed torrents for.
    pub(crate) tellers: Arc<IntakeTellers>,
    db: Db,
    net: Net,
    audit: Audit,
    cipher: Cipher,
    hub: Hub,
    ctx: Ctx,
    merged: MergedList,
    /// Turns at adding, by engine and hash.
    adding: Turns,
    /// Categories and tags as clients list them.
    groups: Groups,
}

impl Torrents {
    /// Loads the enabled engines and starts their loops.
    pub async fn start(deps: TorrentsDeps) -> Result<Arc<Self>, TorrentsError> {
        let ground = deps.ground;
        let engines = Engines::prepare(EnginesDeps {
            ground: ground.clone(),
            kinds: deps.kinds,
            hub: deps.hub.clone(),
            watch: deps.watch,
        });
        let engines = engines.await?;
        let data = TorrentData::load(TorrentDataDeps {
            engines: engines.clone(),
            db: ground.db.clone(),
            ctx: ground.ctx.clone(),
            audit: ground.audit.clone(),
            file_roots: deps.file_roots,
            own: deps.own,
        });
        let data = data.await?;
        engines.start().await?;
        Ok(Arc::new(Self {
            engines,
            data,
            tellers: Arc::default(),
            db: ground.db,
            net: deps.net,
            audit: ground.audit,
            cipher: ground.cipher,
            hub: deps.hub,
            ctx: ground.ctx,
            merged: MergedList::default(),
            adding: Turns::default(),
            groups: Groups::default(),
        }))
    }

    /// Waits for moves to be undone or done, stops every loop, stores what they had not stored yet and closes the engines.
    pub async fn shutdown(&self) {
        self.data.shutdown().await;
        self.engines.shutdown().await;
    }

    /// Sets the mover of data. Until then, only clients that move data themselves can move a torrent.
    pub fn use_mover(&self, mover: &Arc<dyn DataMover>) {
        self.data.use_mover(mover);
    }

    /// A torrent of the last snapshot of a loaded engine, for areas that act on events.
    pub fn torrent(&self, engine_id: &str, hash: &str) -> Option<Arc<TorrentEntry>> {
        self.engines.get(engine_id)?.snapshot()?.get(hash).cloned()
    }

    /// The last known status of a loaded engine; `None` before its first read.
    pub fn status(&self, engine_id: &str) -> Option<Arc<EngineStatus>> {
        self.engines.get(engine_id)?.status()
    }

    pub(crate) fn resolve(&self, engine_id: Option<&str>) -> Result<Arc<Engine>, TorrentsError> {
        self.engines.resolve(engine_id)
    }
}
