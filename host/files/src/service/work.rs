//! Operations as jobs: the job of an operation, the report of its progress, and the operation that a job tells of.

use qm_jobs::{Done, HostedView, JobError, JobType, Jobs, NewJob, Progress as Reported, Visibility};
use qm_kernel::Permission as P;
use serde_json::{Value, json};

use super::operations::{Outcome, Subject};
use crate::dto::answers::OperationView;
use qm_file_operations::Progress;
use qm_kernel::Requester;

/// The module of these jobs.
pub const MODULE: &str = "files";
/// Type of a job's subject, when the subject has an id of its own.
const CARRIED: &str = "data_move";

macro_rules! operations {
    ($($name:literal $permission:ident,)+) => {
        /// Each operation: its name, the type of its jobs, the key of its label, the permission to control them.
        const ALL: &[(&str, &str, &str, P)] = &[$(
            ($name, concat!("files.", $name), concat!("jobs.type.files.", $name), P::$permission),
        )+];
    };
}

operations! {
    "create_folder" FilesCreateFolder,
    "rename" FilesRename,
    "move" FilesMove,
    "copy" FilesCopy,
    "delete" FilesDelete,
    "bulk" FilesBulkActions,
    "cleanup" FilesCleanup,
    "restore" FilesDelete,
    "trash_empty" FilesDelete,
}

/// Makes the types known.
pub fn register(jobs: &Jobs) {
    for (_, key, label, permission) in ALL {
        jobs.register(JobType::hosted(key, MODULE, label, Some(*permission)));
    }
}

/// The job of an operation. Whoever asked for it sees it, if anybody did, and who may see all jobs: others see operations in the list of
/// those, which takes a permission of files.
pub fn job_of(caller: Option<&Requester>, subject: &Subject, carried: Option<&str>) -> NewJob {
    let operation = ALL.iter().find(|(name, ..)| *name == subject.operation);
    // Of an operation that is not in the list there is no type, and the jobs say so.
    let key = operation.map_or(subject.operation, |(_, key, ..)| key);
    NewJob {
        name: Some(subject.operation.to_owned()),
        input_summary: Some(json!({ "source": subject.source, "destination": subject.destination })),
        resource: carried.map(|id| (CARRIED.to_owned(), id.to_owned())),
        created_by: caller.map(|caller| caller.principal.user_id.to_string()),
        correlation_id: caller.map(|caller| caller.client.request_id.clone()),
        visibility: Visibility::Own,
        ..NewJob::new(key, Value::Null)
    }
}

/// Job result of an operation: an error for a failure, never retried.
pub fn result_of(outcome: &Outcome) -> Result<Done, JobError> {
    match &outcome.failure {
        None => Ok(done(outcome)),
        Some(failure) => Err(JobError::new(outcome.code.unwrap_or("failed"), failure.as_str()).permanent()),
    }
}

pub fn done(outcome: &Outcome) -> Done {
    Done::result(json!({ "itemCount": outcome.item_count, "bytes": outcome.bytes }))
}

/// Progress of an operation, as that of its job.
pub fn reported(progress: Progress) -> Reported {
    let share = |done: u64, of: u64| (of > 0).then(|| done as f64 * 100.0 / of as f64);
    let by_bytes = progress.total_bytes.and_then(|of| share(progress.bytes, of));
    let by_items = progress.total_items.and_then(|of| share(progress.items, of));
    Reported {
        // 100 is told by the end, which may still be far when the last byte is written.
        percent: by_bytes.or(by_items).map(|percent| percent.min(99.0)),
        current: Some(progress.bytes),
        total: progress.total_bytes,
        unit: Some("bytes"),
        message: Some((
            "jobs.files.progress",
            json!({ "doneItems": progress.items, "totalItems": progress.total_items }),
        )),
        ..Reported::default()
    }
}

/// Id of the operation that a job does: one that was chosen before, else that of the job.
pub fn operation_id(job: &HostedView) -> &str {
    job.resource_id.as_deref().unwrap_or(&job.id)
}

impl OperationView {
    /// Operation that a job does; `None` for a job of a type that is not known here.
    pub(super) fn from_job(job: HostedView) -> Option<Self> {
        let (operation, ..) = ALL.iter().find(|(_, key, ..)| *key == job.type_key)?;
        let text = |name: &str| job.input_summary.as_ref()?[name].as_str().map(str::to_owned);
        let count = |name: &str| job.message_params.as_ref()?[name].as_u64();
        let id = operation_id(&job).to_owned();
        let bytes = |told: Option<i64>| told.and_then(|bytes| u64::try_from(bytes).ok());
        Some(Self {
            operation,
            source: text("source"),
            destination: text("destination"),
            done_items: count("doneItems").unwrap_or(0),
            total_items: count("totalItems"),
            done_bytes: bytes(job.progress_current).unwrap_or(0),
            total_bytes: bytes(job.progress_total),
            started_at: job.started_at,
            cancelling: job.is_cancelling,
            user_id: job.created_by,
            id,
        })
    }
}
