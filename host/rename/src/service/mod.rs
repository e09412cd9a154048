//! Use cases of this area.

mod presets;
mod preview;
mod settings;
mod sources;

use std::sync::Arc;

use qm_confined::Roots;
use qm_db::Tx;
use qm_kernel::{Caller, Permission};
use qm_platform::{Actor, AuditEntry, Ground};
use qm_ports::list::TorrentLists;
use qm_ports::shelves::MediaShelves;

use crate::error::RenameError;

pub use preview::Request;

/// Permission of whoever changes presets and settings.
pub const NEEDED: Permission = Permission::MediaManagerManageLibraries;

/// Parts of the server that this area works with.
pub struct RenameDeps {
    pub ground: Ground,
    /// Storage roots; files elsewhere are not looked at.
    pub roots: Roots,
    pub torrents: Arc<dyn TorrentLists>,
    pub shelves: Arc<dyn MediaShelves>,
}

/// Names of media files.
pub struct Rename {
    ground: Ground,
    roots: Roots,
    torrents: Arc<dyn TorrentLists>,
    shelves: Arc<dyn MediaShelves>,
}

impl Rename {
    pub fn new(deps: RenameDeps) -> Arc<Self> {
        Arc::new(Self {
            ground: deps.ground,
            roots: deps.roots,
            torrents: deps.torrents,
            shelves: deps.shelves,
        })
    }

    /// Commits a change with its audit row.
    async fn commit(
        &self,
        mut tx: Tx,
        caller: Caller<'_>,
        actor: &Actor,
        entry: (&'static str, &'static str, String),
        metadata: Option<serde_json::Value>,
    ) -> Result<(), RenameError> {
        let (action, object_type, object_id) = entry;
        let entry = AuditEntry {
            object_type: Some(object_type),
            object_id: Some(object_id),
            metadata,
            ..actor.entry(action, caller.client)
        };
        self.ground.audit.record(&mut tx, entry).await?;
        Ok(tx.commit().await?)
    }
}
