//! Use cases of this area.

pub mod download;
pub mod import;
pub mod load;
mod names;
pub mod options;
pub mod paths;
pub mod port;
pub mod search;
mod series;
mod shows;
pub mod status;
pub mod store;
#[cfg(test)]
mod tests;
pub mod work;

use std::path::PathBuf;
use std::sync::Arc;

use qm_db::Db;
use qm_jobs::Jobs;
use qm_kernel::{Ctx, Permission};
use qm_net::Net;
use qm_platform::{Acting, Audit, Cipher, Ground, Settings};
use qm_realtime::{Hub, Room};
use serde::Serialize;

use store::Store;

/// Dependencies of this area, supplied by the server.
pub struct TitledbDeps {
    pub ground: Ground,
    pub hub: Hub,
    pub jobs: Jobs,
    pub net: Net,
    /// `FILE_MANAGER_ROOTS`
    pub file_roots: Vec<PathBuf>,
    /// `DATA_DIR`: place of the store on SQLite, and of the files where the settings name no directory.
    pub data_dir: PathBuf,
}

/// The data set of titles.
pub struct Titledb {
    db: Db,
    ctx: Ctx,
    settings: Settings,
    cipher: Cipher,
    audit: Audit,
    acting: Arc<dyn Acting>,
    hub: Hub,
    jobs: Jobs,
    net: Net,
    file_roots: Vec<PathBuf>,
    data_dir: PathBuf,
    pub(crate) store: Store,
}

impl Titledb {
    /// Creates the area and registers its job type; nothing runs before the jobs start.
    pub fn new(deps: TitledbDeps) -> Arc<Self> {
        let titledb = Arc::new(Self {
            store: Store::new(deps.ground.db.clone(), deps.data_dir.clone()),
            db: deps.ground.db,
            ctx: deps.ground.ctx,
            settings: deps.ground.settings,
            cipher: deps.ground.cipher,
            audit: deps.ground.audit,
            acting: deps.ground.acting,
            hub: deps.hub,
            jobs: deps.jobs,
            net: deps.net,
            file_roots: deps.file_roots,
            data_dir: deps.data_dir,
        });
        titledb.jobs.register(work::job_type(&titledb));
        titledb
    }

    fn tell(&self, event: &'static str, message: &impl Serialize) {
        self.hub
            .emit_json(Room::Perm(Permission::MediaManagerTitledbView), event, message);
    }
}
