//! Use cases of this area.

mod aggregator;
mod ask;
mod fetch;
mod import;
mod keep;
mod link;
mod links;
mod notes;
mod pace;
mod search;
mod tries;

use std::sync::Arc;
use std::time::Duration;

use qm_db::{Db, Tx};
use qm_kernel::{Caller, Ctx, Permission, Timestamp};
use qm_net::Net;
use qm_platform::{Acting, Actor, Audit, Cipher, Ground, Settings};
use qm_ports::indexer::{ProtocolKind, Protocols};

use tokio::sync::{Mutex, Semaphore};

use crate::error::IndexerAreaError;
use crate::model::indexer::Indexer;
use crate::model::tries::Tries;
use crate::repo;

use self::notes::Notes;
use self::pace::Pace;

/// Number of indexers asked at a time for one search.
pub const AT_ONCE: usize = 16;
/// Largest .torrent file in bytes that is fetched outside an indexer's own origin; torrents have the same
/// limit.
const MAX_TORRENT: usize = 10 << 20;
/// Time limit of a download outside an indexer's own origin.
const FETCH: Duration = Duration::from_secs(30);

/// Dependencies of this area, supplied by the server.
pub struct IndexersDeps {
    pub ground: Ground,
    pub net: Net,
    pub protocols: Arc<dyn Protocols>,
}

/// All configured indexers.
pub struct Indexers {
    db: Db,
    ctx: Ctx,
    audit: Audit,
    acting: Arc<dyn Acting>,
    cipher: Cipher,
    settings: Settings,
    net: Net,
    protocols: Arc<dyn Protocols>,
    pace: Pace,
    /// Private addresses that users made the server contact.
    tries: Tries,
    notes: Notes,
    /// Held while the link's settings are read, changed and stored.
    link_changes: Mutex<()>,
    /// Held during an import.
    import: Mutex<()>,
    /// Limit on concurrent requests to the aggregator.
    probes: Semaphore,
}

impl Indexers {
    pub fn new(deps: IndexersDeps) -> Arc<Self> {
        Arc::new(Self {
            db: deps.ground.db,
            ctx: deps.ground.ctx,
            audit: deps.ground.audit,
            acting: deps.ground.acting,
            cipher: deps.ground.cipher,
            settings: deps.ground.settings,
            net: deps.net,
            protocols: deps.protocols,
            pace: Pace::default(),
            tries: Tries::default(),
            notes: Notes::default(),
            link_changes: Mutex::default(),
            import: Mutex::default(),
            probes: Semaphore::new(link::PROBES),
        })
    }

    pub fn now(&self) -> Timestamp {
        self.ctx.now()
    }

    /// Protocols of the installed plugins, by id.
    pub fn implementations(&self) -> Vec<ProtocolKind> {
        self.protocols.protocols()
    }

    fn kind(&self, id: &str) -> Option<ProtocolKind> {
        self.implementations().into_iter().find(|kind| kind.id == id)
    }

    /// Refuses an unknown protocol while plugins are still being compiled.
    fn settled(&self, protocol: &str) -> Result<(), IndexerAreaError> {
        if self.kind(protocol).is_some() {
            return Ok(());
        }
        Ok(self.protocols.settling(protocol).map_or(Ok(()), Err)?)
    }

    async fn stored(&self, id: &str) -> Result<Indexer, IndexerAreaError> {
        let found = repo::indexers::find(&mut self.db.begin_read().await?, id).await?;
        found.ok_or(IndexerAreaError::NoSuchIndexer)
    }

    async fn judge(
        &self,
        tx: &mut Tx,
        caller: Caller<'_>,
        needed: Permission,
    ) -> Result<Actor, IndexerAreaError> {
        Ok(self.acting.judge(tx, caller.principal, &[needed]).await?)
    }
}
