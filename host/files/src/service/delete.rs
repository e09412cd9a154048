//! Deletes: into the trash, or for good.
//!
//! Into the trash: the record is committed as pending, the item is moved, the record is settled together with its audit
//! row. A crash before the move leaves a pending record without an item, one after it a pending record with one; the next
//! start drops the first and settles the second.

use std::path::PathBuf;
use std::sync::Arc;

use qm_ports::action::TorrentRef;
use qm_ports::{Removal, TorrentPayload};
use serde_json::{Value, json};

use super::operations::{Operation, Outcome, Subject};
use super::tell::Fact;
use super::{Files, check_torrent_action, lane_of};
use crate::dto::answers::OpResult;
use crate::dto::requests::{Delete, TorrentAction, WirePath};
use crate::error::FilesError;
use crate::repo;
use crate::repo::trash::TrashRecord;
use qm_confined::{Component, ConfinedPath, FsError, Intent, RelPath};
use qm_file_operations::{self as ops, Lane, TrashPlace, Usage};
use qm_kernel::{Requester, as_error};

const OPERATION: &str = "delete";
const ACTION: &str = "file.deleted";

/// Options of a delete.
#[derive(Clone, Copy, Default)]
pub(super) struct Manner {
    pub permanent: bool,
    pub torrents: TorrentAction,
    /// Data of those torrents that others use is kept, instead of nothing being deleted.
    pub keep_shared: bool,
    /// Reason for the audit trail, when the user did not delete the item by name.
    pub reason: Option<&'static str>,
    /// A folder goes only if nothing is in it.
    pub only_empty: bool,
}

/// The items that are gone.
pub(super) struct Deleted {
    pub rel: RelPath,
    pub bytes: u64,
    /// The record in the trash.
    pub record: Option<String>,
}

/// An item that is about to go.
struct Doomed {
    item: ConfinedPath,
    absolute: PathBuf,
    is_directory: bool,
    size: u64,
}

impl Files {
    /// Deletes an item. With `background` the answer comes at once.
    pub async fn delete(self: &Arc<Self>, caller: Requester, body: Delete) -> Result<OpResult, FilesError> {
        check_torrent_action(&caller, body.torrent_action)?;
        let subject = Subject {
            operation: OPERATION,
            source: Some(body.path.shown()),
            destination: None,
        };
        let operation = if body.background {
            self.operations.begin_apart(None, Some(&caller), subject).await?
        } else {
            self.operations.begin(&caller, subject).await?
        };
        if body.background {
            let accepted = OpResult::accepted(OPERATION, &operation);
            let files = Arc::clone(self);
            // What becomes of it is audited and told over the realtime channel.
            tokio::spawn(async move { files.delete_now(&caller, &body, operation).await });
            return Ok(accepted);
        }
        self.delete_now(&caller, &body, operation).await
    }

    async fn delete_now(
        &self,
        caller: &Requester,
        body: &Delete,
        operation: Operation,
    ) -> Result<OpResult, FilesError> {
        let manner = Manner {
            permanent: body.permanent,
            torrents: body.torrent_action,
            keep_shared: body.keep_shared,
            ..Manner::default()
        };
        let result = self.delete_item(caller, &body.path, manner, &operation).await;
        operation.end(&Outcome::from_result(&result, |deleted| Outcome {
            bytes: Some(deleted.bytes),
            ..Outcome::default()
        }));
        let deleted = result?;
        if let Some(id) = &deleted.record {
            self.trash_changed("added", id);
        }
        let message = if body.permanent {
            "permanently deleted"
        } else {
            "moved to trash"
        };
        Ok(OpResult {
            operation: OPERATION,
            ok: true,
            path: Some(deleted.rel.text()),
            path_raw: deleted.rel.raw(),
            bytes: Some(deleted.bytes),
            message: Some(message.to_owned()),
            ..OpResult::default()
        })
    }

    /// One item, audited and published, with what is to become of its torrents. Whoever calls has checked the permission
    /// to act on those.
    pub(super) async fn delete_item(
        &self,
        caller: &Requester,
        path: &WirePath,
        manner: Manner,
        operation: &Operation,
    ) -> Result<Deleted, FilesError> {
        let doomed = match self.doom(path).await {
            Ok(doomed) => doomed,
            Err(error) => {
                let fact = Fact::failed(ACTION, &path.shown(), None, &error);
                self.audit_alone(caller, fact, None).await;
                return Err(error);
            }
        };
        self.delete_doomed(caller, doomed, manner, operation).await
    }

    /// Deletes an item that is resolved already, as [`Files::delete_item`] does.
    pub(super) async fn delete_resolved(
        &self,
        caller: &Requester,
        item: ConfinedPath,
        manner: Manner,
        operation: &Operation,
    ) -> Result<Deleted, FilesError> {
        let doomed = Doomed::new(item)?;
        self.delete_doomed(caller, doomed, manner, operation).await
    }

    async fn delete_doomed(
        &self,
        caller: &Requester,
        doomed: Doomed,
        manner: Manner,
        operation: &Operation,
    ) -> Result<Deleted, FilesError> {
        let torrents = match manner.torrents {
            TorrentAction::Keep => Vec::new(),
            TorrentAction::Stop | TorrentAction::StopAndDelete => self.torrents_at(&doomed.absolute),
        };
        let shown = doomed.item.rel().text();
        // Before the item goes: their other files are to go too, and may be somebody else's.
        if manner.torrents == TorrentAction::StopAndDelete
            && !manner.keep_shared
            && let Err(why) = self.payloads.check_removal(&torrents).await
        {
            let error = FilesError::SharedData(why);
            let fact = Fact::failed(ACTION, &shown, None, &error);
            self.audit_alone(caller, fact, None).await;
            return Err(error);
        }
        let result = if manner.permanent {
            self.remove_for_good(caller, doomed, manner, operation).await
        } else {
            self.move_to_trash(caller, doomed, manner, operation).await
        };
        match result {
            Ok(deleted) => {
                self.end_torrents(caller, &torrents, manner).await;
                Ok(deleted)
            }
            Err(error) => {
                let fact = Fact::failed(ACTION, &shown, None, &error);
                self.audit_alone(caller, fact, None).await;
                Err(error)
            }
        }
    }

    async fn doom(&self, path: &WirePath) -> Result<Doomed, FilesError> {
        let rel = path.rel()?;
        self.on_disk(Lane::Quick, move |base| {
            match base.resolve(&rel, Intent::Change) {
                Ok(item) => Doomed::new(item),
                Err(FsError::NotFound(_)) => Err(FilesError::NoSuchItem),
                Err(other) => Err(other.into()),
            }
        })
        .await
    }

    async fn remove_for_good(
        &self,
        caller: &Requester,
        doomed: Doomed,
        manner: Manner,
        operation: &Operation,
    ) -> Result<Deleted, FilesError> {
        let Doomed {
            item,
            absolute,
            is_directory,
            size,
        } = doomed;
        let rel = item.rel().clone();
        let control = operation.control();
        let usage = self
            .workers
            .run(lane_of(is_directory), move || {
                if manner.only_empty && is_directory {
                    return ops::remove_empty(&item);
                }
                ops::remove(&item, &control)
            })
            .await?;
        let bytes = bytes_of(is_directory, size, usage);
        let metadata = with_reason(json!({ "mode": "permanent", "bytes": bytes }), manner.reason);
        let event = self.deleted(Some(caller), &absolute);
        self.audit_alone(caller, Fact::file(ACTION, rel.text(), metadata), Some(event))
            .await;
        Ok(Deleted {
            rel,
            bytes,
            record: None,
        })
    }

    async fn move_to_trash(
        &self,
        caller: &Requester,
        doomed: Doomed,
        manner: Manner,
        operation: &Operation,
    ) -> Result<Deleted, FilesError> {
        let Doomed {
            item,
            absolute,
            is_directory,
            size,
        } = doomed;
        let rel = item.rel().clone();
        let id = self.ctx.id();
        let place = TrashPlace::for_item(&item, &id)?;
        let record = TrashRecord {
            id: id.clone(),
            storage_root: place.storage_root.clone(),
            original_path: place.original.text(),
            original_raw: place.original.raw(),
            name: item.name().map(Component::text).unwrap_or_default(),
            trash_path: place.trash_path.clone(),
            is_directory,
            size: if is_directory { 0 } else { size },
            deleted_by: Some(caller.principal.user_id.to_string()),
            deleted_at: self.ctx.now(),
            pending: true,
        };
        let mut tx = self.db.begin_write().await?;
        repo::trash::insert(&mut tx, &record).await?;
        tx.commit().await?;
        let control = operation.control();
        let moved = self
            .workers
            .run(lane_of(is_directory), move || ops::trash(&item, &place, &control))
            .await;
        let usage = match moved {
            Ok(usage) => usage,
            // A mount below the root: what lies in the trash is whole, and what is left at the old place stays there.
            Err(error @ FsError::SourceKept { .. }) => {
                let mut tx = self.db.begin_write().await?;
                repo::trash::settle(&mut tx, &id, record.size).await?.exactly(1)?;
                tx.commit().await?;
                self.trash_changed("added", &id);
                return Err(error.into());
            }
            Err(error) => {
                self.forget_pending(&id).await;
                return Err(error.into());
            }
        };
        let bytes = bytes_of(is_directory, size, usage);
        let metadata = json!({ "mode": "trash", "isDirectory": is_directory, "bytes": bytes });
        let fact = Fact::file(ACTION, rel.text(), with_reason(metadata, manner.reason));
        // Should this fail, the item lies in the trash with its pending record, and the next start settles it.
        let mut tx = self.db.begin_write().await?;
        repo::trash::settle(&mut tx, &id, bytes).await?.exactly(1)?;
        self.audit_in(&mut tx, Some(caller), fact).await?;
        tx.publish(self.deleted(Some(caller), &absolute));
        tx.commit().await?;
        Ok(Deleted {
            rel,
            bytes,
            record: Some(id),
        })
    }

    /// Drops the record of an item that was not moved.
    async fn forget_pending(&self, id: &str) {
        let dropped = async {
            let mut tx = self.db.begin_write().await?;
            repo::trash::remove(&mut tx, id).await?.exactly(1)?;
            tx.commit().await
        };
        if let Err(error) = dropped.await {
            let error = as_error(&error);
            tracing::warn!(id, error, "a pending trash record stays until the next start");
        }
    }

    /// Removes torrents from their engines. The files are gone already: a failure is only logged.
    async fn end_torrents(&self, caller: &Requester, torrents: &[TorrentPayload], manner: Manner) {
        let along: Vec<TorrentRef> = torrents.iter().map(TorrentPayload::torrent).collect();
        let removal = Removal {
            with_data: manner.torrents == TorrentAction::StopAndDelete,
            keep_shared: manner.keep_shared,
            along: &along,
        };
        for torrent in torrents {
            let removed = self.payloads.remove(torrent, removal, caller.caller()).await;
            if let Err(error) = removed {
                tracing::warn!(
                    hash = torrent.hash,
                    error,
                    "the torrent of deleted files was not removed"
                );
            }
        }
    }
}

impl Doomed {
    fn new(item: ConfinedPath) -> Result<Self, FilesError> {
        let meta = item.meta()?;
        Ok(Self {
            absolute: item.absolute(),
            is_directory: meta.is_dir(),
            size: meta.size,
            item,
        })
    }
}

fn bytes_of(is_directory: bool, size: u64, usage: Usage) -> u64 {
    if is_directory { usage.bytes } else { size }
}

fn with_reason(mut metadata: Value, reason: Option<&'static str>) -> Value {
    if let Some(reason) = reason {
        metadata["reason"] = reason.into();
    }
    metadata
}
