//! Torrents whose files a run moves: found before, and treated as the setting says afterwards.

use std::path::{Path, PathBuf};

use qm_kernel::Requester;
use qm_ports::{Removal, TorrentPayload};
use serde_json::{Value, json};

use super::Rename;
use crate::error::RenameError;
use crate::model::Seeding;
use crate::model::request::Given;
use crate::model::run::{Outcome, Task};

/// Most torrents that an error names.
const NAMED: usize = 5;

/// A torrent that was removed, with its moved files, for the audit.
pub(super) struct Removed {
    pub payload: TorrentPayload,
    pub paths: Vec<String>,
}

impl Rename {
    /// Torrents whose data includes one of these files.
    pub(super) fn find_users(&self, files: &[&Path]) -> Vec<TorrentPayload> {
        let mut sorted = files.to_vec();
        sorted.sort_unstable();
        let mut found = self.payloads.touching(files);
        found.retain(|payload| holds_one(payload, &sorted));
        found
    }

    /// Refuses to move data of a torrent that others use as well.
    pub(super) fn check_shared(&self, tasks: &[Task], given: Option<&Given>) -> Result<(), RenameError> {
        let Some(given) = given else { return Ok(()) };
        let files: Vec<&Path> = tasks.iter().map(|task| &*task.step.source).collect();
        let others = self
            .find_users(&files)
            .into_iter()
            .filter(|payload| !given.matches(payload));
        let names: Vec<String> = others.map(|payload| payload.name).take(NAMED).collect();
        if names.is_empty() {
            return Ok(());
        }
        Err(RenameError::SharedData(names.join(", ")))
    }

    /// Treats the torrents whose files have moved, and answers those that were removed.
    pub(super) async fn treat_torrents(
        &self,
        requester: &Requester,
        library: &str,
        given: Option<&Given>,
        outcome: &mut Outcome,
    ) -> Result<Vec<Removed>, RenameError> {
        let policy = self.find_seeding().await?;
        if policy == Seeding::Ignore || outcome.moved.is_empty() {
            return Ok(Vec::new());
        }
        let files: Vec<PathBuf> = outcome.moved.iter().map(|(from, _)| from.clone()).collect();
        let mut sorted: Vec<&Path> = files.iter().map(PathBuf::as_path).collect();
        sorted.sort_unstable();
        let mut found = self.payloads.touching(&sorted);
        found.retain(|payload| {
            holds_one(payload, &sorted) || given.is_some_and(|given| given.matches(payload))
        });
        let shelf = self.shelves.find_shelf_around(library).await?;
        let removes = policy == Seeding::Remove
            && shelf.is_some_and(|shelf| shelf.auto_organize)
            && self.may_remove_torrents(requester).await;
        let mut removed = Vec::new();
        for payload in found {
            let removal = Removal {
                with_data: false,
                keep_shared: true,
                along: &[],
            };
            if removes {
                match self.payloads.remove(&payload, removal, requester.caller()).await {
                    Ok(()) => {
                        outcome.torrents_removed += 1;
                        let paths = sorted.iter().filter(|file| file.starts_with(&payload.path));
                        removed.push(Removed {
                            paths: paths
                                .take(100)
                                .map(|path| path.to_string_lossy().into_owned())
                                .collect(),
                            payload,
                        });
                        continue;
                    }
                    Err(error) => tracing::warn!(
                        torrent = payload.hash,
                        error,
                        "a torrent whose files were renamed could not be removed"
                    ),
                }
            }
            outcome.torrents_orphaned += 1;
        }
        Ok(removed)
    }

    /// Separates files that may be deleted from those that a torrent uses, which are named.
    pub(super) fn spare_used(
        &self,
        tasks: Vec<Task>,
        removed: &[Removed],
        outcome: &mut Outcome,
    ) -> Vec<Task> {
        use crate::model::run::Status;
        if tasks.is_empty() {
            return tasks;
        }
        let files: Vec<&Path> = tasks.iter().map(|task| &*task.step.source).collect();
        let mut users = self.payloads.touching(&files);
        let is_gone = |payload: &TorrentPayload| {
            removed
                .iter()
                .any(|one| one.payload.torrent() == payload.torrent())
        };
        users.retain(|payload| !is_gone(payload));
        let (mut free, mut used) = (Vec::new(), Vec::new());
        for task in tasks {
            let user = users
                .iter()
                .find(|payload| task.step.source.starts_with(&payload.path));
            match user {
                Some(user) => used.push((task, user.name.clone())),
                None => free.push(task),
            }
        }
        for (task, name) in used {
            outcome.note(&task.step, Status::Skipped, format!("the torrent {name} uses it"));
        }
        free
    }
}

/// True if the data of a torrent includes one of the files, which are sorted.
fn holds_one(payload: &TorrentPayload, sorted: &[&Path]) -> bool {
    let data = Path::new(&payload.path);
    let at = sorted.partition_point(|file| *file < data);
    sorted.get(at).is_some_and(|file| file.starts_with(data))
}

impl Removed {
    /// Object and metadata of the audit row.
    pub fn into_audit(self) -> (String, Value) {
        let metadata = json!({
            "reason": "media.rename", "name": self.payload.name, "engineId": self.payload.engine_id, "paths": self.paths,
        });
        (self.payload.hash, metadata)
    }
}
