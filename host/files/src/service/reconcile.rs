//! Repair at start-up of deletes and restores that a crash left unfinished.
//!
//! A record without its item goes: the item is at its old place, or was on its way out. A pending record whose item has
//! arrived becomes an ordinary one, with the audit row that was not written. An item without a record (a database restored
//! from an older copy) gets one that would put it back into the root under its own name; it is looked for in the hard roots, the Default Root
//! Path and every root a record names. Nothing is concluded from a disk that is not there.

use std::collections::{BTreeSet, HashSet};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use qm_platform::AuditEntry;
use serde_json::json;

use super::Files;
use crate::error::FilesError;
use crate::repo;
use crate::repo::trash::TrashRecord;
use qm_confined::{FsError, Meta};
use qm_file_operations::{self as ops, Lane};
use qm_kernel::as_error;

/// Time for which a start waits until all is settled; a hung disk does not hold the start up for longer.
const PATIENCE: Duration = Duration::from_secs(5);
/// Between id and name of an item in the trash.
const SEPARATOR: &str = "__";

impl Files {
    /// Repairs the trash. Call it once, before the first request; a long repair continues in the background.
    pub async fn recover(self: &Arc<Self>) -> Result<(), FilesError> {
        let mut tx = self.db.begin_read().await?;
        // Only the records of now: those that requests add later need no repair.
        let records = repo::trash::every(&mut tx).await?;
        drop(tx);
        let files = Arc::clone(self);
        let work = tokio::spawn(async move { files.reconcile(records).await });
        if tokio::time::timeout(PATIENCE, work).await.is_err() {
            tracing::warn!("the trash is still being checked; its list may be incomplete until then");
        }
        Ok(())
    }

    async fn reconcile(&self, records: Vec<TrashRecord>) {
        for record in &records {
            if let Err(error) = self.reconcile_record(record).await {
                let (id, error) = (&record.id, as_error(&error));
                tracing::warn!(id, error, "a trash record could not be checked and stays");
            }
        }
        if let Err(error) = self.adopt_strays(&records).await {
            let error = as_error(&error);
            tracing::warn!(error, "the trash was not searched for items without a record");
        }
    }

    async fn reconcile_record(&self, record: &TrashRecord) -> Result<(), FilesError> {
        let roots = self.roots.clone();
        let (root, path) = (record.storage_root.clone(), record.trash_path.clone());
        let found = self
            .workers
            .run(Lane::Quick, move || roots.trashed(&root, &path))
            .await;
        match found {
            Ok(_) if record.pending => self.settle_late(record).await,
            Ok(_) => Ok(()),
            Err(FsError::NotFound(_)) => {
                tracing::info!(
                    id = record.id,
                    name = record.name,
                    "a trash record without its item was dropped"
                );
                self.drop_record(&record.id).await
            }
            // Its trash was never made, so nothing was moved there; or its disk is not there, so nothing is known.
            Err(other) => Err(other.into()),
        }
    }

    /// The item had arrived; what was to be written and told with it is so now, in the name of who deleted it.
    async fn settle_late(&self, record: &TrashRecord) -> Result<(), FilesError> {
        let entry = AuditEntry {
            user_id: record.deleted_by.clone(),
            action: "file.deleted",
            object_type: Some("file"),
            object_id: Some(record.original_path.clone()),
            metadata: Some(json!({
                "mode": "trash",
                "isDirectory": record.is_directory,
                "bytes": record.size,
                "recovered": true,
            })),
            ..AuditEntry::default()
        };
        let root = record.storage_root.trim_end_matches('/');
        let place = format!("{root}{}", record.original_path);
        let mut tx = self.db.begin_write().await?;
        repo::trash::settle(&mut tx, &record.id, record.size)
            .await?
            .exactly(1)?;
        self.audit.record(&mut tx, entry).await?;
        tx.publish(self.deleted(None, Path::new(&place)));
        tx.commit().await?;
        tracing::info!(
            id = record.id,
            name = record.name,
            "an interrupted delete was finished"
        );
        Ok(())
    }

    async fn adopt_strays(&self, records: &[TrashRecord]) -> Result<(), FilesError> {
        let roots = self.roots.clone();
        let mut named: BTreeSet<String> = records.iter().map(|record| record.storage_root.clone()).collect();
        let found = self
            .on_disk(Lane::Quick, move |base| {
                named.extend(base.paths());
                Ok(ops::stray(&roots, &named))
            })
            .await?;
        // Read after the disk: an item that a request trashed meanwhile has its record already.
        let mut tx = self.db.begin_read().await?;
        let records = repo::trash::every(&mut tx).await?;
        drop(tx);
        let paths: HashSet<&str> = records.iter().map(|record| record.trash_path.as_str()).collect();
        let ids: HashSet<&str> = records.iter().map(|record| record.id.as_str()).collect();
        for (storage_root, trash_path) in found {
            if paths.contains(trash_path.as_str()) {
                continue;
            }
            let entry = trash_path.rsplit('/').next().unwrap_or_default();
            let Some((id, name)) = entry.split_once(SEPARATOR) else {
                continue;
            };
            let id = if id.len() == 36 && !ids.contains(id) {
                id.to_owned()
            } else {
                self.ctx.id()
            };
            self.adopt(id, name.to_owned(), storage_root, trash_path).await?;
        }
        Ok(())
    }

    async fn adopt(
        &self,
        id: String,
        name: String,
        storage_root: String,
        trash_path: String,
    ) -> Result<(), FilesError> {
        let roots = self.roots.clone();
        let (root, path) = (storage_root.clone(), trash_path.clone());
        let found = self
            .workers
            .run(Lane::Quick, move || {
                let item = roots.trashed(&root, &path)?;
                let stat = item.trash.stat(&item.name);
                stat.map(|stat| Meta::from_stat(&stat))
                    .map_err(|errno| FsError::os(errno, &path))
            })
            .await;
        let meta = match found {
            Ok(meta) => meta,
            // Somebody removed it in between.
            Err(FsError::NotFound(_)) => return Ok(()),
            Err(other) => return Err(other.into()),
        };
        let record = TrashRecord {
            original_path: format!("/{name}"),
            original_raw: None,
            is_directory: meta.is_dir(),
            size: if meta.is_dir() { 0 } else { meta.size },
            deleted_by: None,
            deleted_at: self.ctx.now(),
            pending: false,
            id,
            storage_root,
            name,
            trash_path,
        };
        let mut tx = self.db.begin_write().await?;
        repo::trash::insert(&mut tx, &record).await?;
        tx.commit().await?;
        tracing::info!(
            id = record.id,
            name = record.name,
            "an item of the trash without a record was given one"
        );
        Ok(())
    }
}
