//! Hosted jobs: an area does the work itself and at once, because a request waits for it or because no other
//! process could do it.
//!
//! Such a job has a row, a lease, events and an end like any other. It is never queued and takes no place of
//! a worker. Its input is not stored, so nobody can repeat it with permissions that its creator may have
//! lost. While it runs, this server knows it in memory ([`HostedJobs`](super::hosted_jobs::HostedJobs)), with the progress of
//! that moment, whether or not it is stored yet; the progress is stored at most once in
//! [`Pace::progress_gap`](crate::Pace).
//!
//! On SQLite, work that a caller waits for and that ends within [`Pace::unstored_limit`](crate::Pace) is stored once,
//! at its end: most operations take a few milliseconds, less than an extra write at their begin. On
//! PostgreSQL it is always stored at its begin, because that write also stops a server that is no longer the
//! active one.

use std::sync::Arc;

use async_trait::async_trait;
use qm_db::{Backend, Tx};
use qm_kernel::{Permission, as_error};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;

use super::Jobs;
use super::context::{JobContext, Progress};
use super::enqueue::CREATION_EVENTS;
use super::hosted_jobs::{Entry, HostedView};
use super::messages::Message;
use super::running_jobs::RunningJob;
use super::settle::{Ended, Outcome};
use super::transitions::MoveDetails;
use super::types::{Done, JobError, JobHandler, JobType};
use crate::error::JobsError;
use crate::model::event::{EventType, NewEvent};
use crate::model::job::{Capabilities, Job, NewJob};
use crate::model::status::Status;
use crate::repo;
use crate::repo::jobs::Hidden;
use crate::repo::moves::Claimed;

/// Largest number of jobs in a list of one module.
const MOST_LISTED: i64 = 1000;

/// A hosted job that is running. When this is dropped without [`Hosted::end`], the job fails.
#[must_use = "the job fails when this is dropped"]
pub struct Hosted {
    context: Arc<JobContext>,
    entry: Entry,
    end: oneshot::Sender<Ending>,
}

/// End of hosted work that is not written yet.
struct Ending {
    warning: Option<String>,
    outcome: Outcome,
}

impl JobType {
    /// A type for hosted jobs: cancellable, with one attempt.
    pub fn hosted(
        key: &'static str,
        module: &'static str,
        label_key: &'static str,
        required_permission: Option<Permission>,
    ) -> Self {
        Self {
            key,
            module,
            workspace: Some(module),
            label_key,
            description_key: None,
            required_permission,
            capabilities: Capabilities {
                cancellable: true,
                ..Capabilities::default()
            },
            max_attempts: 1,
            timeout: None,
            at_once: None,
            at_once_of_one: None,
            handler: Arc::new(NotHere),
        }
    }
}

/// Handler of hosted types; never called, because such jobs are never queued.
struct NotHere;

#[async_trait]
impl JobHandler for NotHere {
    async fn run(&self, _: &JobContext) -> Result<Done, JobError> {
        let text = "A job of this type is done by whoever asks for it, and cannot be done again";
        Err(JobError::new("not_runnable", text).permanent())
    }
}

impl Jobs {
    /// Stores a job that begins now and whose work the caller does. The input is not stored, and an
    /// idempotency key in use is an error.
    pub async fn begin_hosted(&self, new: NewJob) -> Result<Hosted, JobsError> {
        let now = self.0.ctx.now();
        let summary = new.input_summary.clone();
        let mut tx = self.0.db.begin_write().await?;
        let enqueued = self.enqueue_without_input(&mut tx, new).await?;
        if !enqueued.is_fresh() {
            return Err(JobsError::KeyInUse(enqueued.id().to_owned()));
        }
        let claimed = repo::moves::claim(&mut tx, enqueued.id(), &self.claimant(now), now).await?;
        let claimed = claimed.ok_or_else(|| JobsError::LeaseLost(enqueued.id().to_owned()))?;
        let started = NewEvent::info(EventType::Started);
        repo::events::add_one(&mut tx, &self.0.ctx, enqueued.id(), claimed.sequence, started).await?;
        tx.commit().await?;
        self.announce(&enqueued);
        let context = Arc::new(self.context(claimed, true));
        self.take_in_hand(&context);
        let entry = Entry::new(self, &enqueued.job, summary, &context.hand);
        let (end, ending) = oneshot::channel();
        let span = span_of(&context);
        let kept = self
            .clone()
            .keep(context.clone(), async { ending.await.ok() }, None);
        self.0.runs.spawn(kept.instrument(span));
        Ok(Hosted { context, entry, end })
    }

    /// As [`Jobs::begin_hosted`], for work whose caller waits for its end: on SQLite it may be stored only at
    /// its end.
    pub async fn begin_awaited(&self, new: NewJob) -> Result<Hosted, JobsError> {
        let may_wait = self.0.db.backend() == Backend::Sqlite && !self.0.pace.unstored_limit.is_zero();
        // Only the database knows if a key is in use.
        if may_wait && new.idempotency_key.is_none() {
            self.begin_unstored(new)
        } else {
            self.begin_hosted(new).await
        }
    }

    /// Begins a job that is stored when its work ends, or when it takes longer than
    /// [`Pace::unstored_limit`](crate::Pace).
    fn begin_unstored(&self, new: NewJob) -> Result<Hosted, JobsError> {
        let summary = new.input_summary.clone();
        let (job, ..) = self.make(new, None)?;
        let claim = 1;
        let claimed = Claimed {
            lease: self.claimant(job.created_at).lease(&job.id, claim),
            job: Job {
                status: Status::Running,
                started_at: Some(job.created_at),
                claim,
                ..job.clone()
            },
            input: None,
            checkpoint: None,
            sequence: 0,
        };
        let context = Arc::new(self.context(claimed, true));
        if self.is_draining() {
            context.hand.stop();
        }
        let entry = Entry::new(self, &job, summary, &context.hand);
        let (end, ending) = oneshot::channel();
        let span = span_of(&context);
        let kept = self.clone().keep_unstored(context.clone(), ending, job);
        self.0.runs.spawn(kept.instrument(span));
        Ok(Hosted { context, entry, end })
    }

    async fn keep_unstored(self, context: Arc<JobContext>, mut ending: oneshot::Receiver<Ending>, job: Job) {
        let (hand, lease) = (context.hand.clone(), context.hand.lease.clone());
        let ended = match tokio::time::timeout(self.0.pace.unstored_limit, &mut ending).await {
            Ok(ended) => Some(ended.ok()),
            Err(_) => None,
        };
        // A warning needs a stored job.
        if let Some(ended @ (None | Some(Ending { warning: None, .. }))) = ended {
            let outcome = outcome(&context, &hand, ended).await;
            return self.settle_unstored(job, lease, outcome).await;
        }
        let unstored = match self.store_begun(&job).await {
            Ok(messages) => {
                self.tell_all(&messages);
                self.take_in_hand(&context);
                None
            }
            Err(error) => {
                // The work goes on; storing is tried again at its end.
                let error = as_error(&error);
                tracing::warn!(error, "work that has begun was not stored");
                Some(job)
            }
        };
        match ended {
            Some(ended) => self.keep(context, std::future::ready(ended), unstored).await,
            None => self.keep(context, async { ending.await.ok() }, unstored).await,
        }
    }

    /// Stores a job as begun; returns the messages to send.
    async fn store_begun(&self, job: &Job) -> Result<Vec<Message>, JobsError> {
        let mut messages = Vec::new();
        let mut tx = self.0.db.begin_write().await?;
        self.write_begun(&mut tx, job, &mut messages).await?;
        tx.commit().await?;
        // `take_in_hand` sends the `started` message.
        messages.pop();
        Ok(messages)
    }

    /// Writes a job that began when it was created.
    pub(super) async fn write_begun(
        &self,
        tx: &mut Tx,
        job: &Job,
        messages: &mut Vec<Message>,
    ) -> Result<(), JobsError> {
        let lost = || JobsError::LeaseLost(job.id.clone());
        if !repo::jobs::insert(tx, job, &Hidden::default(), CREATION_EVENTS).await? {
            return Err(lost());
        }
        self.tell_of_making(tx, job).await?;
        let begun = job.created_at;
        let claimed = repo::moves::claim(tx, &job.id, &self.claimant(begun), begun).await?;
        let claimed = claimed.ok_or_else(lost)?;
        let started = NewEvent::info(EventType::Started);
        repo::events::add_one(tx, &self.0.ctx, &job.id, claimed.sequence, started).await?;
        messages.push(Message::about("jobs.created", job));
        messages.push(Message::about("jobs.queued", job));
        messages.push(Message::about("jobs.started", &claimed.job));
        Ok(())
    }

    /// Holds the job until its work has ended, and writes the result.
    async fn keep(
        self,
        context: Arc<JobContext>,
        ending: impl Future<Output = Option<Ending>>,
        unstored: Option<Job>,
    ) {
        let hand = context.hand.clone();
        let mut ending = std::pin::pin!(ending);
        let outcome = loop {
            tokio::select! {
                ending = &mut ending => break outcome(&context, &hand, ending).await,
                () = hand.lost.cancelled() => break Outcome::Lost,
                () = self.0.abandoned.cancelled() => break Outcome::Interrupted,
                // Progress of a job without a row has no place.
                () = tokio::time::sleep(self.0.pace.progress_gap), if unstored.is_none() => {
                    self.store_progress(&context).await;
                }
            }
        };
        let lease = hand.lease.clone();
        self.settle(Ended {
            lease,
            outcome,
            unstored,
        })
        .await;
    }

    /// Stores the present progress of hosted work if it has changed.
    async fn store_progress(&self, context: &JobContext) {
        let Some(hosted) = self.0.hosted_jobs.get(context.id()) else {
            return;
        };
        let Some(progress) = hosted.find_new_progress() else {
            return;
        };
        match context.store_progress(progress.clone()).await {
            Ok(true) => hosted.note_stored(progress),
            // It is as new the next time.
            Ok(false) => {}
            Err(error) => tracing::debug!(%error, "the progress of a hosted job was not stored"),
        }
    }

    /// Asks a hosted job to end, on any server; `true` when there was one to ask. One of this server hears of it whatever the
    /// database says, another server when it next prolongs its leases. The caller has checked the permission.
    pub async fn cancel_hosted(&self, id: &str) -> Result<bool, JobsError> {
        let here = self.0.hosted_jobs.get(id);
        let was_asked = here
            .as_ref()
            .is_none_or(|hosted| hosted.hand.cancelled.is_cancelled());
        let moved = self.store_cancelling(id).await;
        let Some(here) = here else {
            return moved;
        };
        here.hand.cancelled.cancel();
        let moved = moved.unwrap_or_else(|error| {
            let error = as_error(&error);
            tracing::warn!(
                error,
                job.id = id,
                "the cancellation of a hosted job was not stored"
            );
            false
        });
        Ok(moved || !was_asked)
    }

    /// Moves a running job to `cancelling`; `false` when none is stored as running.
    async fn store_cancelling(&self, id: &str) -> Result<bool, JobsError> {
        let mut tx = self.0.db.begin_write().await?;
        let Some(mut job) = repo::jobs::find(&mut tx, id).await? else {
            return Ok(false);
        };
        let with = MoveDetails::event(NewEvent::info(EventType::Cancelling));
        let moved = job.status == Status::Running
            && self.advance(&mut tx, &mut job, Status::Cancelling, with).await?;
        if moved {
            let (jobs, cancelling) = (self.clone(), job.clone());
            tx.after_commit(move || jobs.signal(&cancelling));
            tx.commit().await?;
            self.tell_all(&[Message::about("jobs.cancelling", &job)]);
        }
        Ok(moved)
    }

    /// The hosted jobs of a module, the oldest first: those of this server as they are now, and those of others on the same
    /// database, of which at most 1,000, as they were when that was last stored.
    pub async fn hosted_of(&self, module: &str) -> Result<Vec<HostedView>, JobsError> {
        let elsewhere = self.hosted_elsewhere(module).await?;
        let mut views = self.0.hosted_jobs.views(module);
        let elsewhere: Vec<_> = elsewhere
            .into_iter()
            .filter(|job| views.iter().all(|here| here.id != job.id))
            .collect();
        views.extend(elsewhere);
        views.sort_by(|a, b| (a.started_at, &a.id).cmp(&(b.started_at, &b.id)));
        Ok(views)
    }

    /// The first hosted job of a module that is wanted. One of this server is found without the database.
    pub async fn find_hosted(
        &self,
        module: &str,
        is_wanted: impl Fn(&HostedView) -> bool,
    ) -> Result<Option<HostedView>, JobsError> {
        let here = self.0.hosted_jobs.views(module);
        if let Some(found) = here.into_iter().find(&is_wanted) {
            return Ok(Some(found));
        }
        let elsewhere = self.hosted_elsewhere(module).await?;
        Ok(elsewhere.into_iter().find(is_wanted))
    }

    /// The running jobs of a module that other servers hold, the oldest first.
    async fn hosted_elsewhere(&self, module: &str) -> Result<Vec<HostedView>, JobsError> {
        let mut tx = self.0.db.begin_read().await?;
        let jobs = repo::moves::held_of_module(&mut tx, module, MOST_LISTED).await?;
        // A job that has just ended here may still be stored as running for a moment.
        let here = Some(self.0.worker.owner.as_str());
        let elsewhere = jobs.into_iter().filter(|job| job.lease_owner.as_deref() != here);
        Ok(elsewhere.map(HostedView::from_job).collect())
    }

    /// Asks the hosted jobs of a module on this server to end, without waiting for them.
    pub fn cancel_all_hosted(&self, module: &str) {
        self.0.hosted_jobs.cancel(module);
    }

    /// Asks the hosted jobs of a module on this server to end, and waits until they have; also those that begin meanwhile.
    pub async fn end_all_hosted(&self, module: &str) {
        self.0.hosted_jobs.end(module).await;
    }
}

fn span_of(context: &JobContext) -> tracing::Span {
    tracing::info_span!("job", job.id = %context.job.id, job.r#type = %context.job.type_key)
}

/// Outcome of work whose owner dropped its handle without an end.
fn given_up() -> Outcome {
    let text = "The work ended in an error of the server's";
    Outcome::Failed(JobError::new("given_up", text).permanent())
}

async fn outcome(context: &JobContext, hand: &RunningJob, ending: Option<Ending>) -> Outcome {
    let Some(Ending { warning, outcome }) = ending else {
        return given_up();
    };
    if let Some(warning) = warning
        && let Err(error) = context.warning(&warning).await
    {
        tracing::warn!(%error, "a warning about a job was not stored");
    }
    match outcome {
        // The work failed because the server stops.
        Outcome::Failed(_) if hand.is_stopping() => Outcome::Interrupted,
        other => other,
    }
}

impl Hosted {
    pub fn id(&self) -> &str {
        self.context.id()
    }

    /// Token that fires when the work must end: the job was cancelled, or the server stops.
    pub fn cancellation(&self) -> CancellationToken {
        self.context.hand.cancelled.clone()
    }

    /// Sets the source of the present progress, once: it is asked when the job is listed, and when its progress is stored. It
    /// must not block.
    pub fn follow_progress(&self, source: impl Fn() -> Progress + Send + Sync + 'static) {
        self.entry.hosted.follow(Box::new(source));
    }

    /// Ends the work with its result, and its listing here; with a warning, the job ends as `completed_with_warnings`. It is
    /// written as soon as the database accepts it.
    pub fn end(self, warning: Option<String>, result: Result<Done, JobError>) {
        let outcome = match result {
            Ok(done) => Outcome::Done(done),
            Err(error) => Outcome::Failed(error),
        };
        // No receiver is left when the lease was lost or the server has stopped: the end is written there.
        let _ = self.end.send(Ending { warning, outcome });
    }
}
