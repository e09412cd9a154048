//! Parts of the server that every crate of the media libraries works with.

use std::path::PathBuf;
use std::sync::Arc;

use qm_db::Db;
use qm_jobs::Jobs;
use qm_kernel::Ctx;
use qm_platform::{Audit, Triggers};
use qm_ports::helpers::MediaHelpers;

use super::{Pace, Rights};

/// Dependencies that are the same for all. Cheap to clone.
#[derive(Clone)]
pub struct Shared {
    pub db: Db,
    pub ctx: Ctx,
    pub audit: Audit,
    pub rights: Rights,
    pub jobs: Jobs,
    pub triggers: Arc<dyn Triggers>,
    /// Areas that name files, fetch pictures and write notes.
    pub helpers: Arc<MediaHelpers>,
    /// `FILE_MANAGER_ROOTS`
    pub file_roots: Vec<String>,
    /// Directories and files of the service, which are in no library.
    pub own: Vec<PathBuf>,
    pub pace: Pace,
}
