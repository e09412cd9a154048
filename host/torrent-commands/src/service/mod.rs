//! Use cases of this area.

mod actions;
mod bulk;
mod bulk_jobs;
mod files;
mod hosts;
mod look;
mod one;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use qm_engines::Engines;
use qm_engines::model::turns::Turns;
use qm_jobs::Jobs;
use qm_platform::Ground;
use qm_platform::area::Closing;
use qm_ports::action::TagKeeper;
use qm_ports::carry::DataMover;
use qm_torrent_data::TorrentData;
use tokio_util::task::TaskTracker;

pub use self::bulk::Answered;
#[cfg(test)]
pub use self::bulk::{AT_ONCE_IN_A_REQUEST, CHUNK};
use self::bulk_jobs::BulkJobs;
#[cfg(test)]
pub use self::bulk_jobs::RUNNING_OF_ONE;

/// Time that the end of the server leaves to bulk jobs.
const CLOSE: Duration = Duration::from_secs(5);

/// The parts of the server that this area works with.
pub struct Deps {
    pub ground: Ground,
    /// The type of bulk jobs is registered here.
    pub jobs: Jobs,
    pub engines: Arc<Engines>,
    pub data: Arc<TorrentData>,
    /// Keeper of tags for clients that have none.
    pub tags: Arc<dyn TagKeeper>,
    pub mover: Arc<dyn DataMover>,
}

/// Commands of the torrents of all engines.
pub struct TorrentCommands {
    ground: Ground,
    jobs: Jobs,
    engines: Arc<Engines>,
    data: Arc<TorrentData>,
    tags: Arc<dyn TagKeeper>,
    mover: Arc<dyn DataMover>,
    /// Turns of bulks, by the id of an engine, a part of one at a time. Commands for single torrents take none, so a bulk delays them by one
    /// part at most.
    turns: Turns,
    bulks: BulkJobs,
    tasks: TaskTracker,
}

impl TorrentCommands {
    pub fn new(deps: Deps) -> Arc<Self> {
        deps.jobs.register(bulk_jobs::job_type());
        Arc::new(Self {
            ground: deps.ground,
            jobs: deps.jobs,
            engines: deps.engines,
            data: deps.data,
            tags: deps.tags,
            mover: deps.mover,
            turns: Turns::default(),
            bulks: BulkJobs::default(),
            tasks: TaskTracker::new(),
        })
    }
}

#[async_trait]
impl Closing for TorrentCommands {
    fn stop(&self) {
        self.bulks.cancel_all();
    }

    async fn settle(&self) {
        self.bulks.cancel_all();
        self.tasks.close();
        if tokio::time::timeout(CLOSE, self.tasks.wait()).await.is_err() {
            tracing::warn!("orders about many torrents are left where they are");
        }
    }
}
