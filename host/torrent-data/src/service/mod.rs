//! The guard, claims, moves and removals, as methods of [`TorrentData`].

mod audited;
mod categories;
mod claims;
mod moves;
mod own;
mod path_check;
mod payloads;
mod places;
mod preferences;
mod removals;
mod shared_data;

use std::sync::Arc;

use qm_confined::OwnPlace;
use qm_db::{Db, DbError};
use qm_engines::{Engine, Engines, TorrentsError};
use qm_kernel::Ctx;
use qm_platform::Audit;

pub use self::audited::{checked_hash, told_of};
pub use self::categories::{count_auto_managed, is_carried_out_here, may_move};
use self::claims::Claims;
use self::moves::Moves;
pub use self::own::{DataSight, OwnData};
pub use self::places::Places;
pub use self::removals::How;
pub use self::shared_data::Subject;

/// Dependencies of [`TorrentData`].
pub struct TorrentDataDeps {
    pub engines: Arc<Engines>,
    pub db: Db,
    pub ctx: Ctx,
    pub audit: Audit,
    /// `FILE_MANAGER_ROOTS`
    pub file_roots: Vec<String>,
    /// The server's own places, which no client may be sent to.
    pub own: Vec<OwnPlace>,
}

/// The data of the torrents of all engines.
pub struct TorrentData {
    engines: Arc<Engines>,
    db: Db,
    ctx: Ctx,
    audit: Audit,
    places: Places,
    moves: Moves,
    /// Places whose data is being taken.
    claims: Claims,
}

impl TorrentData {
    /// Loads the moves that are not over, so that nothing else is done to their torrents.
    pub async fn load(deps: TorrentDataDeps) -> Result<Arc<Self>, DbError> {
        let moves = Moves::new(deps.ctx.id());
        let data = Arc::new(Self {
            engines: deps.engines,
            db: deps.db,
            ctx: deps.ctx,
            audit: deps.audit,
            places: Places::new(&deps.file_roots, &deps.own),
            moves,
            claims: Claims::default(),
        });
        data.load_moves().await?;
        Ok(data)
    }

    /// Waits for moves to be undone or done.
    pub async fn shutdown(&self) {
        self.moves.close().await;
    }

    /// The directories that clients may be told.
    pub const fn places(&self) -> &Places {
        &self.places
    }

    /// Refuses an operation on a torrent whose data is being moved.
    pub fn refuse_busy(&self, engine: &Engine, hash: &str) -> Result<(), TorrentsError> {
        self.moves.refuse_busy(engine, hash)
    }
}
