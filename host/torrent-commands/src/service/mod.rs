//! Use cases of this area.

mod actions;
mod bulk;
mod bulk_jobs;
mod files;
mod hosts;
mod look;
mod one;
mod turns;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use qm_engines::{Engine, Engines};
use qm_jobs::Jobs;
use qm_platform::Ground;
use qm_platform::area::Closing;
use qm_ports::action::TorrentHands;
use qm_ports::carry::DataMover;
use qm_torrent_data::TorrentData;
use tokio_util::task::TaskTracker;

pub use self::bulk::Answered;
#[cfg(test)]
pub use self::bulk::{AT_ONCE_IN_A_REQUEST, CHUNK};
use self::bulk_jobs::BulkJobs;
#[cfg(test)]
pub use self::bulk_jobs::RUNNING_OF_ONE;
use self::turns::Turns;

/// Time limit on waiting for the list to show a torrent no longer that was removed, or tags that are kept here.
const SHOW_LIMIT: Duration = Duration::from_secs(1);
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
    pub hands: Arc<dyn TorrentHands>,
    pub mover: Arc<dyn DataMover>,
}

/// Commands of the torrents of all engines.
pub struct TorrentCommands {
    ground: Ground,
    jobs: Jobs,
    engines: Arc<Engines>,
    data: Arc<TorrentData>,
    hands: Arc<dyn TorrentHands>,
    mover: Arc<dyn DataMover>,
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
            hands: deps.hands,
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

/// Has the list read again. `wait`: returns only when the new list is there, or after `SHOW_LIMIT`, so that the next
/// request sees the change.
async fn show(engine: &Engine, wait: bool) {
    if wait {
        engine.refresh(SHOW_LIMIT).await;
    } else {
        engine.poke();
    }
}
