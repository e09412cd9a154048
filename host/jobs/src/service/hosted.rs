//! Jobs whose work an area does itself, at once: because a request waits for it, or because nobody else could do it.
//!
//! Such a job has its row, its lease, its events and its end like any other. It never stands in the queue and takes no
//! worker's place, and its input is not stored: nobody can have it done again, with rights that its creator may have lost.
//!
//! On SQLite work that somebody waits for and that ends within [`Pace::brief`](crate::Pace) is stored once, at its end: most operations take a
//! few milliseconds, and a write of their own before would take longer than they do. On PostgreSQL it is always stored
//! before, for there the write is also what keeps a server from working that is no longer the active one.
//! Bounds: those of the area that does the work.

use std::sync::Arc;

use async_trait::async_trait;
use qm_db::{Backend, Tx};
use qm_kernel::{Permission, Timestamp};
use serde_json::Value;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;

use super::Jobs;
use super::context::JobContext;
use super::enqueue::MADE;
use super::hands::Hand;
use super::moving::With;
use super::settle::{Ended, Outcome};
use super::tell::Message;
use super::types::{Done, JobError, JobHandler, JobType};
use crate::error::JobsError;
use crate::model::event::{EventType, NewEvent};
use crate::model::job::{Capabilities, Job, NewJob};
use crate::model::status::Status;
use crate::repo;
use crate::repo::jobs::Hidden;
use crate::repo::moves::Claimed;

/// Jobs of one module that are listed.
const MOST_LISTED: i64 = 1000;

/// A job whose work is being done by whoever holds this. Dropped without [`Hosted::end`], the job has failed.
#[must_use = "the job fails when this is dropped"]
pub struct Hosted {
    context: Arc<JobContext>,
    end: oneshot::Sender<Ending>,
}

/// How hosted work ended, until it is written.
struct Ending {
    warning: Option<String>,
    outcome: Outcome,
}

/// A hosted job that is being worked at, on whichever server.
#[derive(Clone, Debug, PartialEq)]
pub struct HostedView {
    pub id: String,
    pub type_key: String,
    /// The id of its resource, where it has one.
    pub resource_id: Option<String>,
    pub created_by: Option<String>,
    /// The summary of the input, bounded and without secrets.
    pub input_summary: Option<Value>,
    pub started_at: Timestamp,
    /// This server works at it.
    pub is_held_here: bool,
    /// It was told to end and has not ended yet.
    pub is_cancelling: bool,
    pub progress_current: Option<i64>,
    pub progress_total: Option<i64>,
    /// Parameters of the sentence that was told last.
    pub message_params: Option<Value>,
}

impl JobType {
    /// A type whose jobs are hosted: cancellable, and done once.
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
            handler: Arc::new(NotHere),
        }
    }
}

/// The handler of hosted jobs; it is never called, for none of them is ever queued.
struct NotHere;

#[async_trait]
impl JobHandler for NotHere {
    async fn run(&self, _: &JobContext) -> Result<Done, JobError> {
        let text = "A job of this type is done by whoever asks for it, and cannot be done again";
        Err(JobError::new("not_runnable", text).permanent())
    }
}

impl Jobs {
    /// Stores a job that runs from now on, and whose work the caller does. Its input is not stored, and an idempotency key
    /// that is in use is an error.
    pub async fn begin_hosted(&self, new: NewJob) -> Result<Hosted, JobsError> {
        let now = self.0.ctx.now();
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
        let (end, ending) = oneshot::channel();
        let span = span_of(&context);
        let kept = self
            .clone()
            .keep(context.clone(), async { ending.await.ok() }, None);
        self.0.runs.spawn(kept.instrument(span));
        Ok(Hosted { context, end })
    }

    /// As [`Jobs::begin_hosted`], for work whose caller waits for its end: on SQLite it may be stored only then.
    pub async fn begin_awaited(&self, new: NewJob) -> Result<Hosted, JobsError> {
        let may_wait = self.0.db.backend() == Backend::Sqlite && !self.0.pace.brief.is_zero();
        // Whether a key is in use only the database knows.
        if may_wait && new.idempotency_key.is_none() {
            self.begin_unstored(new)
        } else {
            self.begin_hosted(new).await
        }
    }

    /// A job that is stored when its work has ended, or when that takes longer than it may.
    fn begin_unstored(&self, new: NewJob) -> Result<Hosted, JobsError> {
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
        let (end, ending) = oneshot::channel();
        let span = span_of(&context);
        let kept = self.clone().keep_unstored(context.clone(), ending, job);
        self.0.runs.spawn(kept.instrument(span));
        Ok(Hosted { context, end })
    }

    async fn keep_unstored(self, context: Arc<JobContext>, mut ending: oneshot::Receiver<Ending>, job: Job) {
        let (hand, lease) = (context.hand.clone(), context.hand.lease.clone());
        let ended = match tokio::time::timeout(self.0.pace.brief, &mut ending).await {
            Ok(ended) => Some(ended.ok()),
            Err(_) => None,
        };
        // A warning is written to a job that stands.
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
                // The work goes on; what can be stored of it is tried again at its end.
                let error = &error as &dyn std::error::Error;
                tracing::warn!(error, "work that has begun was not stored");
                Some(job)
            }
        };
        match ended {
            Some(ended) => self.keep(context, std::future::ready(ended), unstored).await,
            None => self.keep(context, async { ending.await.ok() }, unstored).await,
        }
    }

    /// Stores a job with its beginning; what is to be told then.
    async fn store_begun(&self, job: &Job) -> Result<Vec<Message>, JobsError> {
        let mut messages = Vec::new();
        let mut tx = self.0.db.begin_write().await?;
        self.write_begun(&mut tx, job, &mut messages).await?;
        tx.commit().await?;
        // `take_in_hand` tells of the start.
        messages.pop();
        Ok(messages)
    }

    /// Writes a job that was begun when it was made.
    pub(super) async fn write_begun(
        &self,
        tx: &mut Tx,
        job: &Job,
        messages: &mut Vec<Message>,
    ) -> Result<(), JobsError> {
        let lost = || JobsError::LeaseLost(job.id.clone());
        if !repo::jobs::insert(tx, job, &Hidden::default(), MADE).await? {
            return Err(lost());
        }
        self.tell_of_making(tx, job).await?;
        let begun = job.created_at;
        let claimed = repo::moves::claim(tx, &job.id, &self.claimant(begun), begun).await?;
        let claimed = claimed.ok_or_else(lost)?;
        let started = NewEvent::info(EventType::Started);
        repo::events::add_one(tx, &self.0.ctx, &job.id, claimed.sequence, started).await?;
        messages.push(Message::of("jobs.created", job));
        messages.push(Message::of("jobs.queued", job));
        messages.push(Message::of("jobs.started", &claimed.job));
        Ok(())
    }

    /// Holds the job until its work has ended, and writes how.
    async fn keep(
        self,
        context: Arc<JobContext>,
        ending: impl Future<Output = Option<Ending>>,
        unstored: Option<Job>,
    ) {
        let hand = context.hand.clone();
        let outcome = tokio::select! {
            ending = ending => outcome(&context, &hand, ending).await,
            () = hand.lost.cancelled() => Outcome::Lost,
            () = self.0.abandoned.cancelled() => Outcome::Interrupted,
        };
        let lease = hand.lease.clone();
        self.settle(Ended {
            lease,
            outcome,
            unstored,
        })
        .await;
    }

    /// Tells a hosted job to end, whichever server works at it; whether there was anything to end. The caller has judged
    /// who asks.
    pub async fn cancel_hosted(&self, id: &str) -> Result<bool, JobsError> {
        let mut tx = self.0.db.begin_write().await?;
        let Some(mut job) = repo::jobs::find(&mut tx, id).await? else {
            return Ok(false);
        };
        let with = With::event(NewEvent::info(EventType::Cancelling));
        let moved = job.status == Status::Running
            && self.advance(&mut tx, &mut job, Status::Cancelling, with).await?;
        if moved {
            let (jobs, cancelling) = (self.clone(), job.clone());
            tx.after_commit(move || jobs.signal(&cancelling));
            tx.commit().await?;
            self.tell_all(&[Message::of("jobs.cancelling", &job)]);
        }
        Ok(moved)
    }

    /// The jobs of a module that somebody works at, the oldest first; 1,000 at most.
    pub async fn hosted_of(&self, module: &str) -> Result<Vec<HostedView>, JobsError> {
        let mut tx = self.0.db.begin_read().await?;
        let jobs = repo::moves::held_of_module(&mut tx, module, MOST_LISTED).await?;
        let owner = &self.0.worker.owner;
        Ok(jobs.into_iter().map(|job| HostedView::of(job, owner)).collect())
    }
}

fn span_of(context: &JobContext) -> tracing::Span {
    tracing::info_span!("job", job.id = %context.job.id, job.r#type = %context.job.type_key)
}

/// The end of work whose owner went away without a word.
fn given_up() -> Outcome {
    let text = "The work ended in an error of the server's";
    Outcome::Failed(JobError::new("given_up", text).permanent())
}

async fn outcome(context: &JobContext, hand: &Hand, ending: Option<Ending>) -> Outcome {
    let Some(Ending { warning, outcome }) = ending else {
        return given_up();
    };
    if let Some(warning) = warning
        && let Err(error) = context.warning(&warning).await
    {
        tracing::warn!(%error, "a warning about a job was not stored");
    }
    match outcome {
        // It ended because the server does.
        Outcome::Failed(_) if hand.is_stopping() => Outcome::Interrupted,
        other => other,
    }
}

impl Hosted {
    pub fn id(&self) -> &str {
        self.context.id()
    }

    /// Cancelled when the work is to end: somebody cancelled the job, or the server stops.
    pub fn cancellation(&self) -> CancellationToken {
        self.context.hand.cancelled.clone()
    }

    /// To tell how it goes with; good for nothing once the job has ended.
    pub fn context(&self) -> Arc<JobContext> {
        self.context.clone()
    }

    /// How the work ended; with a warning, the job completes with that. It is written soon after, as soon as the database
    /// takes it.
    pub fn end(self, warning: Option<String>, result: Result<Done, JobError>) {
        let outcome = match result {
            Ok(done) => Outcome::Done(done),
            Err(error) => Outcome::Failed(error),
        };
        // Nobody listens any more when the job was lost or the server has stopped: then that is written.
        let _ = self.end.send(Ending { warning, outcome });
    }
}

impl HostedView {
    fn of(job: Job, here: &str) -> Self {
        Self {
            is_held_here: job.lease_owner.as_deref() == Some(here),
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
