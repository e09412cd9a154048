//! Use cases of this area.

mod actions;
mod apply;
mod carry;
mod cleanup;
mod help;
mod history;
mod items;
mod organize;
mod plans;
mod playback;
mod presets;
mod preview;
mod recover;
mod runs;
mod seeding;
mod settings;
mod sources;
#[cfg(test)]
mod tests;
mod undo;

use std::collections::HashSet;
use std::sync::{Arc, Mutex, Weak};

use async_trait::async_trait;
use qm_confined::Roots;
use qm_db::Tx;
use qm_jobs::{JobType, Jobs};
use qm_kernel::{Caller, Permission};
use qm_platform::area::Closing;
use qm_platform::{Actor, AuditEntry, Ground};
use qm_ports::TorrentPayloads;
use qm_ports::list::TorrentLists;
use qm_ports::media_server::MediaServers;
use qm_ports::shelves::MediaShelves;
use tokio_util::task::TaskTracker;

use crate::error::RenameError;
use crate::ops::fault::Faults;
use plans::KeptPlans;
use playback::LastPlaying;

/// Permission of whoever changes presets and settings.
pub const NEEDED: Permission = Permission::MediaManagerManageLibraries;
/// Permission of whoever renames files.
pub const RENAMES: Permission = Permission::MediaManagerRename;

/// Module of the jobs of this area.
const MODULE: &str = "media_manager";
/// Types of jobs: renames and their undo, and the naming of a whole library.
const RENAME_JOB: &str = "media.rename_execute";
const ORGANIZE_JOB: &str = "media.library_organize";

/// Parts of the server that this area works with.
pub struct RenameDeps {
    pub ground: Ground,
    pub jobs: Jobs,
    /// Storage roots; files elsewhere are not looked at.
    pub roots: Roots,
    pub torrents: Arc<dyn TorrentLists>,
    pub payloads: Arc<dyn TorrentPayloads>,
    pub shelves: Arc<dyn MediaShelves>,
    pub servers: Arc<dyn MediaServers>,
    pub faults: Faults,
}

/// Names of media files.
pub struct Rename {
    /// Itself, for work that goes on when nobody waits for it any more.
    me: Weak<Rename>,
    ground: Ground,
    jobs: Jobs,
    roots: Roots,
    torrents: Arc<dyn TorrentLists>,
    payloads: Arc<dyn TorrentPayloads>,
    shelves: Arc<dyn MediaShelves>,
    servers: Arc<dyn MediaServers>,
    faults: Faults,
    plans: KeptPlans,
    playing: LastPlaying,
    /// Ids of the runs that this process is at work on.
    running: Arc<Mutex<HashSet<String>>>,
    /// Runs do not end with the requests that wait for them.
    tasks: TaskTracker,
}

impl Rename {
    /// Makes the area and registers its types of jobs.
    pub fn new(deps: RenameDeps) -> Arc<Self> {
        let view = Some(Permission::MediaManagerView);
        for (key, label) in [
            (RENAME_JOB, "jobs.type.media.rename_execute"),
            (ORGANIZE_JOB, "jobs.type.media.library_organize"),
        ] {
            deps.jobs.register(JobType {
                workspace: Some("media"),
                ..JobType::hosted(key, MODULE, label, view)
            });
        }
        Arc::new_cyclic(|me| Self {
            me: me.clone(),
            ground: deps.ground,
            jobs: deps.jobs,
            roots: deps.roots,
            torrents: deps.torrents,
            payloads: deps.payloads,
            shelves: deps.shelves,
            servers: deps.servers,
            faults: deps.faults,
            plans: KeptPlans::default(),
            playing: LastPlaying::default(),
            running: Arc::default(),
            tasks: TaskTracker::new(),
        })
    }

    /// The area as runs keep it.
    fn myself(&self) -> Result<Arc<Self>, RenameError> {
        let gone = || RenameError::Broken("the server stops".to_owned());
        self.me.upgrade().ok_or_else(gone)
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

#[async_trait]
impl Closing for Rename {
    /// Jobs are told to end when the server stops; their runs end after the step that they are at.
    async fn close(&self) {
        self.tasks.close();
        self.tasks.wait().await;
    }
}
