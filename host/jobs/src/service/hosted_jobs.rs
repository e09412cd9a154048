//! Hosted jobs that this server does, from their begin to their end: also those that are not stored yet.
//!
//! Bounds: none of its own. An area that hosts jobs limits how many it begins.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock};

use qm_kernel::Timestamp;
use serde_json::Value;
use tokio::sync::Notify;

use super::context::Progress;
use super::running_jobs::RunningJob;
use super::{Jobs, lock};
use crate::model::job::Job;
use crate::model::status::Status;

/// Present progress of hosted work, asked for when it is listed and when it is stored.
pub(super) type ProgressSource = Box<dyn Fn() -> Progress + Send + Sync>;

/// One hosted job of this server.
pub(super) struct HostedJob {
    /// The job as it was created, with the summary of its input as the area gave it.
    job: Job,
    pub(super) hand: Arc<RunningJob>,
    progress: OnceLock<ProgressSource>,
    /// Progress that is stored, or was not worth it because the work began with it.
    stored: Mutex<Progress>,
}

impl HostedJob {
    /// Present progress; empty when the area told no source.
    fn progress(&self) -> Progress {
        self.progress.get().map(|source| source()).unwrap_or_default()
    }

    /// Present progress if it differs from the stored one.
    pub(super) fn find_new_progress(&self) -> Option<Progress> {
        let progress = self.progress();
        let is_new = *lock(&self.stored) != progress;
        is_new.then_some(progress)
    }

    /// Records the progress that was stored.
    pub(super) fn note_stored(&self, progress: Progress) {
        *lock(&self.stored) = progress;
    }

    /// Sets the source of the progress, once.
    pub(super) fn follow(&self, source: ProgressSource) {
        *lock(&self.stored) = source();
        let is_first = self.progress.set(source).is_ok();
        debug_assert!(is_first, "the progress of a hosted job has one source");
    }

    fn view(&self) -> HostedView {
        let number = |count: Option<u64>| count.map(|count| i64::try_from(count).unwrap_or(i64::MAX));
        let progress = self.progress();
        HostedView {
            is_cancelling: self.hand.cancelled.is_cancelled(),
            progress_current: number(progress.current),
            progress_total: number(progress.total),
            message_params: progress.message.map(|(_, params)| params),
            ..HostedView::from_job(self.job.clone())
        }
    }
}

/// The hosted jobs of this server, by id.
#[derive(Default)]
pub(super) struct HostedJobs {
    jobs: Mutex<BTreeMap<String, Arc<HostedJob>>>,
    /// Fires whenever one has ended.
    ended: Notify,
}

impl HostedJobs {
    pub(super) fn get(&self, id: &str) -> Option<Arc<HostedJob>> {
        lock(&self.jobs).get(id).cloned()
    }

    /// The jobs of a module.
    fn of_module(&self, module: &str) -> Vec<Arc<HostedJob>> {
        let jobs = lock(&self.jobs);
        let of_module = jobs.values().filter(|hosted| hosted.job.module_key == module);
        of_module.cloned().collect()
    }

    pub(super) fn views(&self, module: &str) -> Vec<HostedView> {
        let jobs = self.of_module(module);
        jobs.iter().map(|hosted| hosted.view()).collect()
    }

    /// Asks the jobs of a module to end; returns their number.
    pub(super) fn cancel(&self, module: &str) -> usize {
        let jobs = self.of_module(module);
        for hosted in &jobs {
            hosted.hand.cancelled.cancel();
        }
        jobs.len()
    }

    /// Asks the jobs of a module to end, and waits until they have; also those that begin meanwhile.
    pub(super) async fn end(&self, module: &str) {
        loop {
            let ended = self.ended.notified();
            tokio::pin!(ended);
            ended.as_mut().enable();
            if self.cancel(module) == 0 {
                return;
            }
            ended.await;
        }
    }
}

/// Entry of a job among the hosted jobs; removed when this is dropped.
pub(super) struct Entry {
    jobs: Jobs,
    pub(super) hosted: Arc<HostedJob>,
}

impl Entry {
    /// Lists a job that begins; `summary` is that of its input, as the area gave it.
    pub(super) fn new(jobs: &Jobs, job: &Job, summary: Option<Value>, hand: &Arc<RunningJob>) -> Self {
        let hosted = Arc::new(HostedJob {
            job: Job {
                input_summary: summary,
                ..job.clone()
            },
            hand: Arc::clone(hand),
            progress: OnceLock::new(),
            stored: Mutex::default(),
        });
        lock(&jobs.0.hosted_jobs.jobs).insert(job.id.clone(), Arc::clone(&hosted));
        Self {
            jobs: jobs.clone(),
            hosted,
        }
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        let hosted_jobs = &self.jobs.0.hosted_jobs;
        lock(&hosted_jobs.jobs).remove(&self.hosted.job.id);
        hosted_jobs.ended.notify_waiters();
    }
}

/// A running hosted job, on any server.
#[derive(Clone, Debug, PartialEq)]
pub struct HostedView {
    pub id: String,
    pub type_key: String,
    /// Id of its resource, if any.
    pub resource_id: Option<String>,
    pub created_by: Option<String>,
    /// Summary of the input: as the area gave it when this server does the work, else as it is stored, bounded and without
    /// secrets.
    pub input_summary: Option<Value>,
    pub started_at: Timestamp,
    /// True when it was asked to end and has not ended yet.
    pub is_cancelling: bool,
    /// Progress at this moment when this server does the work, else as it was last stored.
    pub progress_current: Option<i64>,
    pub progress_total: Option<i64>,
    /// Parameters of the last message.
    pub message_params: Option<Value>,
}

impl HostedView {
    /// View of a stored job.
    pub(super) fn from_job(job: Job) -> Self {
        Self {
            started_at: job.started_at.unwrap_or(job.created_at),
            is_cancelling: job.status == Status::Cancelling,
            id: job.id,
            type_key: job.type_key,
            resource_id: job.resource_id,
            created_by: job.created_by_id,
            input_summary: job.input_summary,
            progress_current: job.progress_current,
            progress_total: job.progress_total,
            message_params: job.status_message_params,
        }
    }
}
