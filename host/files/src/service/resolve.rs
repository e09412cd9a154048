//! Resolves conflicts, each item by itself.
//!
//! Replacing a file: it is moved to the trash, then the other one takes its place; if that fails, it comes back. So at any
//! moment the old file is at its place or in the trash with a record, and the new one at its old place or its new. What
//! cannot be renamed into place is copied beside it before. Only when all is done, and only if asked for, does the old one
//! go for good.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use serde_json::json;

use super::Files;
use super::conflicts::destination;
use super::delete::{Deleted, Manner};
use super::operations::{Operation, Subject};
use super::tell::Fact;
use super::transfer::How;
use crate::dto::answers::{BatchItem, BatchResult};
use crate::dto::choices::{ResolveConflicts, ResolveItem};
use crate::dto::requests::{TransferKind, WirePath};
use crate::error::FilesError;
use crate::model::conflict::{Resolution, free_names};
use qm_confined::{Component, FsError, Intent, RelPath};
use qm_file_operations::{Lane, Staged};
use qm_kernel::Requester;

const REASON: &str = "conflict_resolution";

impl TransferKind {
    const fn resolved_as(self) -> &'static str {
        match self {
            TransferKind::Move => "file.resolve.move",
            TransferKind::Copy => "file.resolve.copy",
        }
    }
}

impl Files {
    pub async fn resolve_conflicts(
        &self,
        caller: &Requester,
        body: ResolveConflicts,
    ) -> Result<BatchResult, FilesError> {
        let directory = body.destination.rel()?;
        let place = directory.clone();
        self.on_disk(Lane::Quick, move |base| destination(base, &place).map(drop))
            .await?;
        let subject = Subject {
            operation: body.operation.as_str(),
            source: None,
            destination: Some(directory.text()),
        };
        let operation = self.operations.begin(caller, subject).await?;
        let mut results = Vec::with_capacity(body.items.len());
        for item in &body.items {
            let done = self
                .resolve_item(caller, &body, &directory, item, &operation)
                .await;
            results.push(BatchItem {
                path: item.source.as_given().to_owned(),
                ok: done.is_ok(),
                message: Some(done.unwrap_or_else(|error| error.public())),
            });
        }
        let result = BatchResult::new(body.operation.as_str(), results);
        let resolutions: Vec<&str> = body.items.iter().map(|item| item.resolution.as_str()).collect();
        let metadata = json!({
            "total": result.total,
            "succeeded": result.succeeded,
            "failed": result.failed,
            "permanent": body.permanent,
            "resolutions": resolutions,
        });
        let fact = Fact::general(body.operation.resolved_as(), metadata).failure_if(result.failed > 0);
        self.audit_alone(caller, fact, None).await;
        operation.end_batch(&result.outcome(0));
        Ok(result)
    }

    /// Resolves one conflict; returns a sentence that tells the result.
    async fn resolve_item(
        &self,
        caller: &Requester,
        body: &ResolveConflicts,
        directory: &RelPath,
        item: &ResolveItem,
        operation: &Operation,
    ) -> Result<String, FilesError> {
        if operation.is_cancelled() {
            return Err(FsError::Cancelled.into());
        }
        match item.resolution {
            Resolution::Skip => Ok("skipped".to_owned()),
            Resolution::DeleteSource => {
                let manner = Manner {
                    permanent: body.permanent,
                    reason: Some(REASON),
                    ..Manner::default()
                };
                let deleted = self.delete_item(caller, &item.source, manner, operation).await?;
                if let Some(id) = &deleted.record {
                    self.trash_changed("added", id);
                }
                Ok("source deleted".to_owned())
            }
            Resolution::Replace => {
                let target = item.target_path.as_ref().ok_or(FilesError::NoTarget)?;
                self.replace(caller, body, directory, (&item.source, target), operation)
                    .await?;
                Ok("replaced".to_owned())
            }
            Resolution::KeepBoth => {
                let kept = self.keep_both(caller, body, &item.source, operation).await?;
                Ok(format!("kept both as {kept}"))
            }
        }
    }

    async fn replace(
        &self,
        caller: &Requester,
        body: &ResolveConflicts,
        directory: &RelPath,
        (source, target): (&WirePath, &WirePath),
        operation: &Operation,
    ) -> Result<(), FilesError> {
        let (target, source_rel) = (target.rel()?, source.rel()?);
        if target.parent().as_ref() != Some(directory) || target == source_rel {
            return Err(FilesError::StrayTarget);
        }
        // Nothing is disposed of for a source that is not there.
        let old = self
            .on_disk(Lane::Quick, move |base| {
                base.resolve(&source_rel, Intent::Change)?;
                let item = base.resolve(&target, Intent::Change)?;
                if item.meta()?.is_dir() {
                    return Err(FilesError::StrayTarget);
                }
                Ok(item)
            })
            .await?;
        // What cannot be renamed is copied first: the old one is there until the new one is.
        let staged = self
            .stage(
                caller,
                body.operation,
                source,
                &body.destination,
                old.absolute(),
                operation,
            )
            .await?;
        let manner = Manner {
            reason: Some(REASON),
            ..Manner::default()
        };
        let record = match self.delete_resolved(caller, old, manner, operation).await {
            Ok(Deleted { record, .. }) => record,
            Err(error) => {
                self.abandon(staged).await;
                return Err(error);
            }
        };
        let moved = match staged {
            Some(staged) => self.put_staged(caller, body.operation, staged, operation).await,
            None => {
                let (kind, how) = (body.operation, How::default());
                self.transfer_item(caller, kind, source, &body.destination, how, operation)
                    .await
            }
        };
        let Some(id) = record else {
            return moved.map(drop);
        };
        match moved {
            Err(error) => {
                self.put_back(caller, &id).await;
                Err(error)
            }
            Ok(_) if body.permanent => self.purge_record(caller, &id, Some(REASON)).await,
            Ok(_) => {
                self.trash_changed("added", &id);
                Ok(())
            }
        }
    }

    /// Removes a copy that was made in vain.
    async fn abandon(&self, staged: Option<Staged>) {
        let removed = self.workers.run(Lane::Long, move || {
            drop(staged);
            Ok::<_, FsError>(())
        });
        if let Err(error) = removed.await {
            tracing::warn!(%error, "a copy that is not needed after all stays until the next sweep");
        }
    }

    /// After a replacement that failed. If it cannot come back either, it stays in the trash.
    async fn put_back(&self, caller: &Requester, id: &str) {
        if let Err(error) = self.restore_record(caller, id, false).await {
            tracing::warn!(id, %error, "a file that was not replaced after all stays in the trash");
            self.trash_changed("added", id);
        }
    }

    /// Transfers under the first name that is free; answers it.
    async fn keep_both(
        &self,
        caller: &Requester,
        body: &ResolveConflicts,
        source: &WirePath,
        operation: &Operation,
    ) -> Result<String, FilesError> {
        let rel = source.rel()?;
        let own = rel.name().ok_or(FsError::InvalidPath)?;
        let others = free_names(own.as_bytes());
        let others = others.filter_map(|name| Component::new(OsStr::from_bytes(&name)));
        let directory = body.destination.rel()?;
        for name in std::iter::once(own.clone()).chain(others) {
            if self.is_taken(directory.join(&name)).await? {
                continue;
            }
            let how = How {
                name: Some(name),
                ..How::default()
            };
            match self
                .transfer_item(caller, body.operation, source, &body.destination, how, operation)
                .await
            {
                // Somebody took it in between.
                Err(FilesError::Fs(FsError::Exists | FsError::DestinationExists)) => {}
                other => {
                    let rel = other?.rel;
                    return Ok(rel.name().map(Component::text).unwrap_or_default());
                }
            }
        }
        Err(FilesError::NoFreeName(own.text()))
    }

    async fn is_taken(&self, rel: RelPath) -> Result<bool, FilesError> {
        self.on_disk(Lane::Quick, move |base| {
            match base.resolve(&rel, Intent::Change) {
                Err(FsError::NotFound(_)) => Ok(false),
                Ok(_) | Err(_) => Ok(true),
            }
        })
        .await
    }
}
