//! Use cases of this area.

mod count;
mod detect;
mod facts;
mod groups;
mod many;
mod places;
mod preview;
mod resolve;
mod scan;
mod settle;
mod suffixes;
mod upkeep;

use std::sync::Arc;

use qm_db::Tx;
use qm_jobs::Jobs;
use qm_kernel::{Caller, Permission};
use qm_platform::{AuditEntry, AuditResult, Ground, judge_alone};
use qm_ports::inventory::MediaStock;
use qm_ports::trash::FileTrash;
use qm_realtime::{Hub, Room};
use serde_json::Value;
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

use crate::error::DuplicatesError;
use places::Places;

pub use many::Done;
pub use upkeep::ScheduleView;

/// Permission of whoever looks at groups and plans.
pub const VIEW: Permission = Permission::MediaManagerView;
/// Permission of whoever starts detections and sets their schedule.
pub const SCAN: Permission = Permission::MediaManagerScan;
/// Permission of whoever ignores groups and opens them again.
pub const MATCH: Permission = Permission::MediaManagerMatch;
/// Permission of whoever carries plans out.
pub const DELETE: Permission = Permission::MediaManagerDelete;

/// Permission of whoever has names of files repaired.
pub const RENAME: Permission = Permission::MediaManagerRename;

/// Kind of a group in the audit trail.
const OBJECT: &str = "media_duplicate_group";

/// Parts of the server that this area works with.
pub struct DuplicatesDeps {
    pub ground: Ground,
    pub jobs: Jobs,
    pub hub: Hub,
    /// Items of the libraries.
    pub stock: Arc<dyn MediaStock>,
    /// Trash of the file manager.
    pub trash: Arc<dyn FileTrash>,
}

/// Duplicates in the libraries.
pub struct Duplicates {
    ground: Ground,
    jobs: Jobs,
    hub: Hub,
    stock: Arc<dyn MediaStock>,
    trash: Arc<dyn FileTrash>,
    /// Lock held while a plan is carried out: one at a time, with those that wait for it at most [`places::MOST`].
    turn: Mutex<()>,
    /// Places of plans that are carried out or wait for that.
    places: Arc<Places>,
    /// Lock held while names are repaired: one at a time.
    repairing: Mutex<()>,
    /// Cancelled when the server stops.
    stopping: CancellationToken,
}

impl Duplicates {
    /// Makes the area and registers its type of jobs.
    pub fn new(deps: DuplicatesDeps) -> Arc<Self> {
        let duplicates = Arc::new(Self {
            ground: deps.ground,
            jobs: deps.jobs,
            hub: deps.hub,
            stock: deps.stock,
            trash: deps.trash,
            turn: Mutex::default(),
            places: Arc::default(),
            repairing: Mutex::default(),
            stopping: CancellationToken::new(),
        });
        duplicates.jobs.register(detect::job_type(&duplicates));
        duplicates
    }

    /// Tells a plan that is being carried out to end after its present file.
    pub fn stop(&self) {
        self.stopping.cancel();
    }

    /// Waits until no plan is being carried out.
    pub async fn wait_for_plan(&self) {
        drop(self.turn.lock().await);
    }

    /// Checks permissions of the caller as they are now.
    async fn judge(&self, caller: Caller<'_>, needed: &[Permission]) -> Result<(), DuplicatesError> {
        let ground = &self.ground;
        let judged = judge_alone(&*ground.acting, &ground.db, caller.principal, needed);
        Ok(judged.await.map(drop)?)
    }

    /// Adds an audit row for a change by a judged caller.
    async fn audit(
        &self,
        tx: &mut Tx,
        caller: Caller<'_>,
        (action, object_type, object_id): (&'static str, &'static str, Option<String>),
        result: AuditResult,
        metadata: Value,
    ) -> Result<(), DuplicatesError> {
        let entry = AuditEntry {
            object_type: Some(object_type),
            object_id,
            metadata: Some(metadata),
            result,
            user_id: Some(caller.principal.user_id.to_string()),
            action,
            client: Some(caller.client),
        };
        Ok(self.ground.audit.record(tx, entry).await?)
    }

    /// Sends a realtime message to everybody who may see the libraries.
    fn tell(&self, event: &'static str, message: &Value) {
        self.hub.emit_json(Room::Perm(VIEW), event, message);
    }
}
