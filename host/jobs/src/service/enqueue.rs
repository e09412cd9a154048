//! Creation of jobs.

use std::time::Duration;

use qm_db::Tx;
use serde_json::{Value, json};

use super::Jobs;
use super::messages::Message;
use super::types::JobType;
use crate::error::JobsError;
use crate::model::event::{EventType, Level, NewEvent};
use crate::model::job::{Job, NewJob};
use crate::model::redact;
use crate::repo;
use crate::repo::events::Numbered;
use crate::repo::jobs::Hidden;
use crate::repo::moves::Lease;

/// Largest input and checkpoint, in bytes of JSON.
pub(super) const MAX_DATA: usize = 256 * 1024;
/// Bound on priorities, in both directions.
const MOST_PRIORITY: i64 = 1000;
/// Number of events stored when a job is created.
pub(super) const CREATION_EVENTS: i64 = 2;
/// Attempts to find the active job of an idempotency key while that job is just ending.
const TRIES: usize = 5;

/// A job that is stored once the transaction of its creation commits.
#[must_use = "hand it to Jobs::announce after the commit, or nobody who watches hears of it"]
#[derive(Clone, Debug)]
pub struct Enqueued {
    pub(super) job: Job,
    fresh: bool,
}

impl Enqueued {
    pub fn id(&self) -> &str {
        &self.job.id
    }

    /// True when the job was created now; false when an active job with the same idempotency key was
    /// returned.
    pub fn is_fresh(&self) -> bool {
        self.fresh
    }
}

impl Jobs {
    /// Creates a job in the transaction of the change that needs it: both are committed or neither. Call
    /// [`Jobs::announce`] after the commit.
    pub async fn enqueue(&self, tx: &mut Tx, new: NewJob) -> Result<Enqueued, JobsError> {
        self.enqueue_under(tx, new, None).await
    }

    /// Creates a job in a transaction of its own; returns its id.
    pub async fn submit(&self, new: NewJob) -> Result<String, JobsError> {
        let mut tx = self.0.db.begin_write().await?;
        let enqueued = self.enqueue(&mut tx, new).await?;
        tx.commit().await?;
        self.announce(&enqueued);
        Ok(enqueued.job.id)
    }

    /// Sends the messages about a new job whose transaction has committed.
    pub fn announce(&self, enqueued: &Enqueued) {
        if !enqueued.fresh {
            return;
        }
        let mut messages = vec![
            Message::about("jobs.created", &enqueued.job),
            Message::about("jobs.queued", &enqueued.job),
        ];
        if enqueued.job.parent_job_id.is_some() {
            messages.push(Message::about("jobs.child_created", &enqueued.job));
        }
        self.tell_all(&messages);
    }

    /// As [`Jobs::enqueue`], but without storing the input, so that the job cannot be repeated.
    pub(super) async fn enqueue_without_input(
        &self,
        tx: &mut Tx,
        new: NewJob,
    ) -> Result<Enqueued, JobsError> {
        self.store(tx, new, None, false).await
    }

    /// Creates a job; `parent` is the requesting job and its lease, and a worker that lost the lease creates
    /// no children.
    pub(super) async fn enqueue_under(
        &self,
        tx: &mut Tx,
        new: NewJob,
        parent: Option<(&Job, &Lease)>,
    ) -> Result<Enqueued, JobsError> {
        self.store(tx, new, parent, true).await
    }

    async fn store(
        &self,
        tx: &mut Tx,
        new: NewJob,
        parent: Option<(&Job, &Lease)>,
        with_input: bool,
    ) -> Result<Enqueued, JobsError> {
        let (job, input, key) = self.make(new, parent.map(|(job, _)| job))?;
        let hidden = Hidden {
            input: with_input.then_some(&input),
            idempotency_key: key.as_deref(),
        };
        for _ in 0..TRIES {
            if repo::jobs::insert(tx, &job, &hidden, CREATION_EVENTS).await? {
                self.tell_of_making(tx, &job).await?;
                if let Some((_, lease)) = parent {
                    self.note_child(tx, lease, &job).await?;
                }
                let jobs = self.clone();
                // Not left to `announce`: the caller's future may be dropped between the commit and that
                // call.
                tx.after_commit(move || jobs.0.wake.notify_one());
                return Ok(Enqueued { job, fresh: true });
            }
            if let Some(key) = &key
                && let Some(active) = repo::jobs::find_active(tx, key).await?
            {
                return Ok(Enqueued {
                    job: active,
                    fresh: false,
                });
            }
        }
        Err(JobsError::KeyInUse(job.id))
    }

    pub(super) async fn tell_of_making(&self, tx: &mut Tx, job: &Job) -> Result<(), JobsError> {
        let event = |sequence, kind| Numbered {
            job_id: &job.id,
            sequence,
            event: NewEvent::info(kind),
        };
        let events = [event(1, EventType::Created), event(2, EventType::Queued)];
        Ok(repo::events::add(tx, &self.0.ctx, &events).await?)
    }

    async fn note_child(&self, tx: &mut Tx, lease: &Lease, child: &Job) -> Result<(), JobsError> {
        let now = self.0.ctx.now();
        let sequence = repo::moves::note(tx, lease, None, now)
            .await?
            .ok_or_else(|| JobsError::LeaseLost(lease.job_id.clone()))?;
        let event = NewEvent::new(EventType::ChildCreated, Level::Info)
            .metadata(json!({ "childJobId": child.id, "type": child.type_key }));
        Ok(repo::events::add_one(tx, &self.0.ctx, &lease.job_id, sequence, event).await?)
    }

    /// Builds the job, its input and its idempotency key. Stores nothing.
    pub(super) fn make(
        &self,
        new: NewJob,
        parent: Option<&Job>,
    ) -> Result<(Job, Value, Option<String>), JobsError> {
        let job_type = self
            .0
            .types
            .get(new.type_key)
            .ok_or_else(|| JobsError::UnknownType(new.type_key.to_owned()))?;
        bounded("input", new.type_key, &new.input)?;
        Ok(self.make_of(&job_type, new, parent))
    }

    fn make_of(&self, job_type: &JobType, new: NewJob, parent: Option<&Job>) -> (Job, Value, Option<String>) {
        let (id, now) = (self.0.ctx.ordered_id(), self.0.ctx.now());
        let (resource_type, resource_id) = match new.resource {
            Some((kind, id)) => (Some(redact::clip(kind)), Some(redact::clip(id))),
            None => (None, None),
        };
        let root_job_id = parent.map_or_else(|| id.clone(), |parent| parent.root_job_id.clone());
        let correlation_id = new
            .correlation_id
            .map(redact::clip)
            .or_else(|| parent.and_then(|parent| parent.correlation_id.clone()));
        let seconds = |limit: Duration| i64::try_from(limit.as_secs().max(1)).unwrap_or(i64::MAX);
        let job = Job {
            name: new.name.map(redact::clip),
            description: new.description.map(redact::clip),
            module_key: job_type.module.to_owned(),
            workspace_key: job_type.workspace.map(str::to_owned),
            source: new.source.as_str().to_owned(),
            resource_type,
            resource_id,
            library_id: new.library_id,
            media_item_id: new.media_item_id,
            priority: new.priority.clamp(-MOST_PRIORITY, MOST_PRIORITY),
            max_attempts: i64::from(new.max_attempts.unwrap_or(job_type.max_attempts).max(1)),
            created_by_id: new
                .created_by
                .or_else(|| parent.and_then(|parent| parent.created_by_id.clone())),
            correlation_id,
            parent_job_id: parent.map(|parent| parent.id.clone()),
            root_job_id,
            schedule_id: new.schedule_id.map(str::to_owned),
            required_permission: job_type
                .required_permission
                .map(|permission| permission.key().to_owned()),
            visibility: new.visibility,
            timeout_seconds: new.timeout.or(job_type.timeout).map(seconds),
            input_summary: new.input_summary.map(redact::value),
            metadata: new.metadata.map(redact::value),
            ..Job::new(id, job_type.key.to_owned(), job_type.capabilities, now)
        };
        (job, new.input, new.idempotency_key)
    }
}

/// Refuses data that is too large for a row or nested too deeply to be read back.
pub(super) fn bounded(what: &'static str, type_key: &str, value: &Value) -> Result<(), JobsError> {
    let text = value.to_string();
    let bytes = text.len();
    if bytes > MAX_DATA {
        return Err(JobsError::TooLarge {
            what,
            type_key: type_key.to_owned(),
            bytes,
            most: MAX_DATA,
        });
    }
    // The parser accepts less nesting than a value in memory can have.
    if serde_json::from_str::<Value>(&text).is_err() {
        return Err(JobsError::TooDeep {
            what,
            type_key: type_key.to_owned(),
        });
    }
    Ok(())
}
