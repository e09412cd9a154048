//! Job that deletes the files of items, and stops or deletes their torrents if the order says so.
//!
//! A file is deleted before its item: a server that was killed in between goes on with the item, whose file is gone.

use std::collections::{BTreeSet, HashSet};
use std::path::Path;
use std::sync::{Arc, Weak};

use async_trait::async_trait;
use qm_jobs::{Done, JobContext, JobError, JobHandler, JobType};
use qm_kernel::Permission;
use qm_media::LibraryError;
use qm_media::lanes::CHANGES;
use qm_media::model::bulk::{Erasure, TorrentAction};
use qm_media::ops::guard::guarded;
use qm_media::repo;
use qm_media::service::jobs::{self, Standing, in_service, stopped};
use qm_media_names::place;
use qm_ports::action::TorrentRef;
use qm_ports::{Removal, TorrentPayload};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::Orders;
use super::whereabouts::Whereabouts;
use crate::ops::erase::{Eraser, describe_errno, identities};

/// Type of the jobs.
pub const TYPE: &str = "media.media_delete_files";
/// Most torrents of one order.
const MOST_TORRENTS: usize = 500;

/// Permissions that the caller of an order needs.
pub fn needed(torrents: TorrentAction) -> Vec<Permission> {
    let also = match torrents {
        TorrentAction::Keep => None,
        TorrentAction::Stop => Some(Permission::TorrentsDelete),
        TorrentAction::StopAndDelete => Some(Permission::TorrentsDeleteData),
    };
    std::iter::once(Permission::MediaManagerDeleteFiles)
        .chain(also)
        .collect()
}

pub fn job_type(room: &Arc<Orders>) -> JobType {
    let handler = Arc::new(Erasing(Arc::downgrade(room)));
    jobs::job_type(TYPE, "jobs.type.media.media_delete_files", handler)
}

struct Erasing(Weak<Orders>);

/// A torrent that is stopped or deleted once the files are gone.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Source {
    engine: String,
    hash: String,
    /// True if a file that stays is also data of the torrent.
    shared: bool,
}

impl Source {
    fn torrent(&self) -> TorrentRef {
        TorrentRef {
            engine_id: self.engine.clone(),
            hash: self.hash.clone(),
        }
    }
}

/// Progress of the order, stored as the checkpoint of its job.
#[derive(Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct State {
    #[serde(flatten)]
    standing: Standing,
    removed_files: u64,
    /// Torrents of the files, found before anything is deleted.
    torrents: Option<Vec<Source>>,
    handled: usize,
    torrents_failed: usize,
}

#[async_trait]
impl JobHandler for Erasing {
    async fn run(&self, job: &JobContext) -> Result<Done, JobError> {
        let room = in_service(&self.0)?;
        let action = job.input()["torrentAction"]
            .as_str()
            .and_then(TorrentAction::from_word);
        let manner = Erasure {
            torrents: action.unwrap_or_default(),
            keep_shared: job.input()["keepShared"] == true,
        };
        room.erase_ordered(job, manner).await
    }
}

impl Orders {
    async fn erase_ordered(&self, job: &JobContext, manner: Erasure) -> Result<Done, JobError> {
        let ids = jobs::ids(job);
        let action = manner.torrents;
        let needed = needed(action);
        let mut state: State = jobs::saved(job);
        self.rights.check_order(job, &needed).await?;
        if state.torrents.is_none() {
            // Checked again with the present torrents: nothing is deleted yet.
            self.check_torrents(&ids, manner).await?;
            state.torrents = Some(self.sources(&ids, action).await?);
            jobs::save(job, &state).await?;
        }
        let going: HashSet<String> = ids.iter().cloned().collect();
        let mut libraries = BTreeSet::new();
        for id in &ids[state.standing.done.min(ids.len())..] {
            if job.is_cancelled() {
                return Err(stopped());
            }
            self.rights.check_order(job, &needed).await?;
            let at = self.whereabouts(id).await?;
            // `None`: it was deleted with its folder, by an earlier attempt, or by somebody else.
            let became = match at {
                None => Ok(()),
                Some(at) => {
                    libraries.insert(at.library.id.clone());
                    let (removed, became) = self.erase_item(&at, &going).await?;
                    state.removed_files += removed;
                    became
                }
            };
            state.standing.note(job, id, became).await?;
            jobs::save(job, &state).await?;
            job.progress(jobs::progress(state.standing.done, ids.len()))
                .await?;
        }
        self.scanner.recount(&libraries).await?;
        self.drop_torrents(job, manner, &mut state).await?;
        let Standing {
            completed,
            failed,
            failures,
            ..
        } = state.standing;
        Ok(Done::result(json!({
            "total": ids.len(), "completed": completed, "failed": failed, "removedFiles": state.removed_files,
            "torrentAction": action.as_str(), "torrentsHandled": state.handled,
            "torrentsFailed": state.torrents_failed, "failures": failures,
        })))
    }

    /// Refuses an order that would delete data of other torrents.
    pub(super) async fn check_torrents(&self, ids: &[String], manner: Erasure) -> Result<(), LibraryError> {
        if manner.torrents != TorrentAction::StopAndDelete || manner.keep_shared {
            return Ok(());
        }
        let payloads = self.payloads_of(ids).await?;
        let checked = self.outside.payloads.check_removal(&payloads).await;
        checked.map_err(LibraryError::SharedData)
    }

    /// Torrents whose data includes files of these items.
    async fn payloads_of(&self, ids: &[String]) -> Result<Vec<TorrentPayload>, LibraryError> {
        let items = self.paths_of(ids).await?;
        let paths: Vec<&Path> = items.iter().map(|(_, path)| Path::new(path)).collect();
        let mut payloads = self.outside.payloads.touching(&paths);
        payloads.truncate(MOST_TORRENTS);
        Ok(payloads)
    }

    /// Torrents to stop or delete, found by the paths of the items.
    async fn sources(&self, ids: &[String], action: TorrentAction) -> Result<Vec<Source>, LibraryError> {
        if action == TorrentAction::Keep {
            return Ok(Vec::new());
        }
        let going: HashSet<&String> = ids.iter().collect();
        let payloads = self.payloads_of(ids).await?;
        let mut tx = self.db.begin_read().await?;
        let libraries = repo::libraries::all(&mut tx).await?;
        let mut sources = Vec::new();
        for payload in payloads {
            let data = Path::new(&payload.path);
            let mut shared = false;
            for library in &libraries {
                let root = Path::new(&library.path);
                let folder = match data.strip_prefix(root) {
                    Ok(below) => below.to_string_lossy().into_owned(),
                    Err(_) if root.starts_with(data) => String::new(),
                    Err(_) => continue,
                };
                let mut rows = repo::bulk::below(&mut tx, &library.id, &folder).await?;
                let copies = repo::copies::below(&mut tx, &library.id, &folder).await?;
                rows.extend(copies.into_iter().map(|copy| (copy.item_id, copy.place)));
                shared |= rows.iter().any(|(id, item)| {
                    let is_in = Path::new(&place::absolute(&library.path, item)).starts_with(data);
                    is_in && !going.contains(id)
                });
            }
            sources.push(Source {
                engine: payload.engine_id,
                hash: payload.hash,
                shared,
            });
        }
        Ok(sources)
    }

    /// Deletes the files of one item, and then the item. Returns the number of deleted files, and the reason if some stay.
    async fn erase_item(
        &self,
        at: &Whereabouts,
        going: &HashSet<String>,
    ) -> Result<(u64, Result<(), String>), LibraryError> {
        let folder = place::parent(&at.item.place).unwrap_or_default();
        // A file right in the library's directory has no folder of its own.
        let rows = if folder.is_empty() {
            None
        } else {
            self.all_going(at, &folder, going).await?
        };
        let (path, item) = (at.library.path.clone(), at.item.place.clone());
        let further = at.copies.iter().map(|copy| copy.place.clone());
        let further: Vec<String> = further
            .chain(at.extras.iter().map(|extra| extra.place.clone()))
            .collect();
        let (roots, own) = (self.file_roots.clone(), self.own.clone());
        let (with, half) = (rows.clone(), Some(folder.clone()));
        let erasing = CHANGES.run(move |_| {
            let mut gone = 0;
            let failed = |why: String| format!("{}: {why}", place::absolute(&path, &item));
            // The roots may have changed since the library was made.
            let is_same = guarded(&path, &roots, &own).is_ok_and(|guarded| guarded == path);
            if !is_same {
                let outside = LibraryError::Outside(roots.join(", "));
                return (gone, Err(failed(outside.to_string())), false);
            }
            let reach = match Eraser::open(Path::new(&path)) {
                Ok(reach) => reach,
                Err(errno) => {
                    return (
                        gone,
                        Err(failed(format!(
                            "the library's directory cannot be opened: {errno}"
                        ))),
                        false,
                    );
                }
            };
            let own = identities(&own);
            if let Some(rows) = with {
                let folder = place::decode(&folder);
                let files: HashSet<Vec<u8>> = rows.iter().map(|(_, item)| place::decode(item)).collect();
                match reach.is_own_folder(&folder, &files, &own) {
                    Ok(true) => {
                        // Files elsewhere, e.g. in the folder of another part, are deleted first.
                        for place in further.iter().map(|place| place::decode(place)) {
                            if !files.contains(&place) {
                                match reach.erase_file(&place) {
                                    Ok(was_there) => gone += u64::from(was_there),
                                    Err(errno) => return (gone, Err(failed(describe_errno(errno))), false),
                                }
                            }
                        }
                        let erased = reach.erase_folder(&folder, &files, &mut gone);
                        return (gone, erased.map_err(|errno| failed(describe_errno(errno))), true);
                    }
                    Ok(false) => {}
                    Err(errno) => return (gone, Err(failed(describe_errno(errno))), false),
                }
            }
            // The first file is deleted last: as long as it is there, so is the item that knows the others.
            for place in further.iter().chain([&item]) {
                match reach.erase_file(&place::decode(place)) {
                    Ok(was_there) => gone += u64::from(was_there),
                    Err(errno) => return (gone, Err(failed(describe_errno(errno))), false),
                }
            }
            (gone, Ok(()), false)
        });
        let (gone, became, is_whole) = erasing.await?;
        if became.is_ok() {
            let mut tx = self.db.begin_write().await?;
            repo::items::delete(&mut tx, &at.item.id).await?;
            for extra in &at.extras {
                repo::extras::delete(&mut tx, &extra.id).await?;
            }
            // Items whose files were deleted with the folder.
            for (id, _) in rows.into_iter().flatten().filter(|_| is_whole) {
                repo::items::delete(&mut tx, &id).await?;
            }
            if let Some(folder) = half.filter(|_| is_whole) {
                for extra in repo::extras::below(&mut tx, &at.library.id, &folder).await? {
                    if extra.is_all_in(&folder) {
                        repo::extras::delete(&mut tx, &extra.id).await?;
                    }
                }
            }
            tx.commit().await?;
        } else if let Some(folder) = half.filter(|_| is_whole) {
            // Some files may be gone although their items are not in the order: a scan corrects the index.
            let mut tx = self.db.begin_write().await?;
            self.scanner.scan_soon(&mut tx, &at.library, &[folder]).await?;
            tx.commit().await?;
        }
        Ok((gone, became))
    }

    async fn drop_torrents(
        &self,
        job: &JobContext,
        manner: Erasure,
        state: &mut State,
    ) -> Result<(), JobError> {
        let action = manner.torrents;
        let torrents = state.torrents.clone().unwrap_or_default();
        let with_data = action == TorrentAction::StopAndDelete;
        let along: Vec<TorrentRef> = torrents.iter().map(Source::torrent).collect();
        let removal = Removal {
            with_data,
            keep_shared: manner.keep_shared,
            along: &along,
        };
        for source in &torrents[(state.handled + state.torrents_failed).min(torrents.len())..] {
            if job.is_cancelled() {
                return Err(stopped());
            }
            self.rights.check_order(job, &needed(action)).await?;
            let torrent = source.torrent();
            let removed = if with_data && source.shared {
                Err("items that stay are its data too".to_owned())
            } else {
                let removed = self.outside.hands.remove(&torrent, removal).await;
                removed.map_err(|error| error.to_string())
            };
            match removed {
                Ok(()) => state.handled += 1,
                Err(why) => {
                    state.torrents_failed += 1;
                    job.warning(&format!("Torrent {} was not removed: {why}", source.hash))
                        .await?;
                }
            }
            jobs::save(job, state).await?;
        }
        Ok(())
    }
}
