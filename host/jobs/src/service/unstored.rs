//! Hosted work that ended before it was stored. Its row is written once in its final state, with one
//! statement per job and one for all events, in a transaction shared with other work that ended at about the
//! same time. Most hosted operations are this short: storing every state would take longer than the work.

use qm_kernel::Timestamp;

use super::messages::Message;
use super::settle::{Ended, Outcome, TOGETHER};
use super::transitions::{completion_event, failure_event, shown};
use super::types::Done;
use super::{Jobs, lock};
use crate::error::JobsError;
use crate::model::event::{EventType, Level, NewEvent};
use crate::model::job::Job;
use crate::model::redact;
use crate::model::status::Status;
use crate::repo;
use crate::repo::events::Numbered;
use crate::repo::jobs::Hidden;
use crate::repo::moves::Lease;

/// Number of events of such a job, from its creation to its end.
const EVENTS_TO_END: i64 = 4;

/// Work that began and ended before anything was stored.
pub(super) struct UnstoredJob {
    /// The job as it was created.
    pub(super) job: Job,
    pub(super) lease: Lease,
    pub(super) outcome: Outcome,
    /// The job as it ended, and its last event.
    whole: (Job, NewEvent),
}

impl UnstoredJob {
    fn running(&self) -> Job {
        let (ended, _) = &self.whole;
        Job {
            status: Status::Running,
            started_at: ended.started_at,
            ..self.job.clone()
        }
    }

    fn into_ended(self) -> Ended {
        Ended {
            lease: self.lease,
            outcome: self.outcome,
            unstored: Some(self.job),
        }
    }
}

impl Jobs {
    /// Queues a finished, unstored job for the next shared transaction.
    pub(super) async fn settle_unstored(&self, job: Job, lease: Lease, outcome: Outcome) {
        match self.whole(&job, &outcome, self.0.ctx.now()) {
            Some(whole) => {
                let brief = UnstoredJob {
                    job,
                    lease,
                    outcome,
                    whole,
                };
                self.settle_brief(brief).await;
            }
            None => {
                let unstored = Some(job);
                let ended = Ended {
                    lease,
                    outcome,
                    unstored,
                };
                self.settle(ended).await;
            }
        }
    }

    /// The job in its final state and the event of its end; `None` where the end takes more than one move.
    fn whole(&self, job: &Job, outcome: &Outcome, now: Timestamp) -> Option<(Job, NewEvent)> {
        let ended = Job {
            worker_id: Some(self.0.worker.id.clone()),
            claim: 1,
            heartbeat_at: Some(job.created_at),
            started_at: Some(job.created_at),
            updated_at: now,
            ..job.clone()
        };
        match outcome {
            Outcome::Done(Done::Completed { result, metrics }) => {
                let event = completion_event(Level::Success);
                let completed = Job {
                    status: Status::Completed,
                    progress_percent: 100,
                    result_summary: result.clone().map(redact::value),
                    metrics: metrics.clone().map(redact::value),
                    completed_at: Some(now),
                    ..ended
                };
                Some((completed, event))
            }
            Outcome::Failed(error) if !(error.retryable && job.has_attempts_left()) => {
                let (code, sentence) = shown(error);
                let event = failure_event(&code, &sentence);
                let failed = Job {
                    status: Status::Failed,
                    error_code: Some(code),
                    error_message: Some(sentence),
                    completed_at: Some(now),
                    failed_at: Some(now),
                    ..ended
                };
                Some((failed, event))
            }
            _ => None,
        }
    }

    async fn settle_brief(&self, brief: UnstoredJob) {
        let id = brief.job.id.clone();
        lock(&self.0.unstored_jobs).push(brief);
        tokio::select! {
            () = tokio::time::sleep(self.0.pace.batch_delay) => {}
            () = self.0.abandoned.cancelled() => {}
        }
        loop {
            let turn = self.0.settling.lock().await;
            let batch: Vec<UnstoredJob> = {
                let mut waiting = lock(&self.0.unstored_jobs);
                // An earlier turn has written this one too; what came since waits for its own turn.
                if !waiting.iter().any(|brief| brief.job.id == id) {
                    return;
                }
                let count = waiting.len().min(TOGETHER);
                waiting.drain(..count).collect()
            };
            let Err(error) = self.write_whole(&batch).await else {
                continue;
            };
            drop(turn);
            tracing::warn!(%error, jobs = batch.len(), "operations that ended are written one by one");
            for brief in batch {
                self.settle(brief.into_ended()).await;
            }
        }
    }

    async fn write_whole(&self, batch: &[UnstoredJob]) -> Result<(), JobsError> {
        let mut events = Vec::with_capacity(batch.len() * 4);
        let mut messages = Vec::with_capacity(batch.len() * 4);
        let mut tx = self.0.db.begin_write().await?;
        for brief in batch {
            let (ended, end) = &brief.whole;
            if !repo::jobs::insert(&mut tx, ended, &Hidden::default(), EVENTS_TO_END).await? {
                return Err(JobsError::LeaseLost(ended.id.clone()));
            }
            let told = [EventType::Created, EventType::Queued, EventType::Started].map(NewEvent::info);
            let told = told.into_iter().chain([end.clone()]);
            events.extend(told.zip(1..).map(|(event, sequence)| Numbered {
                job_id: &ended.id,
                sequence,
                event,
            }));
            let last = match ended.status {
                Status::Failed => Message::about("jobs.failed", ended).saying(ended.error_message.clone()),
                _ => Message::about("jobs.completed", ended),
            };
            messages.extend([
                Message::about("jobs.created", &brief.job),
                Message::about("jobs.queued", &brief.job),
                Message::about("jobs.started", &brief.running()),
                last,
            ]);
        }
        repo::events::add(&mut tx, &self.0.ctx, &events).await?;
        tx.commit().await?;
        for brief in batch {
            let status = brief.whole.0.status.as_str();
            self.0.tally.ended.with_label_values(&[status]).inc();
        }
        self.tell_all(&messages);
        Ok(())
    }
}
