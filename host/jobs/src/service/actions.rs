//! Actions of users on jobs: cancel, pause, resume, retry, rerun.

use qm_db::Tx;
use qm_kernel::{Caller, Principal, Requester};
use qm_platform::{AuditEntry, AuditResult};
use serde_json::json;

use super::Jobs;
use super::enqueue::Enqueued;
use super::messages::Message;
use super::transitions::MoveDetails;
use crate::error::JobsError;
use crate::model::event::{EventType, NewEvent, Source};
use crate::model::job::{Job, NewJob};
use crate::model::outcome::Acted;
use crate::model::status::Status;
use crate::repo;

/// Number of attempts to act on a job that another task moves at the same time.
const TRIES: usize = 4;

/// An action of a user on a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    Cancel,
    Pause,
    Resume,
    Retry,
    Rerun,
}

impl Verb {
    const fn action(self) -> &'static str {
        match self {
            Verb::Cancel => "jobs.cancel",
            Verb::Pause => "jobs.pause",
            Verb::Resume => "jobs.resume",
            Verb::Retry => "jobs.retry",
            Verb::Rerun => "jobs.rerun",
        }
    }
}

/// Messages to send and jobs to announce after the commit.
#[derive(Default)]
struct After {
    messages: Vec<Message>,
    enqueued: Option<Enqueued>,
}

impl Jobs {
    /// Performs the action and writes its audit row in one transaction.
    pub async fn act(&self, caller: &Requester, verb: Verb, id: &str) -> Result<Acted, JobsError> {
        for _ in 0..TRIES {
            match self.act_once(caller, verb, id).await {
                // Another request is just creating a job with the same idempotency key: the next attempt
                // finds that job.
                Err(JobsError::Database(error)) if error.is_unique_violation() => {}
                other => return other,
            }
        }
        Err(JobsError::KeyInUse(id.to_owned()))
    }

    /// Cancels a job of a module in the transaction of the caller, who has checked the permission. `true`
    /// when there was something to cancel; jobs that are unknown, finished or of another module are left
    /// alone.
    pub async fn cancel_of(
        &self,
        tx: &mut Tx,
        caller: Caller<'_>,
        module: &str,
        id: &str,
    ) -> Result<bool, JobsError> {
        let found = repo::jobs::find(tx, id).await?;
        let Some(mut job) = found.filter(|job| job.module_key == module && job.capabilities.cancellable)
        else {
            return Ok(false);
        };
        let caller = caller.to_requester();
        let mut after = After::default();
        let acted = self.cancel(tx, &mut job, &mut after).await?;
        if acted.ok {
            self.audit_action(tx, &caller, Verb::Cancel, &job, &acted).await?;
            let jobs = self.clone();
            tx.after_commit(move || {
                // Before the job hears of it, and may end.
                jobs.tell_all(&after.messages);
                jobs.signal(&job);
                jobs.0.wake.notify_one();
            });
        }
        Ok(acted.ok)
    }

    async fn act_once(&self, caller: &Requester, verb: Verb, id: &str) -> Result<Acted, JobsError> {
        let mut after = After::default();
        let mut tx = self.0.db.begin_write().await?;
        let mut job = self.visible(&mut tx, &caller.principal, id).await?;
        may_act(&caller.principal, &job)?;
        let acted = match verb {
            Verb::Cancel => self.cancel(&mut tx, &mut job, &mut after).await?,
            Verb::Pause => self.ask_to_pause(&mut tx, &mut job).await?,
            Verb::Resume => self.resume(&mut tx, &mut job, &mut after).await?,
            Verb::Retry => self.retry(&mut tx, &mut job, &mut after).await?,
            Verb::Rerun => self.rerun(&mut tx, &job, caller, &mut after).await?,
        };
        self.audit_action(&mut tx, caller, verb, &job, &acted).await?;
        let (jobs, moved) = (self.clone(), job.clone());
        // Runs after the commit, because the caller's future may be dropped before it goes on.
        tx.after_commit(move || {
            // Before the job hears of it, and may end.
            jobs.tell_all(&after.messages);
            if let Some(enqueued) = &after.enqueued {
                jobs.announce(enqueued);
            }
            jobs.signal(&moved);
            jobs.0.wake.notify_one();
        });
        tx.commit().await?;
        Ok(acted)
    }

    async fn audit_action(
        &self,
        tx: &mut Tx,
        caller: &Requester,
        verb: Verb,
        job: &Job,
        acted: &Acted,
    ) -> Result<(), JobsError> {
        let new_job = acted.job_id.as_deref().filter(|id| *id != job.id);
        let result = if acted.ok {
            AuditResult::Success
        } else {
            AuditResult::Failure
        };
        let entry = AuditEntry {
            user_id: Some(caller.principal.user_id.to_string()),
            action: verb.action(),
            object_type: Some("platform_job"),
            object_id: Some(job.id.clone()),
            result,
            client: Some(&caller.client),
            metadata: Some(json!({ "type": job.type_key, "reason": acted.reason, "newJobId": new_job })),
        };
        Ok(self.0.audit.record(tx, entry).await?)
    }

    /// Cancels a job: a running one is asked to end, any other ends at once.
    async fn cancel(&self, tx: &mut Tx, job: &mut Job, after: &mut After) -> Result<Acted, JobsError> {
        if !job.capabilities.cancellable {
            return Err(JobsError::NotCancellable);
        }
        for _ in 0..TRIES {
            let (to, kind, event) = match job.status {
                Status::Running | Status::Pausing => {
                    (Status::Cancelling, EventType::Cancelling, "jobs.cancelling")
                }
                Status::Queued | Status::Scheduled | Status::Waiting | Status::Blocked | Status::Paused => {
                    (Status::Cancelled, EventType::Cancelled, "jobs.cancelled")
                }
                Status::Retrying
                | Status::Completed
                | Status::CompletedWithWarnings
                | Status::Failed
                | Status::Cancelling
                | Status::Cancelled
                | Status::Skipped
                | Status::Expired => return Ok(Acted::no(None)),
            };
            if self
                .advance(tx, job, to, MoveDetails::event(NewEvent::info(kind)))
                .await?
            {
                after.messages.push(Message::about(event, job));
                return Ok(Acted::done(&job.id));
            }
            self.look_again(tx, job).await?;
        }
        Ok(Acted::no(None))
    }

    async fn ask_to_pause(&self, tx: &mut Tx, job: &mut Job) -> Result<Acted, JobsError> {
        if !job.capabilities.pausable {
            return Ok(Acted::no(Some("not_pausable")));
        }
        let with = || MoveDetails::event(NewEvent::info(EventType::Pausing));
        if job.status == Status::Running && self.advance(tx, job, Status::Pausing, with()).await? {
            return Ok(Acted::done(&job.id));
        }
        Ok(Acted::no(None))
    }

    async fn resume(&self, tx: &mut Tx, job: &mut Job, after: &mut After) -> Result<Acted, JobsError> {
        let ready = job.status == Status::Paused
            && job.capabilities.resumable
            && self.0.types.get(&job.type_key).is_some();
        let with = || MoveDetails::event(NewEvent::info(EventType::Resumed));
        if ready && self.advance(tx, job, Status::Queued, with()).await? {
            after.messages.push(Message::about("jobs.resumed", job));
            return Ok(Acted::done(&job.id));
        }
        Ok(Acted::no(Some("not_resumable")))
    }

    async fn retry(&self, tx: &mut Tx, job: &mut Job, after: &mut After) -> Result<Acted, JobsError> {
        if !job.capabilities.retryable || self.0.types.get(&job.type_key).is_none() {
            return Ok(Acted::no(Some("not_retryable")));
        }
        if job.status != Status::Failed || !repo::jobs::has_input(tx, &job.id).await? {
            return Ok(Acted::no(Some("not_failed")));
        }
        // While the job was failed, another job with the same idempotency key may have begun.
        if let Some(key) = repo::jobs::idempotency_key(tx, &job.id).await?
            && repo::jobs::find_active(tx, &key).await?.is_some()
        {
            return Ok(Acted::no(Some("already_active")));
        }
        let event = NewEvent::info(EventType::RetryScheduled)
            .metadata(json!({ "attempt": job.attempt + 1, "delayMs": 0 }));
        match self.again(tx, job, event, None, &mut after.messages).await {
            Ok(()) => Ok(Acted::done(&job.id)),
            Err(JobsError::LeaseLost(_)) => Ok(Acted::no(Some("not_failed"))),
            Err(error) => Err(error),
        }
    }

    /// Queues a new job with the input of an ended one.
    async fn rerun(
        &self,
        tx: &mut Tx,
        job: &Job,
        caller: &Requester,
        after: &mut After,
    ) -> Result<Acted, JobsError> {
        let job_type = self.0.types.get(&job.type_key).ok_or(JobsError::NotRerunnable)?;
        let input = repo::jobs::input(tx, &job.id)
            .await?
            .ok_or(JobsError::NotRerunnable)?;
        let new = NewJob {
            source: Source::Manual,
            name: job.name.clone(),
            description: job.description.clone(),
            input_summary: job.input_summary.clone(),
            resource: job.resource_type.clone().zip(job.resource_id.clone()),
            library_id: job.library_id.clone(),
            media_item_id: job.media_item_id.clone(),
            priority: job.priority,
            created_by: Some(caller.principal.user_id.to_string()),
            correlation_id: job.correlation_id.clone(),
            visibility: job.visibility,
            metadata: Some(json!({ "rerunOfJobId": job.id })),
            ..NewJob::new(job_type.key, input)
        };
        let enqueued = self.enqueue(tx, new).await?;
        let acted = Acted::done(enqueued.id());
        after.enqueued = Some(enqueued);
        Ok(acted)
    }

    /// Reads the job again after another task has moved it.
    async fn look_again(&self, tx: &mut Tx, job: &mut Job) -> Result<(), JobsError> {
        *job = repo::jobs::find(tx, &job.id).await?.ok_or(JobsError::NotFound)?;
        Ok(())
    }
}

/// Checks the permission to control a job; the permission to see it is not enough.
fn may_act(principal: &Principal, job: &Job) -> Result<(), JobsError> {
    let allowed = match job.permission() {
        Ok(None) => true,
        Ok(Some(permission)) => principal.has_permission(permission),
        Err(_) => principal.is_super_admin(),
    };
    if allowed {
        Ok(())
    } else {
        let needed = job.required_permission.clone().unwrap_or_default();
        Err(JobsError::Requires(needed))
    }
}
