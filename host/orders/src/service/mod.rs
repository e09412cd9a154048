//! Use cases of this crate.

mod actions;
mod bulk;
pub mod download;
mod erase;
mod hands;
mod naming;
mod relocate;
mod whereabouts;

use std::path::PathBuf;
use std::sync::Arc;

use qm_db::Db;
use qm_identify::Identification;
use qm_jobs::Jobs;
use qm_kernel::Ctx;
use qm_media::service::{Pace, Rights, Shared};
use qm_platform::{Audit, Triggers};
use qm_ports::TorrentPayloads;
use qm_ports::action::TorrentHands;
use qm_ports::carry::DataMover;
use qm_ports::helpers::MediaHelpers;
use qm_ports::media_server::MediaServers;
use qm_scan::Scanner;

/// Ports of other areas that orders use.
#[derive(Clone)]
pub struct Outside {
    /// Port that moves files.
    pub mover: Arc<dyn DataMover>,
    /// Port that finds the torrents of files.
    pub payloads: Arc<dyn TorrentPayloads>,
    /// Port that removes torrents.
    pub hands: Arc<dyn TorrentHands>,
    /// Port that asks media servers for a refresh.
    pub servers: Arc<dyn MediaServers>,
}

/// Dependencies of the orders.
pub struct OrdersDeps {
    pub shared: Shared,
    pub outside: Outside,
    pub identify: Arc<Identification>,
    pub scanner: Arc<Scanner>,
}

/// Orders of people, rules, plugins and downloads about items of libraries.
pub struct Orders {
    db: Db,
    ctx: Ctx,
    audit: Audit,
    rights: Rights,
    jobs: Jobs,
    triggers: Arc<dyn Triggers>,
    helpers: Arc<MediaHelpers>,
    file_roots: Vec<String>,
    own: Vec<PathBuf>,
    pace: Pace,
    outside: Outside,
    identify: Arc<Identification>,
    scanner: Arc<Scanner>,
}

impl Orders {
    /// Makes the orders and registers their types of jobs. Nothing runs before the jobs are started.
    pub fn new(deps: OrdersDeps) -> Arc<Self> {
        let room = Arc::new(Self {
            db: deps.shared.db,
            ctx: deps.shared.ctx,
            audit: deps.shared.audit,
            rights: deps.shared.rights,
            jobs: deps.shared.jobs,
            triggers: deps.shared.triggers,
            helpers: deps.shared.helpers,
            file_roots: deps.shared.file_roots,
            own: deps.shared.own,
            pace: deps.shared.pace,
            outside: deps.outside,
            identify: deps.identify,
            scanner: deps.scanner,
        });
        room.jobs.register(erase::job_type(&room));
        room.jobs.register(relocate::job_type(&room));
        room.jobs.register(download::job_type(&room));
        room
    }
}
