//! One operation on several items, one after the other; a failed item does not stop the others.

use serde_json::json;

use super::delete::Manner;
use super::operations::{Operation, Outcome, Subject};
use super::tell::Fact;
use super::transfer::How;
use super::{Files, check_torrent_action};
use crate::dto::answers::{BatchItem, BatchResult};
use crate::dto::requests::{Bulk, BulkOperation, TransferKind, WirePath};
use crate::error::FilesError;
use qm_confined::FsError;
use qm_kernel::Requester;

impl BulkOperation {
    const fn audited_as(self) -> &'static str {
        match self {
            BulkOperation::Move => "file.bulk.move",
            BulkOperation::Copy => "file.bulk.copy",
            BulkOperation::Delete => "file.bulk.delete",
            BulkOperation::Cleanup => "file.bulk.cleanup",
        }
    }
}

impl Files {
    pub async fn bulk(&self, caller: &Requester, body: Bulk) -> Result<BatchResult, FilesError> {
        let needed = body.operation.permission();
        if !caller.principal.has_permission(needed) {
            return Err(FilesError::MissingPermission(needed.key()));
        }
        check_torrent_action(caller, body.torrent_action)?;
        let subject = Subject {
            operation: "bulk",
            source: None,
            destination: body.destination.as_ref().map(WirePath::shown),
        };
        let operation = self.operations.begin(caller, subject).await?;
        let mut results = Vec::with_capacity(body.paths.len());
        let mut bytes = 0;
        let mut trashed = 0;
        for path in &body.paths {
            let done = self.bulk_item(caller, &body, path, &operation).await;
            if let Ok(done) = &done {
                bytes += done.bytes;
                trashed += u64::from(done.trashed);
            }
            results.push(BatchItem {
                path: path.as_given().to_owned(),
                ok: done.is_ok(),
                message: done.err().map(|error| error.public()),
            });
        }
        if trashed > 0 {
            self.trash_swept("added", trashed);
        }
        let result = BatchResult::new(body.operation.as_str(), results);
        let metadata =
            json!({ "total": result.total, "succeeded": result.succeeded, "failed": result.failed });
        let fact = Fact::general(body.operation.audited_as(), metadata).failure_if(result.failed > 0);
        self.audit_alone(caller, fact, None).await;
        operation.end_batch(&result.outcome(bytes));
        Ok(result)
    }

    async fn bulk_item(
        &self,
        caller: &Requester,
        body: &Bulk,
        path: &WirePath,
        operation: &Operation,
    ) -> Result<ItemDone, FilesError> {
        if operation.is_cancelled() {
            return Err(FsError::Cancelled.into());
        }
        let kind = match body.operation {
            BulkOperation::Move => TransferKind::Move,
            BulkOperation::Copy => TransferKind::Copy,
            BulkOperation::Delete | BulkOperation::Cleanup => {
                let manner = Manner {
                    permanent: body.permanent,
                    torrents: body.torrent_action,
                    keep_shared: body.keep_shared,
                    ..Manner::default()
                };
                let deleted = self.delete_item(caller, path, manner, operation).await?;
                return Ok(ItemDone {
                    bytes: deleted.bytes,
                    trashed: deleted.record.is_some(),
                });
            }
        };
        let destination = body
            .destination
            .as_ref()
            .ok_or(FilesError::NoDestination(kind.as_str()))?;
        let how = How {
            overwrite: body.overwrite,
            ..How::default()
        };
        let done = self
            .transfer_item(caller, kind, path, destination, how, operation)
            .await?;
        Ok(ItemDone {
            bytes: done.usage.bytes,
            trashed: false,
        })
    }
}

struct ItemDone {
    bytes: u64,
    trashed: bool,
}

impl BatchResult {
    /// Outcome for the message about the end of the batch.
    pub(super) fn outcome(&self, bytes: u64) -> Outcome {
        Outcome {
            item_count: Some(self.total as u64),
            bytes: Some(bytes),
            failure: (self.failed > 0).then(|| format!("{} of {} failed", self.failed, self.total)),
            code: None,
        }
    }
}
