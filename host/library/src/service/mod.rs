//! The use cases of this area. [`Library`] is what the server wires.

mod actions;
#[cfg(test)]
mod awkward;
mod bulk;
mod details;
mod edit;
mod erase;
mod follow_up;
mod index;
mod inspect;
mod libraries;
pub mod loops;
mod orders;
#[cfg(test)]
mod property;
mod relocate;
pub mod scan;
mod series;
mod shows;
#[cfg(test)]
mod tests;
mod views;
mod watch;
#[cfg(test)]
mod watched;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
pub use follow_up::FileEvents;
use qm_db::{Db, DbError, Tx};
use qm_jobs::Jobs;
use qm_kernel::Ctx;
pub use qm_platform::Caller;
use qm_platform::{Acting, Audit};
use qm_ports::action::TorrentHands;
use qm_ports::carry::DataMover;
use qm_ports::{Holders, TorrentPayloads};
use serde_json::{Map, Value};
use tokio::sync::Semaphore;

use watch::Watching;

/// Runs the rules of a trigger. Offered by automation, wired by the server.
#[async_trait]
pub trait Triggers: Send + Sync {
    /// In the transaction of what happened.
    async fn fire(&self, tx: &mut Tx, trigger: &str, context: &Map<String, Value>) -> Result<(), DbError>;
}

/// Where nobody has rules.
pub struct NoTriggers;

#[async_trait]
impl Triggers for NoTriggers {
    async fn fire(&self, _: &mut Tx, _: &str, _: &Map<String, Value>) -> Result<(), DbError> {
        Ok(())
    }
}

/// When a scan relies on what the one before saw.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// What was touched later than this ago may change again without a trace in its directory.
    pub settles: Duration,
    /// A directory that was read longer ago is read again, whatever its state.
    pub relies: Duration,
    /// What changes within this of the first change is scanned together.
    pub gathers: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            settles: Duration::from_mins(10),
            relies: Duration::from_hours(24),
            gathers: Duration::from_secs(10),
        }
    }
}

/// What the area may do outside itself, for those who may.
#[derive(Clone)]
pub struct Outside {
    /// Moves files.
    pub mover: Arc<dyn DataMover>,
    /// Tells whose data files are.
    pub payloads: Arc<dyn TorrentPayloads>,
    /// Removes torrents.
    pub hands: Arc<dyn TorrentHands>,
    /// Tells whether somebody still may what they ordered.
    pub holders: Arc<dyn Holders>,
}

/// What the area is given.
pub struct LibraryDeps {
    pub db: Db,
    pub ctx: Ctx,
    pub audit: Audit,
    /// Judges who changes libraries.
    pub acting: Arc<dyn Acting>,
    pub jobs: Jobs,
    pub triggers: Arc<dyn Triggers>,
    /// `FILE_MANAGER_ROOTS`
    pub file_roots: Vec<String>,
    /// The service's own directories and files, which are in no library.
    pub own: Vec<PathBuf>,
    pub pace: Pace,
    pub outside: Outside,
}

/// The libraries, and what lies in them.
pub struct Library {
    db: Db,
    ctx: Ctx,
    audit: Audit,
    acting: Arc<dyn Acting>,
    jobs: Jobs,
    triggers: Arc<dyn Triggers>,
    file_roots: Vec<String>,
    own: Vec<PathBuf>,
    pace: Pace,
    outside: Outside,
    watching: Watching,
    /// Turns of those who look at whole disks.
    looks: Semaphore,
}

impl Library {
    /// Its types of jobs are registered; nothing runs before the jobs do.
    pub fn new(deps: LibraryDeps) -> Arc<Self> {
        let library = Arc::new(Self {
            db: deps.db,
            ctx: deps.ctx,
            audit: deps.audit,
            acting: deps.acting,
            jobs: deps.jobs,
            triggers: deps.triggers,
            file_roots: deps.file_roots,
            own: deps.own,
            pace: deps.pace,
            outside: deps.outside,
            watching: Watching::default(),
            looks: Semaphore::new(2),
        });
        library.jobs.register(scan::job_type(&library));
        library.jobs.register(erase::job_type(&library));
        library.jobs.register(relocate::job_type(&library));
        library
    }
}
