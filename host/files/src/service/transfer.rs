//! Moves and copies.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::json;

use super::Files;
use super::operations::{Operation, Outcome, Subject};
use super::tell::Fact;
use crate::dto::answers::OpResult;
use crate::dto::requests::{Transfer, TransferKind, WirePath};
use crate::error::FilesError;
use qm_confined::{Component, ConfinedPath, Destination, Intent, Kind};
use qm_file_operations::{self as ops, Lane, Staged, Transferred};
use qm_kernel::Requester;

/// A copy no larger than this does not wait for a place among the long operations.
const SMALL: u64 = 16 * 1024 * 1024;

/// The manner in which one item is transferred.
#[derive(Clone, Default)]
pub(super) struct How {
    pub overwrite: bool,
    pub verify: bool,
    /// Under another name than its own.
    pub name: Option<Component>,
}

struct Prepared {
    item: ConfinedPath,
    destination: Destination,
    lane: Lane<'static>,
}

impl TransferKind {
    pub(super) const fn audited_as(self) -> &'static str {
        match self {
            TransferKind::Move => "file.moved",
            TransferKind::Copy => "file.copied",
        }
    }
}

impl Files {
    /// Moves or copies an item into a directory. With `background` the answer comes at once.
    pub async fn transfer(
        self: &Arc<Self>,
        caller: Requester,
        kind: TransferKind,
        body: Transfer,
    ) -> Result<OpResult, FilesError> {
        let subject = Subject {
            operation: kind.as_str(),
            source: Some(body.source.shown()),
            destination: Some(body.destination.shown()),
        };
        let operation = if body.background {
            self.operations.begin_apart(None, Some(&caller), subject).await?
        } else {
            self.operations.begin(&caller, subject).await?
        };
        if body.background {
            let accepted = OpResult::accepted(kind.as_str(), &operation);
            let files = Arc::clone(self);
            // What becomes of it is audited and told over the realtime channel.
            tokio::spawn(async move { files.transfer_now(&caller, kind, &body, operation).await });
            return Ok(accepted);
        }
        self.transfer_now(&caller, kind, &body, operation).await
    }

    async fn transfer_now(
        &self,
        caller: &Requester,
        kind: TransferKind,
        body: &Transfer,
        operation: Operation,
    ) -> Result<OpResult, FilesError> {
        let how = How {
            overwrite: body.overwrite,
            verify: body.verify,
            name: None,
        };
        let result = self
            .transfer_item(caller, kind, &body.source, &body.destination, how, &operation)
            .await;
        operation.end(&Outcome::from_result(&result, |done| Outcome {
            item_count: Some(items(done)),
            bytes: Some(done.usage.bytes),
            ..Outcome::default()
        }));
        let done = result?;
        Ok(OpResult {
            operation: kind.as_str(),
            ok: true,
            path: Some(done.rel.text()),
            path_raw: done.rel.raw(),
            item_count: (kind == TransferKind::Copy).then_some(1),
            bytes: Some(done.usage.bytes),
            ..OpResult::default()
        })
    }

    /// Transfers one item; the change is audited and published.
    pub(super) async fn transfer_item(
        &self,
        caller: &Requester,
        kind: TransferKind,
        source: &WirePath,
        destination: &WirePath,
        how: How,
        operation: &Operation,
    ) -> Result<Transferred, FilesError> {
        let Prepared {
            item,
            destination,
            lane,
        } = self.prepare(kind, source, destination).await?;
        let shown = item.rel().text();
        let place = destination.rel().text();
        let control = operation.control();
        let done = self
            .workers
            .run(lane, move || {
                let how = ops::Transfer {
                    overwrite: how.overwrite,
                    verify: how.verify,
                    name: how.name,
                };
                match kind {
                    TransferKind::Move => ops::move_to(&item, &destination, &how, &control),
                    TransferKind::Copy => ops::copy(&item, &destination, &how, &control),
                }
            })
            .await
            .map_err(FilesError::from);
        self.tell_transfer(caller, kind, (&shown, &place), &done).await;
        done
    }

    /// Copies the item beside the entry that it will replace, when a rename cannot reach it.
    pub(super) async fn stage(
        &self,
        caller: &Requester,
        kind: TransferKind,
        source: &WirePath,
        destination: &WirePath,
        old: PathBuf,
        operation: &Operation,
    ) -> Result<Option<Staged>, FilesError> {
        let Prepared {
            item, destination, ..
        } = self.prepare(kind, source, destination).await?;
        let (shown, place) = (item.rel().text(), destination.rel().text());
        let control = operation.control();
        let staged = self
            .workers
            .run(Lane::Long, move || {
                let moving = kind == TransferKind::Move;
                if moving && !ops::must_copy(&item, &destination)? {
                    return Ok(None);
                }
                ops::stage(item, &destination, &old, moving, &control).map(Some)
            })
            .await
            .map_err(FilesError::from);
        if let Err(error) = &staged {
            let fact = Fact::failed(kind.audited_as(), &shown, Some(&place), error);
            self.audit_alone(caller, fact, None).await;
        }
        staged
    }

    /// Puts an item into place that [`stage`](Self::stage) prepared.
    pub(super) async fn put_staged(
        &self,
        caller: &Requester,
        kind: TransferKind,
        staged: Staged,
        operation: &Operation,
    ) -> Result<Transferred, FilesError> {
        let shown = staged.item().rel().text();
        let place = staged.directory().text();
        let control = operation.control();
        let put = self.workers.run(Lane::Quick, move || staged.put(&control));
        let done = put.await.map_err(FilesError::from);
        self.tell_transfer(caller, kind, (&shown, &place), &done).await;
        done
    }

    async fn tell_transfer(
        &self,
        caller: &Requester,
        kind: TransferKind,
        (shown, place): (&str, &str),
        done: &Result<Transferred, FilesError>,
    ) {
        match done {
            Ok(done) => {
                let metadata = json!({
                    "source": shown,
                    "destination": done.rel.text(),
                    "bytes": done.usage.bytes,
                    "itemCount": items(done),
                });
                let event =
                    (kind == TransferKind::Move).then(|| self.moved(Some(caller), &done.from, &done.to));
                self.audit_alone(caller, Fact::file(kind.audited_as(), shown, metadata), event)
                    .await;
            }
            Err(error) => {
                let fact = Fact::failed(kind.audited_as(), shown, Some(place), error);
                self.audit_alone(caller, fact, None).await;
            }
        }
    }

    async fn prepare(
        &self,
        kind: TransferKind,
        source: &WirePath,
        destination: &WirePath,
    ) -> Result<Prepared, FilesError> {
        let (source, destination) = (source.rel()?, destination.rel()?);
        self.on_disk(Lane::Quick, move |base| {
            let item = base.resolve(&source, Intent::Change)?;
            let destination = base.destination(&destination)?;
            let meta = item.meta()?;
            let device = destination.existing().identity().map(|identity| identity.device);
            let renames = kind == TransferKind::Move && device == Ok(meta.identity.device);
            let quick = meta.kind != Kind::Directory && (renames || meta.size <= SMALL);
            Ok(Prepared {
                item,
                destination,
                lane: if quick { Lane::Quick } else { Lane::Long },
            })
        })
        .await
    }
}

impl OpResult {
    /// The operation goes on; its result comes over the realtime channel.
    pub(super) fn accepted(name: &'static str, operation: &Operation) -> Self {
        Self {
            operation: name,
            ok: true,
            message: Some("running in the background".to_owned()),
            operation_id: Some(operation.id().to_owned()),
            ..OpResult::default()
        }
    }
}

/// The item itself and everything in it.
fn items(done: &Transferred) -> u64 {
    done.usage.items + 1
}
