//! Reaction to moves and deletions by other areas below a library. A change is stored for the index to follow
//! (`service::moves`), and its folder is scanned, once for several changes shortly after each other. Both are stored with
//! the consumer's position, so nothing is missed, whenever the server dies.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use qm_db::Tx;
use qm_jobs::JobsError;
use qm_media::model::library::MediaLibrary;
use qm_media::repo;
use qm_media_names::place;
use qm_platform::outbox::{ConsumeError, StoredEvent};
use serde::Deserialize;

use super::Scanner;
use super::scan::{Reason, ScanRequest, TYPE};
use crate::repo::moves;

/// Time for which changes are gathered before a scan, in milliseconds.
const GATHERS: i64 = 5_000;
/// Largest length of a job's key, in bytes: the bound of an index of PostgreSQL. A folder with a longer path is scanned once
/// an event.
const MAX_KEY: usize = 2_000;

/// Name of the consumer; it never changes.
pub const FILE_EVENTS: &str = "library.file_events";
/// Keys of the events that it receives.
pub const FILE_KEYS: &[&str] = &["file.moved", "file.deleted", "torrent.completed"];

/// Fields of an event that are read: absolute paths.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Said {
    from: Option<String>,
    to: Option<String>,
    path: Option<String>,
}

impl Scanner {
    /// Stores a move or deletion, and asks for scans of the folders in which files were moved, deleted or completed.
    pub async fn follow_event(
        self: &Arc<Self>,
        tx: &mut Tx,
        stored: &StoredEvent,
    ) -> Result<(), ConsumeError> {
        let said = Said::deserialize(&stored.event.payload)?;
        let libraries = repo::libraries::all(tx).await?;
        let gone = said.from.as_ref().or(said.path.as_ref());
        if let Some(from) = gone.filter(|path| libraries.iter().any(|library| below(library, path).is_some()))
        {
            moves::store(tx, stored.position, from, said.to.as_deref()).await?;
            let library = self.clone();
            tx.after_commit(move || library.told.notify_one());
        }
        for library in libraries.iter().filter(|library| library.is_enabled) {
            let changed = [&said.from, &said.to, &said.path];
            let mut folders: BTreeSet<Vec<String>> = BTreeSet::new();
            for path in changed.into_iter().flatten() {
                folders.extend(
                    below(library, path)
                        .and_then(|at| place::parent(&at))
                        .map(|folder| vec![folder]),
                );
            }
            // The watcher of the library saw the change too, and asks for the scan.
            if self.is_watched(&library.id) {
                folders.clear();
            }
            for places in folders {
                self.scan_soon(tx, library, &places).await.map_err(refused)?;
            }
        }
        Ok(())
    }

    /// Asks for a scan of directories of a library, together with others asked for within a few seconds.
    pub async fn scan_soon(
        &self,
        tx: &mut Tx,
        library: &MediaLibrary,
        places: &[String],
    ) -> Result<(), JobsError> {
        let asked = ScanRequest {
            library_id: &library.id,
            name: Some(&library.name),
            reason: Reason::Noticed,
            created_by: None,
            places: Some(places),
        };
        let mut job = asked.into_job();
        // The job begins after the time in which others can join it.
        let turn = self.ctx.now().ms().div_euclid(GATHERS) + 1;
        job.input["notBefore"] = (turn * GATHERS).into();
        let key = format!("{TYPE}:events:{}:{turn}:{places:?}", library.id);
        job.idempotency_key = (key.len() <= MAX_KEY).then_some(key);
        let jobs = self.jobs.clone();
        let enqueued = jobs.enqueue(tx, job).await?;
        tx.after_commit(move || jobs.announce(&enqueued));
        Ok(())
    }
}

/// Error of the consumer for an error of the jobs: an unreachable database is no fault of the event.
pub fn refused(error: JobsError) -> ConsumeError {
    match error {
        JobsError::Database(error) => ConsumeError::Database(error),
        error => ConsumeError::Failed(error.to_string()),
    }
}

/// Place of a path in a library; `None` if it lies elsewhere.
pub fn below(library: &MediaLibrary, path: &str) -> Option<String> {
    let path = Path::new(path).strip_prefix(&library.path).ok()?;
    let is_plain = path
        .components()
        .all(|part| matches!(part, std::path::Component::Normal(_)));
    let text: Vec<&[u8]> = path.iter().map(OsStr::as_bytes).collect();
    is_plain.then(|| place::encode(&text.join(&b'/')))
}
