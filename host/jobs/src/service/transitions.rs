//! One move of a job to another state, with its event.

use qm_db::Tx;
use qm_kernel::Timestamp;
use serde_json::{Value, json};

use super::Jobs;
use super::messages::Message;
use super::types::JobError;
use crate::error::JobsError;
use crate::model::event::{EventType, Level, NewEvent};
use crate::model::job::Job;
use crate::model::status::Status;
use crate::model::{redact, retry};
use crate::repo;
use crate::repo::moves::{Lease, Step};

/// Columns and event that change together with the state.
#[derive(Default)]
pub(super) struct MoveDetails<'a> {
    /// Required lease, where only the worker that holds the job may move it.
    pub(super) by: Option<&'a Lease>,
    pub(super) event: Option<NewEvent>,
    /// Error code and error sentence.
    pub(super) error: Option<(String, String)>,
    pub(super) result: Option<Value>,
    pub(super) metrics: Option<Value>,
    pub(super) attempt: Option<i64>,
    pub(super) run_after: Option<Timestamp>,
}

impl<'a> MoveDetails<'a> {
    pub(super) fn event(event: NewEvent) -> Self {
        Self {
            event: Some(event),
            ..Self::default()
        }
    }

    pub(super) fn by(self, lease: &'a Lease) -> Self {
        Self {
            by: Some(lease),
            ..self
        }
    }
}

impl Jobs {
    /// Moves `job` from its present state; `false` when the stored state differs or the lease `with.by` is
    /// lost. The changes are applied to `job` too.
    pub(super) async fn advance(
        &self,
        tx: &mut Tx,
        job: &mut Job,
        to: Status,
        with: MoveDetails<'_>,
    ) -> Result<bool, JobsError> {
        let now = self.0.ctx.now();
        let step = Step {
            by: with.by,
            events: i64::from(with.event.is_some()),
            error: with
                .error
                .as_ref()
                .map(|(code, message)| (code.as_str(), message.as_str())),
            result: with.result.as_ref(),
            metrics: with.metrics.as_ref(),
            attempt: with.attempt,
            run_after: with.run_after,
            ..Step::new(&job.id, job.status, to)
        };
        let Some(sequence) = repo::moves::step(tx, &step, now).await? else {
            return Ok(false);
        };
        if let Some(event) = with.event {
            repo::events::add_one(tx, &self.0.ctx, &job.id, sequence, event).await?;
        }
        job.status = to;
        job.updated_at = now;
        job.attempt = with.attempt.unwrap_or(job.attempt);
        if let Some((code, message)) = with.error {
            (job.error_code, job.error_message) = (Some(code), Some(message));
        }
        job.result_summary = with.result.or(job.result_summary.take());
        if matches!(to, Status::Completed | Status::CompletedWithWarnings) {
            job.progress_percent = 100;
        }
        Ok(true)
    }

    /// Fails a run and schedules another attempt where one is left. `false` when the job has been moved
    /// meanwhile.
    pub(super) async fn fail(
        &self,
        tx: &mut Tx,
        job: &mut Job,
        by: &Lease,
        error: &JobError,
        messages: &mut Vec<Message>,
    ) -> Result<bool, JobsError> {
        let again = error.retryable && job.has_attempts_left();
        let (code, sentence) = shown(error);
        let with = MoveDetails {
            event: (!again).then(|| failure_event(&code, &sentence)),
            error: Some((code, sentence.clone())),
            ..MoveDetails::default().by(by)
        };
        if !self.advance(tx, job, Status::Failed, with).await? {
            return Ok(false);
        }
        if again {
            let pause = retry::delay(job.attempt + 1);
            let event = NewEvent::new(EventType::RetryScheduled, Level::Warning)
                .message(sentence.clone())
                .metadata(json!({ "attempt": job.attempt + 1, "delayMs": pause.as_millis() as u64 }));
            let due = self.0.ctx.now().plus(pause);
            self.again(tx, job, event, Some(due), messages).await?;
        } else {
            messages.push(Message::about("jobs.failed", job).saying(Some(sentence)));
        }
        Ok(true)
    }

    /// Queues a failed job for another attempt. The transaction has locked its row, so nobody else moves it.
    pub(super) async fn again(
        &self,
        tx: &mut Tx,
        job: &mut Job,
        event: NewEvent,
        due: Option<Timestamp>,
        messages: &mut Vec<Message>,
    ) -> Result<(), JobsError> {
        let with = MoveDetails {
            attempt: Some(job.attempt + 1),
            ..MoveDetails::event(event)
        };
        if !self.advance(tx, job, Status::Retrying, with).await? {
            return Err(lost_of(job));
        }
        let retrying = Message::about("jobs.retrying", job).saying(job.error_message.clone());
        let with = MoveDetails {
            run_after: due,
            ..MoveDetails::event(NewEvent::info(EventType::Queued))
        };
        if !self.advance(tx, job, Status::Queued, with).await? {
            return Err(lost_of(job));
        }
        messages.extend([retrying, Message::about("jobs.queued", job)]);
        Ok(())
    }

    /// Ends an unfinished job that no worker runs any more.
    pub(super) async fn interrupt(
        &self,
        tx: &mut Tx,
        job: &mut Job,
        by: &Lease,
        messages: &mut Vec<Message>,
    ) -> Result<bool, JobsError> {
        let error = JobError::new(INTERRUPTED, "The server stopped while the job was running");
        if job.status != Status::Cancelling {
            return self.fail(tx, job, by, &error, messages).await;
        }
        // It was asked to end, so `cancelled` is the only state that may follow.
        let event = NewEvent::info(EventType::Cancelled).message(error.message.clone());
        let with = MoveDetails {
            error: Some((error.code, error.message)),
            ..MoveDetails::event(event).by(by)
        };
        let ended = self.advance(tx, job, Status::Cancelled, with).await?;
        if ended {
            messages.push(Message::about("jobs.cancelled", job));
        }
        Ok(ended)
    }
}

/// Code and sentence of an error, redacted for users.
pub(super) fn shown(error: &JobError) -> (String, String) {
    (redact::clip(error.code.clone()), redact::text(&error.message))
}

/// The event of a failure.
pub(super) fn failure_event(code: &str, sentence: &str) -> NewEvent {
    NewEvent::new(EventType::Failed, Level::Error)
        .message(sentence)
        .metadata(json!({ "errorCode": code }))
}

/// The event of a completion.
pub(super) fn completion_event(level: Level) -> NewEvent {
    NewEvent {
        progress: Some(100),
        ..NewEvent::new(EventType::Completed, level)
    }
}

/// Error code of a job whose worker is gone.
pub(super) const INTERRUPTED: &str = "interrupted";

fn lost_of(job: &Job) -> JobsError {
    JobsError::LeaseLost(job.id.clone())
}
