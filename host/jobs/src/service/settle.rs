//! Storing the results of runs. Runs that end while others are being written share one transaction.
//!
//! A result survives a database that is busy or away for a while: the write is retried until the worker gives
//! up. Bounds: [`TOGETHER`] results per transaction; no more wait than the worker has places.

use std::time::Duration;

use qm_db::Tx;
use qm_kernel::{ErrorKind, as_error};

use super::messages::Message;
use super::transitions::{MoveDetails, completion_event};
use super::types::{Done, JobError};
use super::{Jobs, lock};
use crate::error::JobsError;
use crate::model::event::{EventType, Level, NewEvent};
use crate::model::job::Job;
use crate::model::redact;
use crate::model::status::Status;
use crate::repo;
use crate::repo::moves::Lease;

pub(super) const TOGETHER: usize = 64;
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// Attempts to move a job whose state changes at the same time.
const TRIES: usize = 4;

/// Result of a run.
#[derive(Clone, Debug)]
pub(super) enum Outcome {
    Done(Done),
    Failed(JobError),
    /// The run was stopped, or it gave up because the worker stops.
    Interrupted,
    /// Another worker holds the job: there is nothing to write.
    Lost,
}

/// A finished run whose result is not stored yet.
#[derive(Clone, Debug)]
pub(super) struct Ended {
    pub(super) lease: Lease,
    pub(super) outcome: Outcome,
    /// The job as it began, where that was not stored yet.
    pub(super) unstored: Option<Job>,
}

impl Jobs {
    /// Stores the result of a run and releases the job.
    pub(super) async fn settle(&self, ended: Ended) {
        lock(&self.0.ended).push(ended);
        let _turn = self.0.settling.lock().await;
        let batch: Vec<Ended> = {
            let mut waiting = lock(&self.0.ended);
            let count = waiting.len().min(TOGETHER);
            waiting.drain(..count).collect()
        };
        // An earlier turn has written this one too.
        if batch.is_empty() {
            return;
        }
        if let Err(error) = self.write_patiently(&batch).await {
            tracing::warn!(%error, jobs = batch.len(), "jobs that ended are written one by one");
            for ended in &batch {
                if let Err(error) = self.write_patiently(std::slice::from_ref(ended)).await {
                    let error = as_error(&error);
                    tracing::error!(
                        error,
                        job.id = ended.lease.job_id,
                        "how a job ended was not written"
                    );
                }
            }
        }
        for ended in &batch {
            self.0.running_jobs.release(&ended.lease);
        }
        self.0.tally.running.set(self.0.running_jobs.len() as i64);
        self.0.wake.notify_one();
    }

    async fn write_patiently(&self, batch: &[Ended]) -> Result<(), JobsError> {
        let mut pause = FIRST_PAUSE;
        loop {
            let error = match self.write(batch).await {
                Ok(()) => return Ok(()),
                Err(error) => error,
            };
            let passing = error.kind() == ErrorKind::Unavailable;
            if !passing || self.0.abandoned.is_cancelled() {
                return Err(error);
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    async fn write(&self, batch: &[Ended]) -> Result<(), JobsError> {
        let mut messages = Vec::new();
        let mut states = Vec::new();
        let mut tx = self.0.db.begin_write().await?;
        for ended in batch {
            if let Some(job) = &ended.unstored {
                self.write_begun(&mut tx, job, &mut messages).await?;
            }
            if let Some(status) = self.write_one(&mut tx, ended, &mut messages).await? {
                states.push(status);
            }
        }
        tx.commit().await?;
        for status in states {
            self.0.tally.ended.with_label_values(&[status.as_str()]).inc();
        }
        self.tell_all(&messages);
        Ok(())
    }

    /// Stores one result; the new state of the job, or `None` when this worker no longer holds it.
    pub(super) async fn write_one(
        &self,
        tx: &mut Tx,
        ended: &Ended,
        messages: &mut Vec<Message>,
    ) -> Result<Option<Status>, JobsError> {
        let lease = &ended.lease;
        for _ in 0..TRIES {
            let Some(mut job) = repo::moves::held(tx, lease).await? else {
                tracing::warn!(
                    job.id = lease.job_id,
                    "a job ended here after somebody else had taken it; its end is not written"
                );
                return Ok(None);
            };
            let moved = match &ended.outcome {
                Outcome::Lost => return Ok(None),
                Outcome::Interrupted => self.interrupt(tx, &mut job, lease, messages).await?,
                _ if job.status == Status::Cancelling => {
                    let with = MoveDetails::event(NewEvent::info(EventType::Cancelled)).by(lease);
                    let moved = self.advance(tx, &mut job, Status::Cancelled, with).await?;
                    if moved {
                        messages.push(Message::about("jobs.cancelled", &job));
                    }
                    moved
                }
                Outcome::Failed(error) => self.fail(tx, &mut job, lease, error, messages).await?,
                Outcome::Done(Done::Paused) => self.pause(tx, &mut job, lease, messages).await?,
                Outcome::Done(Done::Completed { result, metrics }) => {
                    let shown = (
                        result.clone().map(redact::value),
                        metrics.clone().map(redact::value),
                    );
                    self.complete(tx, &mut job, lease, shown, messages).await?
                }
            };
            if moved {
                return Ok(Some(job.status));
            }
        }
        Err(JobsError::LeaseLost(lease.job_id.clone()))
    }

    async fn pause(
        &self,
        tx: &mut Tx,
        job: &mut Job,
        lease: &Lease,
        messages: &mut Vec<Message>,
    ) -> Result<bool, JobsError> {
        // A job that paused without a request takes the same way.
        let by = || MoveDetails::default().by(lease);
        if job.status == Status::Running && !self.advance(tx, job, Status::Pausing, by()).await? {
            return Ok(false);
        }
        let with = MoveDetails::event(NewEvent::info(EventType::Paused)).by(lease);
        let moved = self.advance(tx, job, Status::Paused, with).await?;
        if moved {
            messages.push(Message::about("jobs.paused", job));
        }
        Ok(moved)
    }

    async fn complete(
        &self,
        tx: &mut Tx,
        job: &mut Job,
        lease: &Lease,
        (result, metrics): (Option<serde_json::Value>, Option<serde_json::Value>),
        messages: &mut Vec<Message>,
    ) -> Result<bool, JobsError> {
        // It completed before it could pause.
        let by = || MoveDetails::default().by(lease);
        if job.status == Status::Pausing && !self.advance(tx, job, Status::Running, by()).await? {
            return Ok(false);
        }
        let (to, level) = if job.warnings.is_some() {
            (Status::CompletedWithWarnings, Level::Warning)
        } else {
            (Status::Completed, Level::Success)
        };
        let with = MoveDetails {
            result,
            metrics,
            ..MoveDetails::event(completion_event(level)).by(lease)
        };
        let moved = self.advance(tx, job, to, with).await?;
        if moved {
            messages.push(Message::about("jobs.completed", job));
        }
        Ok(moved)
    }
}
