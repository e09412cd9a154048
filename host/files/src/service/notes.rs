//! Places in which operations make temporaries, noted in the database; and the sweep of those that a killed process noted.
//!
//! The sweep looks where a note says and nowhere else: the trees below the roots may be huge, the disks slow. Notes of this
//! process are in use and left alone.
//! Bounds: a note whose disk does not come back is kept for [`KEEP_MS`].

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard};

use qm_db::{Db, DbError};
use qm_kernel::{Ctx, as_error};
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::Files;
use crate::error::FilesError;
use crate::repo;
use crate::repo::notes::Note;
use qm_confined::{FsError, Place, RelPath};
use qm_file_operations::{self as ops, Control, Lane, Notes, Swept};
use qm_lanes::IgnorePoison;

const KEEP_MS: i64 = 90 * 24 * 3600 * 1000;

/// The notes of this process.
pub struct Journal {
    db: Db,
    ctx: Ctx,
    /// Ids of notes that stand. A note is here before it is in the database, and until it is gone from there.
    standing: Arc<Mutex<HashSet<String>>>,
}

impl Journal {
    pub fn new(db: Db, ctx: Ctx) -> Arc<Self> {
        Arc::new(Self {
            db,
            ctx,
            standing: Arc::default(),
        })
    }

    fn standing(&self) -> MutexGuard<'_, HashSet<String>> {
        self.standing.lock().ignore_poison()
    }
}

impl Notes for Journal {
    fn write(&self, place: &Place, whole_tree: bool) -> Result<String, FsError> {
        let unnoted = || FsError::NotNoted(place.directory.text());
        let runtime = Handle::try_current().map_err(|_| unnoted())?;
        let note = Note {
            id: self.ctx.id(),
            storage_root: place.root.clone(),
            directory: place.directory.encoded(),
            whole_tree,
            noted_at: self.ctx.now(),
        };
        let id = note.id.clone();
        self.standing().insert(id.clone());
        let (done, written) = oneshot::channel();
        let db = self.db.clone();
        // Through a task: unlike waiting on the runtime itself, this ends well when the runtime is being shut down.
        runtime.spawn(async move { done.send(insert(&db, &note).await) });
        match written.blocking_recv() {
            Ok(Ok(())) => return Ok(id),
            Ok(Err(error)) => {
                let error = as_error(&error);
                tracing::warn!(error, "an operation was not begun: it could not be noted");
            }
            Err(_) => {}
        }
        self.standing().remove(&id);
        Err(unnoted())
    }

    fn close(&self, id: &str, clean: bool) {
        let runtime = match Handle::try_current() {
            Ok(runtime) if clean => runtime,
            // The next sweep looks there.
            _ => {
                self.standing().remove(id);
                return;
            }
        };
        let (db, standing, id) = (self.db.clone(), Arc::clone(&self.standing), id.to_owned());
        runtime.spawn(async move {
            if let Err(error) = remove(&db, &id).await {
                let error = as_error(&error);
                tracing::warn!(
                    error,
                    "a note of temporaries that are gone stays until the next sweep"
                );
            }
            let mut standing = standing.lock().ignore_poison();
            standing.remove(&id);
        });
    }
}

async fn insert(db: &Db, note: &Note) -> Result<(), DbError> {
    let mut tx = db.begin_write().await?;
    repo::notes::insert(&mut tx, note).await?;
    tx.commit().await
}

async fn remove(db: &Db, id: &str) -> Result<(), DbError> {
    let mut tx = db.begin_write().await?;
    // The sweep may have been quicker.
    repo::notes::remove(&mut tx, id).await?.rows();
    tx.commit().await
}

impl Files {
    /// Removes the temporaries of killed processes, where those noted them. Answers how many.
    pub async fn sweep_temporaries(&self, stop: &CancellationToken) -> Result<u64, FilesError> {
        let mut tx = self.db.begin_read().await?;
        let notes = repo::notes::list(&mut tx).await?;
        drop(tx);
        let mut removed = 0;
        for note in notes {
            if stop.is_cancelled() {
                break;
            }
            if self.journal.standing().contains(&note.id) {
                continue;
            }
            let expired = self.ctx.now().ms().saturating_sub(note.noted_at.ms()) >= KEEP_MS;
            let settled = match self.sweep_note(&note, stop).await {
                Ok(swept) => {
                    removed += swept.removed;
                    swept.settled
                }
                Err(error) => {
                    let (root, error) = (&note.storage_root, as_error(&error));
                    tracing::info!(
                        root,
                        error,
                        "unfinished copies could not be looked for; the note is kept"
                    );
                    false
                }
            };
            if settled || expired {
                remove(&self.db, &note.id).await?;
            }
        }
        if removed > 0 {
            tracing::info!(removed, "unfinished copies of an earlier run were removed");
        }
        Ok(removed)
    }

    async fn sweep_note(&self, note: &Note, stop: &CancellationToken) -> Result<Swept, FsError> {
        let place = Place {
            root: note.storage_root.clone(),
            directory: RelPath::from_raw(&note.directory)?,
        };
        let (roots, control, whole_tree) =
            (self.roots.clone(), Control::quiet(stop.clone()), note.whole_tree);
        self.workers
            .run(Lane::Long, move || {
                ops::sweep(&roots, &place, whole_tree, &control)
            })
            .await
    }
}
