//! Use cases of this area.

mod actions;
mod bulk;
mod generate;
mod help;
mod known;
mod take;

use std::sync::Arc;

use qm_confined::Roots;
use qm_jobs::{JobType, Jobs};
use qm_kernel::Permission;
use qm_platform::Ground;
use qm_ports::TorrentPayloads;
use qm_ports::notes::{MediaNotes, NoteTaker};
use qm_ports::subjects::MediaSubjects;

use bulk::JOB;

/// Permission of whoever has notes written.
pub const NEEDED: Permission = Permission::MediaManagerGenerateNfo;

/// Parts of the server that this area works with.
pub struct NfoDeps {
    pub ground: Ground,
    /// Storage roots; notes elsewhere are not written.
    pub roots: Roots,
    pub notes: Arc<dyn MediaNotes>,
    /// Items and shows beside which something changed.
    pub subjects: Arc<dyn MediaSubjects>,
    /// Library that fills in what notes say.
    pub takers: Arc<dyn NoteTaker>,
    pub payloads: Arc<dyn TorrentPayloads>,
    pub jobs: Jobs,
}

/// Notes of media.
pub struct Nfo {
    ground: Ground,
    roots: Roots,
    notes: Arc<dyn MediaNotes>,
    subjects: Arc<dyn MediaSubjects>,
    takers: Arc<dyn NoteTaker>,
    payloads: Arc<dyn TorrentPayloads>,
    jobs: Jobs,
}

impl Nfo {
    pub fn new(deps: NfoDeps) -> Arc<Self> {
        deps.jobs.register(JobType::hosted(
            JOB,
            "media_manager",
            "jobs.type.media.nfo_generate",
            Some(Permission::MediaManagerView),
        ));
        Arc::new(Self {
            ground: deps.ground,
            roots: deps.roots,
            notes: deps.notes,
            subjects: deps.subjects,
            takers: deps.takers,
            payloads: deps.payloads,
            jobs: deps.jobs,
        })
    }
}
