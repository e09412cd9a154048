//! Use cases of this crate.

mod cross;
mod details;
mod edit;
pub mod enrich;
mod entitle;
pub mod fetch;
mod follow;
mod metadata;
mod named;
mod names;
mod noted;
mod refresh;
pub mod reidentify;
mod repair;
mod titles;

use std::sync::Arc;

use qm_db::Db;
use qm_jobs::Jobs;
use qm_kernel::Ctx;
use qm_media::service::{Pace, Rights, Shared};
use qm_platform::{Audit, Triggers};
use qm_ports::metadata::MetadataChain;
use qm_ports::titledb::TitleData;
use qm_realtime::Hub;
use tokio::sync::Semaphore;

/// Dependencies of the identification.
pub struct IdentificationDeps {
    pub shared: Shared,
    /// Data set of titles.
    pub titles: Arc<dyn TitleData>,
    /// Providers of metadata.
    pub metadata: Arc<dyn MetadataChain>,
    /// Realtime channel to clients.
    pub hub: Hub,
}

/// Identification of items and shows, which stores each value with its source.
pub struct Identification {
    db: Db,
    ctx: Ctx,
    audit: Audit,
    rights: Rights,
    jobs: Jobs,
    triggers: Arc<dyn Triggers>,
    pace: Pace,
    titles: Arc<dyn TitleData>,
    metadata: Arc<dyn MetadataChain>,
    hub: Hub,
    /// Limit on previews of a repair, which ask providers about films.
    repairs: Semaphore,
}

impl Identification {
    /// Makes the identification and registers its types of jobs. Nothing runs before the jobs are started.
    pub fn new(deps: IdentificationDeps) -> Arc<Self> {
        let room = Arc::new(Self {
            db: deps.shared.db,
            ctx: deps.shared.ctx,
            audit: deps.shared.audit,
            rights: deps.shared.rights,
            jobs: deps.shared.jobs,
            triggers: deps.shared.triggers,
            pace: deps.shared.pace,
            titles: deps.titles,
            metadata: deps.metadata,
            hub: deps.hub,
            repairs: Semaphore::new(1),
        });
        room.jobs.register(fetch::job_type(&room));
        room.jobs.register(enrich::job_type(&room));
        room.jobs.register(reidentify::job_type(&room));
        room.jobs.register(repair::job_type(&room));
        room
    }
}
