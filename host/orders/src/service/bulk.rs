//! Orders about many items: their permissions, and the parts that are done at once.

use std::collections::BTreeSet;
use std::path::Path;

use qm_db::Tx;
use qm_identify::{FETCH_JOB, FETCH_NEEDS};
use qm_jobs::NewJob;
use qm_kernel::{Caller, Permission};
use qm_media::LibraryError;
use qm_media::lanes::WALKS;
use qm_media::model::bulk::{Accepted, Erasure, MOST, SourceTorrent, once};
use qm_media::model::ignored::Ignored;
use qm_media::model::library::paths;
use qm_media::ops::guard::guarded;
use qm_media::repo;
use qm_media_names::place;
use qm_platform::Actor;
use serde_json::{Value, json};

use super::{Orders, erase, relocate};
use crate::ops::erase::size;

/// A permitted order, with the items that exist.
struct Order {
    actor: Actor,
    ids: Vec<String>,
    missing: Vec<String>,
}

impl Order {
    fn accepted(self, job_id: Option<String>) -> Accepted {
        Accepted {
            job_id,
            count: self.ids.len(),
            missing: self.missing,
        }
    }
}

impl Orders {
    /// Locks items against changes, or unlocks them.
    pub async fn lock_items(
        &self,
        caller: Caller<'_>,
        ids: Vec<String>,
        locked: bool,
    ) -> Result<Accepted, LibraryError> {
        let mut tx = self.db.begin_write().await?;
        let needed = [Permission::MediaManagerEditMetadata];
        let order = self.order(&mut tx, caller, &needed, ids).await?;
        let now = self.ctx.now();
        for id in &order.ids {
            repo::bulk::lock(&mut tx, id, locked, now).await?;
        }
        let action = if locked {
            "media.bulk.lock"
        } else {
            "media.bulk.unlock"
        };
        self.note_order(&mut tx, caller, &order, action, json!({}))
            .await?;
        tx.commit().await?;
        Ok(order.accepted(None))
    }

    /// Deletes items from the index, locked ones too. Their files stay, and are ignored from then on.
    pub async fn remove_items(&self, caller: Caller<'_>, ids: Vec<String>) -> Result<Accepted, LibraryError> {
        let mut tx = self.db.begin_write().await?;
        let needed = [Permission::MediaManagerDelete];
        let order = self.order(&mut tx, caller, &needed, ids).await?;
        let lying = repo::bulk::lying(&mut tx, &order.ids).await?;
        for id in &order.ids {
            let copies = match lying.get(id) {
                Some(item) => repo::copies::lying(&mut tx, id, &item.library_id).await?,
                None => Vec::new(),
            };
            let first = lying.get(id).map(|item| (&item.library_id, item.place.clone()));
            let library = lying.get(id).map(|item| &item.library_id);
            let further = copies.into_iter().filter_map(|copy| Some((library?, copy.place)));
            for (library_id, place) in first.into_iter().chain(further) {
                // No scan finds it again.
                let ignored = Ignored {
                    id: self.ctx.ordered_id(),
                    library_id: library_id.clone(),
                    place,
                    created_at: self.ctx.now(),
                };
                repo::ignored::put(&mut tx, &ignored).await?;
            }
        }
        let libraries = lying.into_values().map(|item| item.library_id).collect();
        for id in &order.ids {
            repo::items::delete(&mut tx, id).await?;
        }
        self.note_order(&mut tx, caller, &order, "media.bulk.remove", json!({}))
            .await?;
        tx.commit().await?;
        self.scanner.recount(&libraries).await?;
        Ok(order.accepted(None))
    }

    /// Torrents whose data includes files of items.
    pub async fn source_torrents(
        &self,
        caller: Caller<'_>,
        ids: Vec<String>,
    ) -> Result<Vec<SourceTorrent>, LibraryError> {
        let mut tx = self.db.begin_write().await?;
        self.rights
            .judge(&mut tx, caller, Permission::MediaManagerDeleteFiles)
            .await?;
        drop(tx);
        let ids = bounded(ids)?;
        let items = self.paths_of(&ids).await?;
        let paths: Vec<&Path> = items.iter().map(|(_, path)| Path::new(path)).collect();
        let mut found: Vec<SourceTorrent> = Vec::new();
        for payload in self.outside.payloads.touching(&paths) {
            if found.iter().any(|torrent| torrent.hash == payload.hash) {
                continue;
            }
            let data = Path::new(&payload.path);
            let touches = |path: &str| Path::new(path).starts_with(data) || data.starts_with(path);
            let item_ids = items.iter().filter(|(_, path)| touches(path));
            let item_ids: BTreeSet<&String> = item_ids.map(|(id, _)| id).collect();
            found.push(SourceTorrent {
                item_ids: item_ids.into_iter().cloned().collect(),
                hash: payload.hash,
                engine_id: payload.engine_id,
                name: payload.name,
                path: payload.path,
                state: payload.state,
                size: 0,
            });
        }
        let (roots, own) = (self.file_roots.clone(), self.own.clone());
        let measuring = WALKS.run(move |cancel| {
            for torrent in found.iter_mut().take_while(|_| !cancel.is_set()) {
                // Sizes outside of the roots are not shown.
                if let Ok(path) = guarded(&torrent.path, &roots, &own) {
                    torrent.size = size(Path::new(&path));
                }
            }
            found
        });
        Ok(measuring.await?)
    }

    /// Starts a job that deletes the files of items, and folders that hold nothing else.
    pub async fn delete_files(
        &self,
        caller: Caller<'_>,
        ids: Vec<String>,
        manner: Erasure,
    ) -> Result<Accepted, LibraryError> {
        let torrents = manner.torrents;
        let needed = erase::needed(torrents);
        // A caller without permission is refused below, and learns nothing of other torrents.
        if needed
            .iter()
            .all(|permission| caller.principal.has_permission(*permission))
        {
            self.check_torrents(&bounded(ids.clone())?, manner).await?;
        }
        let mut tx = self.db.begin_write().await?;
        let order = self.order(&mut tx, caller, &needed, ids).await?;
        let told = json!({ "torrentAction": torrents.as_str(), "keepShared": manner.keep_shared });
        self.note_order(&mut tx, caller, &order, "media.bulk.delete_files", told)
            .await?;
        let input = json!({
            "itemIds": order.ids, "torrentAction": torrents.as_str(), "keepShared": manner.keep_shared,
        });
        self.enqueue_order(tx, order, erase::TYPE, input, None).await
    }

    /// Starts a job that moves items into another library.
    pub async fn move_items(
        &self,
        caller: Caller<'_>,
        ids: Vec<String>,
        target: Option<String>,
    ) -> Result<Accepted, LibraryError> {
        let mut tx = self.db.begin_write().await?;
        let needed = [Permission::MediaManagerMoveFiles];
        let order = self.order(&mut tx, caller, &needed, ids).await?;
        let target = target.filter(|id| !id.trim().is_empty());
        let target = target.ok_or(LibraryError::NoTarget)?;
        let library = repo::libraries::find(&mut tx, &target).await?;
        let library = library.ok_or(LibraryError::NoSuchTarget)?;
        let told = json!({ "targetLibraryId": library.id });
        self.note_order(&mut tx, caller, &order, "media.bulk.move", told)
            .await?;
        let input = json!({ "itemIds": order.ids, "targetLibraryId": library.id });
        self.enqueue_order(tx, order, relocate::TYPE, input, Some(library.id))
            .await
    }

    /// Starts a job that asks providers for metadata of unlocked items.
    pub async fn fetch_items(&self, caller: Caller<'_>, ids: Vec<String>) -> Result<Accepted, LibraryError> {
        let mut tx = self.db.begin_write().await?;
        let mut order = self.order(&mut tx, caller, &[FETCH_NEEDS], ids).await?;
        let lying = repo::bulk::lying(&mut tx, &order.ids).await?;
        order
            .ids
            .retain(|id| lying.get(id).is_some_and(|item| !item.locked));
        self.note_order(&mut tx, caller, &order, "media.bulk.refresh_metadata", json!({}))
            .await?;
        let input = json!({ "itemIds": order.ids });
        self.enqueue_order(tx, order, FETCH_JOB, input, None).await
    }

    /// Checks the permissions of the caller, then the order.
    async fn order(
        &self,
        tx: &mut Tx,
        caller: Caller<'_>,
        needed: &[Permission],
        ids: Vec<String>,
    ) -> Result<Order, LibraryError> {
        let actor = self.rights.judge_all(tx, caller, needed).await?;
        let ids = bounded(ids)?;
        if ids.is_empty() {
            return Err(LibraryError::NothingSelected);
        }
        let lying = repo::bulk::lying(tx, &ids).await?;
        let (ids, missing) = ids.into_iter().partition(|id| lying.contains_key(id));
        Ok(Order { actor, ids, missing })
    }

    async fn note_order(
        &self,
        tx: &mut Tx,
        caller: Caller<'_>,
        order: &Order,
        action: &'static str,
        mut told: Value,
    ) -> Result<(), LibraryError> {
        told["itemIds"] = json!(order.ids);
        told["count"] = json!(order.ids.len());
        let mut entry = order.actor.entry(action, caller.client);
        entry.object_type = Some("media_item");
        entry.metadata = Some(told);
        Ok(self.audit.record(tx, entry).await?)
    }

    async fn enqueue_order(
        &self,
        mut tx: Tx,
        order: Order,
        type_key: &'static str,
        input: Value,
        library_id: Option<String>,
    ) -> Result<Accepted, LibraryError> {
        if order.ids.is_empty() {
            tx.commit().await?;
            return Ok(order.accepted(None));
        }
        let job = NewJob {
            created_by: Some(order.actor.user_id().to_owned()),
            input_summary: Some(json!({ "items": order.ids.len() })),
            library_id,
            ..NewJob::new(type_key, input)
        };
        let job = self.jobs.enqueue(&mut tx, job).await?;
        tx.commit().await?;
        self.jobs.announce(&job);
        Ok(order.accepted(Some(job.id().to_owned())))
    }

    /// Whole paths of the items that exist.
    pub(super) async fn paths_of(&self, ids: &[String]) -> Result<Vec<(String, String)>, LibraryError> {
        let mut tx = self.db.begin_read().await?;
        let lying = repo::bulk::lying(&mut tx, ids).await?;
        let libraries = paths(repo::libraries::all(&mut tx).await?);
        let whole = |id: &String| {
            let item = lying.get(id)?;
            let library = libraries.get(&item.library_id)?;
            Some((id.clone(), place::absolute(library, &item.place)))
        };
        let mut found: Vec<(String, String)> = ids.iter().filter_map(whole).collect();
        for (id, item) in &lying {
            let Some(library) = libraries.get(&item.library_id) else {
                continue;
            };
            let copies = repo::copies::lying(&mut tx, id, &item.library_id).await?;
            let further = copies
                .into_iter()
                .map(|copy| (id.clone(), place::absolute(library, &copy.place)));
            found.extend(further);
        }
        Ok(found)
    }
}

fn bounded(ids: Vec<String>) -> Result<Vec<String>, LibraryError> {
    let ids = once(ids);
    if ids.len() > MOST {
        return Err(LibraryError::TooManySelected(ids.len()));
    }
    Ok(ids)
}
