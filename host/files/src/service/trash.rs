//! Trash: its list, restoring, removing for good, and the sweep of expired items.
//!
//! An item leaves the trash before its record does: a crash in between leaves a record without an item, which the next
//! start drops.

use std::sync::Arc;
use std::time::Duration;

use qm_kernel::{Requester, Timestamp, as_error};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::operations::{Operation, Outcome, Subject};
use super::tell::Fact;
use super::{Files, lane_of};
use crate::dto::answers::{Removed, Restored, TrashItem};
use crate::dto::requests::Restore;
use crate::error::FilesError;
use crate::repo;
use crate::repo::trash::TrashRecord;
use crate::settings::TRASH_RETENTION_DAYS;
use qm_confined::{FsError, RelPath, TrashedItem};
use qm_file_operations::{self as ops, Control, Lane};

const SWEEP_EVERY: Duration = Duration::from_hours(1);
const DAY_MS: f64 = 24.0 * 3600.0 * 1000.0;

/// Time for which items stay.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Retention {
    /// `None`: for ever.
    days: Option<f64>,
}

impl Retention {
    fn from_days(days: f64) -> Self {
        Self {
            days: (days > 0.0).then_some(days),
        }
    }

    pub(super) fn expiry(self, deleted_at: Timestamp) -> Option<Timestamp> {
        // The cast saturates: what lies beyond the calendar never comes.
        let stay = (self.days? * DAY_MS) as i64;
        Some(Timestamp::from_ms(deleted_at.ms().saturating_add(stay)))
    }

    /// Latest deletion time that has expired by now; `None` when items never expire.
    fn limit(self, now: Timestamp) -> Option<Timestamp> {
        let stay = (self.days? * DAY_MS) as i64;
        Some(Timestamp::from_ms(now.ms().saturating_sub(stay)))
    }
}

impl Files {
    /// Everybody's items, the latest first; those that have expired are not shown, and swept.
    pub async fn list_trash(self: &Arc<Self>) -> Result<Vec<TrashItem>, FilesError> {
        let mut tx = self.db.begin_read().await?;
        let retention = self.retention(&mut tx).await?;
        let records = repo::trash::list(&mut tx).await?;
        drop(tx);
        let now = self.ctx.now();
        let mut expired = false;
        let mut items = Vec::with_capacity(records.len());
        for record in records {
            let expires_at = retention.expiry(record.deleted_at);
            if expires_at.is_some_and(|at| at <= now) {
                expired = true;
            } else {
                items.push(TrashItem::new(record, expires_at));
            }
        }
        if expired {
            let files = Arc::clone(self);
            tokio::spawn(async move { files.sweep_and_log().await });
        }
        Ok(items)
    }

    pub async fn restore(&self, caller: &Requester, body: &Restore) -> Result<Restored, FilesError> {
        let rel = self.restore_record(caller, &body.id, body.overwrite).await?;
        self.trash_changed("restored", &body.id);
        Ok(Restored {
            path: rel.text(),
            path_raw: rel.raw(),
        })
    }

    /// Puts an item back; answers its place below its storage root.
    pub(super) async fn restore_record(
        &self,
        caller: &Requester,
        id: &str,
        overwrite: bool,
    ) -> Result<RelPath, FilesError> {
        let record = self.record(id).await?;
        let original = record.original().map_err(|_| FilesError::OriginalOutside)?;
        let item = self.trashed(&record).await?;
        let subject = Subject {
            operation: "restore",
            source: Some(record.name.clone()),
            destination: Some(original.text()),
        };
        let operation = self.operations.begin(caller, subject).await?;
        let (control, place) = (operation.control(), original.clone());
        let restored = self
            .workers
            .run(lane_of(record.is_directory), move || {
                ops::untrash(&item, &place, overwrite, &control)
            })
            .await
            .map_err(|error| match error {
                FsError::Exists | FsError::DestinationExists => FilesError::OriginalTaken,
                FsError::Outside | FsError::Escapes => FilesError::OriginalOutside,
                other => other.into(),
            });
        operation.end(&Outcome::from_result(&restored, |done| Outcome {
            bytes: Some(done.usage.bytes),
            ..Outcome::default()
        }));
        let restored = restored?;
        let fact = Fact::file("file.restore", original.text(), json!({ "bytes": record.size }));
        let mut tx = self.db.begin_write().await?;
        // Who came too late has found no item, and dropped the record already.
        repo::trash::remove(&mut tx, id).await?.rows();
        self.audit_in(&mut tx, Some(caller), fact).await?;
        tx.publish(self.moved(Some(caller), &restored.from, &restored.to));
        tx.commit().await?;
        Ok(restored.rel)
    }

    pub async fn purge(&self, caller: &Requester, id: &str) -> Result<(), FilesError> {
        self.purge_record(caller, id, None).await?;
        self.trash_changed("purged", id);
        Ok(())
    }

    /// Removes an item of the trash for good.
    pub(super) async fn purge_record(
        &self,
        caller: &Requester,
        id: &str,
        reason: Option<&'static str>,
    ) -> Result<(), FilesError> {
        let record = self.record(id).await?;
        let item = match self.trashed(&record).await {
            // Asked for by name: whoever removed the whole trash by hand gets rid of its records so. Should only its disk
            // be away, the item gets a new record at the first start that finds it.
            Err(FilesError::TrashAbsent(_)) => {
                self.drop_record(id).await?;
                return Err(FilesError::NoSuchTrashItem);
            }
            found => found?,
        };
        let control = self.quiet();
        self.purge_payload(item, record.is_directory, control).await?;
        let mut metadata = json!({ "mode": "permanent", "from": "trash", "bytes": record.size });
        if let Some(reason) = reason {
            metadata["reason"] = reason.into();
        }
        let mut tx = self.db.begin_write().await?;
        // Who came too late has found no item, and dropped the record already.
        repo::trash::remove(&mut tx, id).await?.rows();
        let fact = Fact::file("file.deleted", record.original_path, metadata);
        self.audit_in(&mut tx, Some(caller), fact).await?;
        tx.commit().await?;
        Ok(())
    }

    /// Removes everybody's items for good. What cannot be removed keeps its record.
    pub async fn empty_trash(&self, caller: &Requester) -> Result<Removed, FilesError> {
        let mut tx = self.db.begin_read().await?;
        let records = repo::trash::list(&mut tx).await?;
        drop(tx);
        let subject = Subject {
            operation: "trash_empty",
            ..Subject::default()
        };
        let operation = self.operations.begin(caller, subject).await?;
        let removed = self.purge_all(records, Some(&operation)).await;
        let metadata = json!({ "removed": removed.removed, "bytes": removed.bytes });
        self.audit_alone(caller, Fact::general("file.trash_empty", metadata), None)
            .await;
        operation.end(&Outcome {
            item_count: Some(removed.removed),
            bytes: Some(removed.bytes),
            ..Outcome::default()
        });
        self.trash_swept("emptied", removed.removed);
        Ok(removed)
    }

    /// Removes expired items of the trash; returns their count and bytes. One sweep at a time: a second one does nothing.
    pub async fn sweep_trash(&self) -> Result<Removed, FilesError> {
        let Ok(_turn) = self.sweeping.try_lock() else {
            return Ok(Removed::default());
        };
        let mut tx = self.db.begin_read().await?;
        let retention = self.retention(&mut tx).await?;
        let Some(limit) = retention.limit(self.ctx.now()) else {
            return Ok(Removed::default());
        };
        let records = repo::trash::expired(&mut tx, limit).await?;
        drop(tx);
        let removed = self.purge_all(records, None).await;
        if removed.removed > 0 {
            let metadata = json!({
                "removed": removed.removed,
                "bytes": removed.bytes,
                "retentionDays": retention.days,
            });
            let mut tx = self.db.begin_write().await?;
            self.audit_in(&mut tx, None, Fact::general("file.trash_prune", metadata))
                .await?;
            tx.commit().await?;
            self.trash_swept("pruned", removed.removed);
        }
        Ok(removed)
    }

    /// Name and interval of [`Files::upkeep_loop`].
    pub const UPKEEP: (&'static str, Duration) = ("files_trash_retention_sweep", SWEEP_EVERY);

    /// Removes temporaries of a killed process and sweeps the trash again and again; ends when `stop` is cancelled.
    pub async fn upkeep_loop(self: Arc<Self>, stop: CancellationToken) {
        let mut ticks = tokio::time::interval(SWEEP_EVERY);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        while stop.run_until_cancelled(ticks.tick()).await.is_some() {
            // Again each time: a disk that was away may be back.
            if let Err(error) = self.sweep_temporaries(&stop).await {
                let error = as_error(&error);
                tracing::warn!(error, "unfinished copies of an earlier run were not looked for");
            }
            self.sweep_and_log().await;
        }
    }

    async fn sweep_and_log(&self) {
        if let Err(error) = self.sweep_trash().await {
            let error = as_error(&error);
            tracing::warn!(error, "the trash was not swept");
        }
    }

    async fn purge_all(&self, records: Vec<TrashRecord>, operation: Option<&Operation>) -> Removed {
        let mut sum = Removed::default();
        for record in records {
            if operation.is_some_and(Operation::is_cancelled) {
                break;
            }
            let control = match operation {
                Some(operation) => operation.control(),
                None => self.quiet(),
            };
            match self.purge_quietly(&record, control).await {
                Ok(true) => {
                    sum.removed += 1;
                    sum.bytes += record.size;
                }
                Ok(false) => {}
                Err(error) => {
                    let (id, error) = (&record.id, as_error(&error));
                    tracing::warn!(id, error, "an item of the trash was not removed");
                }
            }
        }
        sum
    }

    /// Control for work without progress messages, which no user can stop.
    fn quiet(&self) -> Control {
        Control::quiet(CancellationToken::new()).noting(self.journal.clone())
    }

    /// Answers whether there was something to remove.
    async fn purge_quietly(&self, record: &TrashRecord, control: Control) -> Result<bool, FilesError> {
        match self.trashed(record).await {
            Ok(item) => self.purge_payload(item, record.is_directory, control).await?,
            // It is gone, and so is its record.
            Err(FilesError::NoSuchTrashItem) => return Ok(false),
            Err(other) => return Err(other),
        }
        self.drop_record(&record.id).await?;
        Ok(true)
    }

    async fn purge_payload(
        &self,
        item: TrashedItem,
        is_directory: bool,
        control: Control,
    ) -> Result<(), FilesError> {
        self.workers
            .run(lane_of(is_directory), move || ops::purge(&item, &control))
            .await?;
        Ok(())
    }

    /// The payload of a record. Where there is none any more, the record goes.
    async fn trashed(&self, record: &TrashRecord) -> Result<TrashedItem, FilesError> {
        let roots = self.roots.clone();
        let (root, path) = (record.storage_root.clone(), record.trash_path.clone());
        let found = self
            .workers
            .run(Lane::Quick, move || roots.trashed(&root, &path))
            .await;
        match found {
            Ok(item) => Ok(item),
            Err(FsError::NotFound(_)) => {
                self.drop_record(&record.id).await?;
                Err(FilesError::NoSuchTrashItem)
            }
            Err(FsError::Outside | FsError::InvalidPath) => Err(FilesError::RootGone),
            Err(FsError::TrashUnusable(root)) => Err(FilesError::TrashAbsent(root)),
            Err(other) => Err(other.into()),
        }
    }

    async fn record(&self, id: &str) -> Result<TrashRecord, FilesError> {
        let mut tx = self.db.begin_read().await?;
        repo::trash::find(&mut tx, id)
            .await?
            .ok_or(FilesError::NoSuchTrashItem)
    }

    pub(super) async fn drop_record(&self, id: &str) -> Result<(), FilesError> {
        let mut tx = self.db.begin_write().await?;
        // Somebody else may have been quicker.
        repo::trash::remove(&mut tx, id).await?.rows();
        tx.commit().await?;
        Ok(())
    }

    pub(super) async fn retention(&self, tx: &mut qm_db::Tx) -> Result<Retention, FilesError> {
        let days = self.settings.get(tx, &TRASH_RETENTION_DAYS).await?;
        Ok(Retention::from_days(days))
    }
}

impl TrashRecord {
    /// The path it came from, below its storage root.
    fn original(&self) -> Result<RelPath, FsError> {
        match &self.original_raw {
            Some(raw) => RelPath::from_raw(raw),
            None => RelPath::from_text(&self.original_path),
        }
    }
}

impl TrashItem {
    fn new(record: TrashRecord, expires_at: Option<Timestamp>) -> Self {
        Self {
            id: record.id,
            name: record.name,
            original_path: record.original_path,
            original_path_raw: record.original_raw,
            is_directory: record.is_directory,
            size: record.size,
            deleted_at: record.deleted_at,
            deleted_by: record.deleted_by,
            expires_at,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retention_is_counted_in_days_and_zero_is_for_ever() {
        let at = Timestamp::from_ms;
        assert_eq!(
            Retention::from_days(1.5).expiry(at(0)),
            Some(at(36 * 3600 * 1000))
        );
        assert_eq!(Retention::from_days(1.5).limit(at(36 * 3600 * 1000)), Some(at(0)));
        assert_eq!(Retention::from_days(0.0).expiry(at(0)), None);
        assert_eq!(Retention::from_days(0.0).limit(at(0)), None);
        assert_eq!(Retention::from_days(1e300).expiry(at(5)), Some(at(i64::MAX)));
    }
}
