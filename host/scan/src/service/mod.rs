//! Use cases of this crate.

mod follow_up;
mod health;
mod ignored;
mod index;
mod inspect;
mod libraries;
mod loops;
mod moves;
mod order;
mod scan;
mod shows;
mod watch;

use std::path::PathBuf;
use std::sync::Arc;

use qm_catalogue::Catalogue;
use qm_db::Db;
use qm_identify::Identification;
use qm_jobs::Jobs;
use qm_kernel::Ctx;
use qm_media::service::{Pace, Rights, Shared};
use qm_platform::{Audit, Triggers};
use qm_ports::helpers::MediaHelpers;
use qm_probe::Probing;
use tokio::sync::{Mutex, Notify};

pub use follow_up::{FILE_EVENTS, FILE_KEYS, below, refused};
pub use scan::{Reason, ScanRequest, Scanned, scan_asked};
use watch::Watching;

/// Dependencies of the scanner.
pub struct ScannerDeps {
    pub shared: Shared,
    pub probing: Arc<Probing>,
    pub catalogue: Arc<Catalogue>,
    pub identify: Arc<Identification>,
}

/// Libraries, and the index of the files on their disks.
pub struct Scanner {
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
    probing: Arc<Probing>,
    catalogue: Arc<Catalogue>,
    identify: Arc<Identification>,
    watching: Watching,
    /// Lock of the running scan.
    scanning: Mutex<()>,
    /// Lock of the work that moves items after their files.
    moving: Mutex<()>,
    /// Signal that something was moved or deleted.
    told: Notify,
}

impl Scanner {
    /// Makes the scanner and registers its type of jobs. Nothing runs before the jobs are started.
    pub fn new(deps: ScannerDeps) -> Arc<Self> {
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
            probing: deps.probing,
            catalogue: deps.catalogue,
            identify: deps.identify,
            watching: Watching::default(),
            scanning: Mutex::new(()),
            moving: Mutex::default(),
            told: Notify::new(),
        });
        room.jobs.register(scan::job_type(&room));
        room
    }
}
