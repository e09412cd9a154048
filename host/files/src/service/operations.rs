//! Operations that take long: what they are, their progress, and what is told of them over the realtime channel.
//!
//! A request waits for its operation, but the operation does not depend on the request: a caller that hangs up does not
//! stop it, `DELETE /api/files/operations/{id}` does. Each is a hosted job, whose work is done here ([`work`]): the jobs
//! list what runs, on every server, store how far it is, cancel it, and tell of an operation that a crash cut off.
//! Bounds: [`MAX_RUNNING`] operations at once; of each at most four progress messages a second, which tell
//! [`MAX_TOLD`] bytes of a path.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use qm_jobs::{Hosted, Jobs};
use qm_kernel::{Ctx, Permission, Requester, Timestamp};
use qm_lanes::IgnorePoison;
use qm_realtime::{Hub, Room};
use serde::Serialize;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

use super::{Files, work};
use crate::dto::answers::OperationView;
use crate::error::FilesError;
use qm_file_operations::{Control, Notes, Progress};

const MAX_RUNNING: usize = 256;
/// Paths are told to everybody before anybody has looked whether there can be such a path.
const MAX_TOLD: usize = 4096;
/// Shortest interval between two progress messages of one operation.
const PAUSE: Duration = Duration::from_millis(250);
/// Ground of all operations.
pub struct Operations {
    jobs: Jobs,
    places: Arc<Semaphore>,
    ctx: Ctx,
    hub: Hub,
    notes: Arc<dyn Notes>,
}

/// State that an operation shares with its job and its controls.
struct Running {
    id: String,
    subject: Subject,
    progress: Mutex<Seen>,
}

struct Seen {
    latest: Progress,
    told: Instant,
}

/// The kind of an operation and the items it works on.
#[derive(Clone, Debug, Default)]
pub struct Subject {
    pub operation: &'static str,
    pub source: Option<String>,
    pub destination: Option<String>,
}

impl Subject {
    fn bounded(mut self) -> Self {
        for path in [&mut self.source, &mut self.destination].into_iter().flatten() {
            path.truncate(path.floor_char_boundary(MAX_TOLD));
        }
        self
    }
}

/// End of an operation, for the message.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    pub item_count: Option<u64>,
    pub bytes: Option<u64>,
    /// The failure of an operation, as a sentence.
    pub failure: Option<String>,
    /// The error's code.
    pub code: Option<&'static str>,
}

/// Payload of `files.operation.*`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Report<'a> {
    operation_id: &'a str,
    operation: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    destination: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    item_count: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none", flatten)]
    progress: Option<ProgressFields>,
    at: Timestamp,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ProgressFields {
    done_items: u64,
    done_bytes: u64,
    total_items: Option<u64>,
    total_bytes: Option<u64>,
}

impl Operations {
    pub fn new(jobs: Jobs, ctx: Ctx, hub: Hub, notes: Arc<dyn Notes>) -> Arc<Self> {
        work::register(&jobs);
        Arc::new(Self {
            jobs,
            places: Arc::new(Semaphore::new(MAX_RUNNING)),
            ctx,
            hub,
            notes,
        })
    }

    /// Registers an operation that `caller` waits for, and tells that it has started.
    pub async fn begin(
        self: &Arc<Self>,
        caller: &Requester,
        subject: Subject,
    ) -> Result<Operation, FilesError> {
        self.begin_as(None, false, Some(caller), subject).await
    }

    /// Begins an operation in the background, for `caller` or for none. Its job is stored before this returns. `id`: one
    /// that was chosen before.
    pub async fn begin_apart(
        self: &Arc<Self>,
        id: Option<String>,
        caller: Option<&Requester>,
        subject: Subject,
    ) -> Result<Operation, FilesError> {
        self.begin_as(id, true, caller, subject).await
    }

    async fn begin_as(
        self: &Arc<Self>,
        id: Option<String>,
        apart: bool,
        caller: Option<&Requester>,
        subject: Subject,
    ) -> Result<Operation, FilesError> {
        let place = Arc::clone(&self.places).try_acquire_owned();
        let place = place.map_err(|_| FilesError::TooManyOperations)?;
        let subject = subject.bounded();
        let job = work::job_of(caller, &subject, id.as_deref());
        let hosted = if apart {
            self.jobs.begin_hosted(job).await?
        } else {
            self.jobs.begin_awaited(job).await?
        };
        let running = Arc::new(Running {
            id: id.unwrap_or_else(|| hosted.id().to_owned()),
            subject,
            progress: Mutex::new(Seen {
                latest: Progress::default(),
                told: Instant::now(),
            }),
        });
        let followed = Arc::clone(&running);
        hosted.follow_progress(move || work::reported(followed.seen().latest));
        let operation = Operation {
            operations: Arc::clone(self),
            running,
            cancel: hosted.cancellation(),
            hosted,
            _place: place,
        };
        operation.operations.emit(
            &operation.running,
            "files.operation.started",
            &Outcome::default(),
            None,
            None,
        );
        Ok(operation)
    }

    /// Tells all operations of this server to stop, and waits until they have.
    pub async fn stop_all(&self) {
        self.jobs.end_all_hosted(work::MODULE).await;
    }

    /// Tells all operations of this server to stop.
    pub fn cancel_all(&self) {
        self.jobs.cancel_all_hosted(work::MODULE);
    }

    /// The running operations of all servers, the oldest first.
    async fn list(&self) -> Result<Vec<OperationView>, FilesError> {
        let jobs = self.jobs.hosted_of(work::MODULE).await?;
        Ok(jobs.into_iter().filter_map(OperationView::from_job).collect())
    }
}

impl Running {
    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.progress.lock().ignore_poison()
    }
}

/// A running operation; it is over when this is dropped.
pub struct Operation {
    operations: Arc<Operations>,
    running: Arc<Running>,
    /// Fires when the operation must stop.
    cancel: CancellationToken,
    hosted: Hosted,
    _place: OwnedSemaphorePermit,
}

impl Operation {
    pub fn id(&self) -> &str {
        &self.running.id
    }

    pub fn is_cancelled(&self) -> bool {
        self.cancel.is_cancelled()
    }

    /// Control for file system work: takes its progress and cancels it. All controls of one operation count together.
    pub fn control(&self) -> Control {
        let (running, operations) = (Arc::clone(&self.running), Arc::clone(&self.operations));
        let before = running.seen().latest;
        let notes = Arc::clone(&operations.notes);
        let tell = move |progress: Progress| {
            let sum = |a: Option<u64>, b: Option<u64>| match (a, b) {
                (None, None) => None,
                (a, b) => Some(a.unwrap_or(0) + b.unwrap_or(0)),
            };
            let progress = Progress {
                items: before.items + progress.items,
                bytes: before.bytes + progress.bytes,
                total_items: sum(before.total_items, progress.total_items),
                total_bytes: sum(before.total_bytes, progress.total_bytes),
            };
            let due = {
                let mut seen = running.seen();
                seen.latest = progress;
                let due = seen.told.elapsed() >= PAUSE;
                if due {
                    seen.told = Instant::now();
                }
                due
            };
            if due {
                let fields = ProgressFields {
                    done_items: progress.items,
                    done_bytes: progress.bytes,
                    total_items: progress.total_items,
                    total_bytes: progress.total_bytes,
                };
                let event = "files.operation.progress";
                operations.emit(&running, event, &Outcome::default(), None, Some(fields));
            }
        };
        Control::new(self.cancel.clone(), Box::new(tell)).noting(notes)
    }

    /// Tells how it ended.
    pub fn end(self, outcome: &Outcome) {
        self.hosted.end(None, work::result_of(outcome));
        let (event, result) = match outcome.failure {
            None => ("files.operation.completed", "success"),
            Some(_) => ("files.operation.failed", "failure"),
        };
        self.operations
            .emit(&self.running, event, outcome, Some(result), None);
    }

    /// Tells that all of a batch has been tried, some of it perhaps in vain.
    pub fn end_batch(self, outcome: &Outcome) {
        self.hosted.end(outcome.failure.clone(), Ok(work::done(outcome)));
        let result = if outcome.failure.is_none() {
            "success"
        } else {
            "failure"
        };
        let event = "files.operation.completed";
        self.operations
            .emit(&self.running, event, outcome, Some(result), None);
    }
}

impl Operations {
    fn emit(
        &self,
        running: &Running,
        event: &'static str,
        outcome: &Outcome,
        result: Option<&str>,
        progress: Option<ProgressFields>,
    ) {
        let message = Report {
            operation_id: &running.id,
            operation: running.subject.operation,
            source: running.subject.source.as_deref(),
            destination: running.subject.destination.as_deref(),
            item_count: outcome.item_count,
            bytes: outcome.bytes,
            result,
            message: outcome.failure.as_deref(),
            progress,
            at: self.ctx.now(),
        };
        emit(&self.hub, event, &message);
    }
}

/// Sends a realtime message to all users who may see files.
pub fn emit(hub: &Hub, event: &'static str, message: &impl Serialize) {
    hub.emit_json(Room::Perm(Permission::FilesView), event, message);
}

impl Files {
    /// The running operations, the oldest first: those of this server, as far as they are now, and those of others on the
    /// same database, as far as they were when that was last stored.
    pub async fn list_operations(&self) -> Result<Vec<OperationView>, FilesError> {
        self.operations.list().await
    }

    /// Tells an operation to stop; it leaves its old state or its new one. Somebody else's needs the permission to delete
    /// files. One of another server hears of it when that next prolongs its lease.
    pub async fn cancel_operation(&self, caller: &Requester, id: &str) -> Result<(), FilesError> {
        let jobs = &self.operations.jobs;
        let found = jobs
            .find_hosted(work::MODULE, |job| work::operation_id(job) == id)
            .await?;
        let job = found.ok_or(FilesError::NoSuchOperation)?;
        let own = job.created_by.as_deref() == Some(&*caller.principal.user_id);
        if !own && !caller.principal.has_permission(Permission::FilesDelete) {
            return Err(FilesError::MissingPermission(Permission::FilesDelete.key()));
        }
        // One that has ended meanwhile has nothing to stop.
        jobs.cancel_hosted(&job.id).await?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use qm_db::{Db, db_test};
    use qm_kernel::Role;
    use qm_realtime::HubConfig;
    use qm_test_base::{NoTokens, client, principal};

    use super::*;
    use qm_confined::FsError;

    struct Nowhere;

    impl Notes for Nowhere {
        fn write(&self, _: &qm_confined::Place, _: bool) -> Result<String, qm_confined::FsError> {
            Ok(String::new())
        }

        fn close(&self, _: &str, _: bool) {}
    }

    fn operations(db: &Db) -> Arc<Operations> {
        let (jobs, _) = qm_jobs::testing::worker(db, qm_jobs::Pace::default());
        let hub = Hub::new(HubConfig::default(), Arc::new(NoTokens), Ctx::system());
        Operations::new(jobs, Ctx::system(), hub, Arc::new(Nowhere))
    }

    fn caller() -> Requester {
        Requester {
            principal: principal(Role::User),
            client: client(),
        }
    }

    async fn begin(operations: &Arc<Operations>) -> Result<Operation, FilesError> {
        let subject = Subject {
            operation: "bulk",
            ..Subject::default()
        };
        operations.begin(&caller(), subject).await
    }

    /// The only operation, as it is listed.
    async fn only_view(operations: &Operations) -> OperationView {
        let mut views = operations.list().await.unwrap();
        assert_eq!(views.len(), 1, "{views:?}");
        views.remove(0)
    }

    db_test! {
        async fn controls_of_one_operation_count_together_and_stop_together(db: Db) {
            let operations = operations(&db);
            let operation = begin(&operations).await.unwrap();
            for _ in 0..2 {
                let control = operation.control();
                control.expect(2, 100);
                control.item_done();
                control.bytes_done(40);
                assert!(control.check().is_ok());
            }
            let view = only_view(&operations).await;
            assert_eq!((view.id.as_str(), view.operation, view.user_id.as_deref()), (operation.id(), "bulk", Some("u")));
            assert_eq!((view.done_items, view.done_bytes), (2, 80));
            assert_eq!((view.total_items, view.total_bytes), (Some(4), Some(200)));
            let control = operation.control();
            operations.cancel_all();
            assert!(matches!(control.check(), Err(FsError::Cancelled)));
            assert!(only_view(&operations).await.cancelling);
            operation.end(&Outcome::default());
            assert_eq!(operations.list().await.unwrap().len(), 0);
        }

        async fn of_an_endless_path_only_the_beginning_is_told(db: Db) {
            let subject = Subject {
                operation: "move",
                source: Some("/short".into()),
                destination: Some(format!("x{}", "é".repeat(1_000_000))),
            };
            let operations = operations(&db);
            let _operation = operations.begin(&caller(), subject).await.unwrap();
            let view = only_view(&operations).await;
            assert_eq!(view.source.as_deref(), Some("/short"));
            assert_eq!(view.destination, Some(format!("x{}", "é".repeat(2047))));
        }

        async fn there_is_a_bound_on_what_runs_at_once(db: Db) {
            let operations = operations(&db);
            let mut running = Vec::new();
            for _ in 0..MAX_RUNNING {
                running.push(begin(&operations).await.unwrap());
            }
            assert!(matches!(begin(&operations).await, Err(FilesError::TooManyOperations)));
            running.pop();
            assert!(begin(&operations).await.is_ok());
        }

        async fn a_shutdown_waits_until_all_have_ended(db: Db) {
            let operations = operations(&db);
            let operation = begin(&operations).await.unwrap();
            let control = operation.control();
            let working = tokio::spawn(async move {
                while control.check().is_ok() {
                    tokio::task::yield_now().await;
                }
                operation.end(&Outcome::default());
            });
            operations.stop_all().await;
            assert_eq!(operations.list().await.unwrap().len(), 0);
            working.await.unwrap();
        }
    }
}
