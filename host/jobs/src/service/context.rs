//! Context of a running handler: its input, its checkpoint, and its means to report progress.

use std::sync::Arc;

use qm_db::Tx;
use serde_json::{Value, json};
use tokio_util::sync::WaitForCancellationFuture;

use super::enqueue::bounded;
use super::messages::Message;
use super::running_jobs::RunningJob;
use super::types::JobError;
use super::{Jobs, lock};
use crate::error::JobsError;
use crate::model::event::{EventType, Level, NewEvent};
use crate::model::job::{Job, NewJob};
use crate::model::redact;
use crate::repo;
use crate::repo::moves::{Lease, ProgressUpdate};

/// Largest number of warnings kept per job, and their total bytes as JSON; later ones are dropped.
const MAX_WARNINGS: usize = 200;
const MAX_WARNING_BYTES: usize = 64 * 1024;

/// A running job, as its handler sees it.
pub struct JobContext {
    pub(super) jobs: Jobs,
    pub(super) job: Job,
    pub(super) input: Value,
    pub(super) checkpoint: Option<Value>,
    pub(super) hand: Arc<RunningJob>,
}

/// Progress report of a handler. Fields left out keep their last value.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Progress {
    /// 0 to 100; computed from `current` and `total` when left out.
    pub percent: Option<f64>,
    pub current: Option<u64>,
    pub total: Option<u64>,
    /// Unit of `current` and `total`, e.g. `files`.
    pub unit: Option<&'static str>,
    /// Present phase, e.g. `scanning`.
    pub phase: Option<String>,
    /// Key of a translated sentence, and its parameters.
    pub message: Option<(&'static str, Value)>,
}

impl Progress {
    pub fn percent(percent: f64) -> Self {
        Self {
            percent: Some(percent),
            ..Self::default()
        }
    }

    pub fn from_counts(current: u64, total: u64) -> Self {
        Self {
            current: Some(current),
            total: Some(total),
            ..Self::default()
        }
    }

    pub fn phase(self, phase: impl Into<String>) -> Self {
        Self {
            phase: Some(phase.into()),
            ..self
        }
    }

    /// The percentage, rounded to 0 to 100.
    fn rounded(&self) -> Option<i64> {
        let told = self.percent.or_else(|| match (self.current, self.total) {
            (Some(current), Some(total)) if total > 0 => Some(current as f64 * 100.0 / total as f64),
            _ => None,
        })?;
        told.is_finite().then(|| told.round().clamp(0.0, 100.0) as i64)
    }
}

impl JobContext {
    pub fn id(&self) -> &str {
        &self.job.id
    }

    /// From 1.
    pub fn attempt(&self) -> i64 {
        self.job.attempt
    }

    pub fn input(&self) -> &Value {
        &self.input
    }

    /// Data that an earlier attempt, or the run before a pause, has saved.
    pub fn checkpoint(&self) -> Option<&Value> {
        self.checkpoint.as_ref()
    }

    /// The user who asked for it.
    pub fn created_by(&self) -> Option<&str> {
        self.job.created_by_id.as_deref()
    }

    /// Fires when the handler must end: the job was cancelled, or the worker stops.
    pub fn cancelled(&self) -> WaitForCancellationFuture<'_> {
        self.hand.cancelled.cancelled()
    }

    pub fn is_cancelled(&self) -> bool {
        self.hand.cancelled.is_cancelled()
    }

    /// Fires when the handler must save a checkpoint and end with
    /// [`Done::Paused`](super::types::Done::Paused).
    pub fn paused(&self) -> WaitForCancellationFuture<'_> {
        self.hand.paused.cancelled()
    }

    pub fn is_paused(&self) -> bool {
        self.hand.paused.is_cancelled()
    }

    pub(super) fn jobs(&self) -> &Jobs {
        &self.jobs
    }

    /// Reports progress. Updates that come too soon after the last one are dropped, unless they report 100 %.
    pub async fn progress(&self, progress: Progress) -> Result<(), JobError> {
        self.store_progress(progress).await.map(drop)
    }

    /// Same as [`JobContext::progress`]; `true` when it is stored, and not dropped.
    pub(super) async fn store_progress(&self, progress: Progress) -> Result<bool, JobError> {
        let now = self.jobs.0.ctx.now();
        let percent = progress.rounded();
        let phase = {
            let mut told = lock(&self.hand.last_progress);
            let gap = self.jobs.0.pace.progress_gap;
            let is_end = percent >= Some(100) && told.percent < 100;
            if !is_end && told.at.is_some_and(|at| now.since(at) < gap) {
                told.phase = progress.phase.or(told.phase.take());
                return Ok(false);
            }
            told.at = Some(now);
            told.beat_at = Some(now);
            told.percent = percent.unwrap_or(told.percent);
            progress.phase.or(told.phase.take()).map(redact::clip)
        };
        let number = |count: Option<u64>| count.map(|count| i64::try_from(count).unwrap_or(i64::MAX));
        let message = progress.message.map(|(key, params)| (key, redact::value(params)));
        let told = ProgressUpdate {
            percent,
            current: number(progress.current),
            total: number(progress.total),
            unit: progress.unit,
            phase: phase.as_deref(),
            message_key: message.as_ref().map(|(key, _)| *key),
            message_params: message.as_ref().map(|(_, params)| params),
        };
        self.write_progress(&told).await.map_err(JobError::from)?;
        Ok(true)
    }

    async fn write_progress(&self, told: &ProgressUpdate<'_>) -> Result<(), JobsError> {
        let (kind, event) = match told.phase {
            Some(_) => (EventType::PhaseChanged, "jobs.phase_changed"),
            None => (EventType::Progress, "jobs.progress"),
        };
        let row = NewEvent {
            progress: told.percent,
            message_key: told.message_key.map(str::to_owned),
            message_params: told.message_params.cloned(),
            metadata: told.phase.map(|phase| json!({ "phase": phase })),
            ..NewEvent::info(kind)
        };
        let inner = &*self.jobs.0;
        let mut tx = inner.db.begin_write().await?;
        let moved = repo::moves::progress(&mut tx, self.lease(), told, inner.ctx.now()).await?;
        let (job, sequence) = moved.ok_or_else(|| self.lost())?;
        repo::events::add_one(&mut tx, &inner.ctx, &self.job.id, sequence, row).await?;
        tx.commit().await?;
        self.jobs.tell_all(&[Message::about(event, &job)]);
        Ok(())
    }

    /// Records a problem that the job survives: it ends as `completed_with_warnings`.
    pub async fn warning(&self, message: &str) -> Result<(), JobError> {
        let message = redact::text(message);
        let warnings = {
            let mut told = lock(&self.hand.last_progress);
            if told.warnings.len() >= MAX_WARNINGS {
                return Ok(());
            }
            let mut warnings = told.warnings.clone();
            warnings.push(json!({ "message": message, "at": self.jobs.0.ctx.now() }));
            let all = Value::Array(warnings.clone());
            if all.to_string().len() > MAX_WARNING_BYTES {
                return Ok(());
            }
            told.warnings = warnings;
            all
        };
        let event = NewEvent::new(EventType::Warning, Level::Warning).message(message);
        self.note(event, Some(&warnings)).await.map_err(JobError::from)
    }

    /// Records that a first result can be fetched already.
    pub async fn output(&self, message: &str, metadata: Value) -> Result<(), JobError> {
        let event = NewEvent::info(EventType::OutputAvailable)
            .message(redact::text(message))
            .metadata(redact::value(metadata));
        self.note(event, None).await.map_err(JobError::from)
    }

    /// Records a heartbeat of a job that has no progress to report. One that comes too soon after another is
    /// dropped.
    pub async fn heartbeat(&self) -> Result<(), JobError> {
        let now = self.jobs.0.ctx.now();
        {
            let mut told = lock(&self.hand.last_progress);
            let gap = self.jobs.0.pace.progress_gap;
            if told.beat_at.is_some_and(|at| now.since(at) < gap) {
                return Ok(());
            }
            told.beat_at = Some(now);
        }
        self.beat(None).await.map_err(JobError::from)
    }

    /// Saves data from which another attempt, or the run after a pause, can continue: at most 256 KiB as
    /// JSON, never shown.
    pub async fn save(&self, checkpoint: &Value) -> Result<(), JobError> {
        bounded("checkpoint", &self.job.type_key, checkpoint)?;
        self.beat(Some(checkpoint)).await.map_err(JobError::from)
    }

    /// As [`JobContext::save`], in the transaction of the work itself, so that both are committed or neither.
    /// Fails when the lease is lost.
    pub async fn save_in(&self, tx: &mut Tx, checkpoint: &Value) -> Result<(), JobError> {
        bounded("checkpoint", &self.job.type_key, checkpoint)?;
        let now = self.jobs.0.ctx.now();
        let beaten = repo::moves::beat(tx, self.lease(), Some(checkpoint), now).await?;
        if beaten { Ok(()) } else { Err(self.lost().into()) }
    }

    /// Takes the idempotency key off this job, in the transaction of the work: requests that come later begin a job of their
    /// own. For a job that goes on after the part that requests may share.
    pub async fn release_key_in(&self, tx: &mut Tx) -> Result<(), JobError> {
        Ok(repo::jobs::release_key(tx, &self.job.id).await?)
    }

    /// Queues a child of this job; returns its id.
    pub async fn spawn(&self, child: NewJob) -> Result<String, JobError> {
        self.enqueue_child(child).await.map_err(JobError::from)
    }

    async fn enqueue_child(&self, child: NewJob) -> Result<String, JobsError> {
        let mut tx = self.jobs.0.db.begin_write().await?;
        let parent = Some((&self.job, self.lease()));
        let enqueued = self.jobs.enqueue_under(&mut tx, child, parent).await?;
        tx.commit().await?;
        self.jobs.announce(&enqueued);
        Ok(enqueued.id().to_owned())
    }

    async fn beat(&self, checkpoint: Option<&Value>) -> Result<(), JobsError> {
        let inner = &*self.jobs.0;
        let mut tx = inner.db.begin_write().await?;
        if !repo::moves::beat(&mut tx, self.lease(), checkpoint, inner.ctx.now()).await? {
            return Err(self.lost());
        }
        Ok(tx.commit().await?)
    }

    async fn note(&self, event: NewEvent, warnings: Option<&Value>) -> Result<(), JobsError> {
        let inner = &*self.jobs.0;
        let mut tx = inner.db.begin_write().await?;
        let sequence = repo::moves::note(&mut tx, self.lease(), warnings, inner.ctx.now()).await?;
        let sequence = sequence.ok_or_else(|| self.lost())?;
        repo::events::add_one(&mut tx, &inner.ctx, &self.job.id, sequence, event).await?;
        Ok(tx.commit().await?)
    }

    fn lease(&self) -> &Lease {
        &self.hand.lease
    }

    /// Marks the lease as lost: this run writes nothing more, and its handler is stopped.
    fn lost(&self) -> JobsError {
        self.hand.lose();
        JobsError::LeaseLost(self.job.id.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percents_are_rounded_and_clamped() {
        for (progress, expected) in [
            (Progress::percent(12.4), Some(12)),
            (Progress::percent(12.5), Some(13)),
            (Progress::percent(-3.0), Some(0)),
            (Progress::percent(1e9), Some(100)),
            (Progress::percent(f64::NAN), None),
            (Progress::from_counts(1, 3), Some(33)),
            (Progress::from_counts(5, 0), None),
            (Progress::default(), None),
        ] {
            assert_eq!(progress.rounded(), expected, "{progress:?}");
        }
    }
}
