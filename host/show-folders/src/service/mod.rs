//! Use cases of this area.

mod families;
mod merge;
mod preview;
mod settle;
mod step;
mod upkeep;

use std::sync::Arc;

use qm_confined::Roots;
use qm_db::Tx;
use qm_file_operations::Control;
use qm_kernel::{Caller, Permission};
use qm_lanes::Cancel;
use qm_platform::{AuditEntry, AuditResult, Ground, judge_alone};
use qm_ports::folders::{FolderShow, ShowFolders};
use qm_ports::media_server::MediaServers;
use qm_ports::trash::FileTrash;
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use tokio::sync::{Mutex, Semaphore};
use tokio_util::sync::CancellationToken;

use crate::error::MergeError;
use crate::lanes::WALKS;
use crate::model::{Contents, MOST_FILES};
use crate::ops::walk;

pub use families::{Listed, Member};
pub use preview::Wish;

/// Permission of whoever looks at families and plans.
pub const VIEW: Permission = Permission::MediaManagerView;
/// Permissions of whoever merges folders.
pub const MERGE: [Permission; 2] = [Permission::MediaManagerRename, Permission::MediaManagerDelete];

/// Files looked at in one go.
const LOOKS: usize = 200;
/// Most merges that are carried out, or wait for their turn, at once.
const MOST_MERGES: usize = 16;

/// Kind of a show in the audit trail.
const OBJECT: &str = "media_show";

/// Parts of the server that this area works with.
pub struct FoldersDeps {
    pub ground: Ground,
    /// Storage roots; folders elsewhere are not looked at.
    pub roots: Roots,
    /// Shows of the libraries.
    pub shows: Arc<dyn ShowFolders>,
    /// The file manager, which moves files and has the trash.
    pub trash: Arc<dyn FileTrash>,
    pub servers: Arc<dyn MediaServers>,
}

/// Folders of shows.
pub struct Folders {
    ground: Ground,
    roots: Roots,
    shows: Arc<dyn ShowFolders>,
    trash: Arc<dyn FileTrash>,
    servers: Arc<dyn MediaServers>,
    /// Lock held while a plan is carried out: one at a time, at most [`MOST_MERGES`] with those that wait.
    turn: Mutex<()>,
    /// Places of merges that are carried out or wait for that.
    places: Arc<Semaphore>,
    /// Cancelled when the server stops.
    stopping: CancellationToken,
}

impl Folders {
    pub fn new(deps: FoldersDeps) -> Arc<Self> {
        Arc::new(Self {
            ground: deps.ground,
            roots: deps.roots,
            shows: deps.shows,
            trash: deps.trash,
            servers: deps.servers,
            turn: Mutex::default(),
            places: Arc::new(Semaphore::new(MOST_MERGES)),
            stopping: CancellationToken::new(),
        })
    }

    /// Tells a merge to end after its present step.
    pub fn stop(&self) {
        self.stopping.cancel();
    }

    /// Waits until no merge is being carried out.
    pub async fn wait_for_merge(&self) {
        drop(self.turn.lock().await);
    }

    /// Checks permissions of the caller as they are now.
    async fn judge(&self, caller: Caller<'_>, needed: &[Permission]) -> Result<(), MergeError> {
        let ground = &self.ground;
        let judged = judge_alone(&*ground.acting, &ground.db, caller.principal, needed);
        Ok(judged.await.map(drop)?)
    }

    /// Adds an audit row for a change by a judged caller.
    async fn audit(
        &self,
        tx: &mut Tx,
        caller: Caller<'_>,
        (action, show_id): (&'static str, &str),
        result: AuditResult,
        metadata: Value,
    ) -> Result<(), MergeError> {
        let entry = AuditEntry {
            object_type: Some(OBJECT),
            object_id: Some(show_id.to_owned()),
            metadata: Some(metadata),
            result,
            user_id: Some(caller.principal.user_id.to_string()),
            action,
            client: Some(caller.client),
        };
        Ok(self.ground.audit.record(tx, entry).await?)
    }

    /// Walks the folders of shows, each with its result, off the async threads; ends when nobody waits for it any more.
    ///
    /// # Errors
    /// When they hold more than [`MOST_FILES`] files together.
    async fn walk_each(
        &self,
        user: &str,
        shows: Vec<FolderShow>,
    ) -> Result<Vec<(FolderShow, Result<Contents, MergeError>)>, MergeError> {
        let (roots, token) = (self.roots.clone(), self.stopping.child_token());
        let _guard = token.clone().drop_guard();
        let walking = WALKS.run_for(Some(user.into()), move |_: Cancel| {
            let control = Control::quiet(token);
            let (mut walked, mut left) = (Vec::with_capacity(shows.len()), MOST_FILES);
            for show in shows {
                let contents = walk(&roots, &show.path, left, &control);
                match &contents {
                    Err(MergeError::TooManyFiles) => return Err(MergeError::TooManyFiles),
                    Err(_) => {}
                    Ok(contents) => left = left.saturating_sub(contents.count_all()),
                }
                walked.push((show, contents));
            }
            Ok(walked)
        });
        walking.await?
    }
}

/// Digest of the paths and sizes of all files in folders, in their order.
fn fingerprint<'a>(folders: impl Iterator<Item = &'a Contents>) -> String {
    let mut digest = Sha256::new();
    let mut add = |text: &str, number: u64| {
        digest.update((text.len() as u64).to_le_bytes());
        digest.update(text.as_bytes());
        digest.update(number.to_le_bytes());
    };
    for folder in folders {
        add(&folder.path, folder.files.len() as u64);
        for file in &folder.files {
            add(&file.below, file.state.size);
        }
        for path in folder.odd.iter().chain(&folder.unread) {
            add(path, 0);
        }
    }
    hex::encode(digest.finalize())
}
