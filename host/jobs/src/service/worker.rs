//! Worker of this process: claims jobs as places come free, runs them, prolongs their leases, and stops in
//! order.
//!
//! It looks for jobs when it is woken, when a job falls due, and, where another process may have queued one,
//! every [`Pace::poll`](crate::Pace). Bounds: `jobs.workerPlaces` jobs at once, and per type as many as the
//! type allows, in all and of one user. A stopping worker claims nothing more, asks its handlers to end, and abandons the jobs that
//! have not ended after [`Pace::drain`](crate::Pace).

use std::panic::AssertUnwindSafe;
use std::slice;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_util::FutureExt as _;
use qm_db::{Backend, Tx};
use qm_kernel::{Timestamp, as_error};
use qm_platform::panic_text;
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;

use super::context::JobContext;
use super::messages::Message;
use super::running_jobs::{LastProgress, RunningJob};
use super::settle::{Ended, Outcome};
use super::types::{JobError, JobType};
use super::{Jobs, lock};
use crate::error::JobsError;
use crate::model::event::{EventType, NewEvent};
use crate::model::job::Job;
use crate::model::schedule::STALL_DETECTOR;
use crate::model::status::Status;
use crate::repo;
use crate::repo::events::Numbered;
use crate::repo::moves::{Claimant, Claimed};
use crate::settings::WORKER_PLACES;

/// Names of the worker's own loops.
const DISPATCHER: &str = "platform_job_dispatcher";
const LEASES: &str = "platform_job_leases";

/// Result of a search for due jobs.
#[derive(Clone, Debug, Default)]
pub(super) struct Look {
    /// Ids of the jobs to begin, in order.
    pub(super) ids: Vec<String>,
    /// Due time of the next waiting job, where a place is free for it.
    pub(super) due: Option<Timestamp>,
}

/// Module of the detector of stalled jobs, as clients know it.
const JOBS: &str = "jobs_center";
/// Time after the drain to write the results of abandoned runs.
const LAST_WORDS: Duration = Duration::from_secs(5);

impl Jobs {
    /// Recovers jobs that an earlier process left, then begins to work. Types must be registered before.
    pub async fn start(&self) -> Result<(), JobsError> {
        self.recover().await?;
        let background = &self.0.background;
        let pace = &self.0.pace;
        let jobs = self.clone();
        background.supervise(DISPATCHER, self.longest_pause(), move |stop| {
            jobs.clone().dispatch_loop(stop)
        });
        let (jobs, name, every) = (self.clone(), LEASES, self.renewal());
        background.every(name, every, move || {
            let jobs = jobs.clone();
            async move { jobs.tend().await }
        });
        let (jobs, name, every) = (self.clone(), STALL_DETECTOR, pace.stall_scan);
        background.for_module(JOBS).every(name, every, move || {
            let jobs = jobs.clone();
            async move { jobs.look_for_stalled().await }
        });
        self.schedule_retention();
        Ok(())
    }

    /// Interval between two renewals of the leases.
    fn renewal(&self) -> Duration {
        self.0.pace.lease / 3
    }

    /// Stops claiming jobs and asks the running ones to end.
    pub fn drain(&self) {
        self.0.draining.store(true, Ordering::Release);
        for hand in self.0.running_jobs.all() {
            hand.stop();
        }
    }

    /// Number of jobs that this worker runs.
    pub fn running(&self) -> usize {
        self.0.running_jobs.len()
    }

    pub(super) fn is_draining(&self) -> bool {
        self.0.draining.load(Ordering::Acquire)
    }

    /// Drains and waits until the running jobs have ended; those that take too long are interrupted.
    pub async fn shutdown(&self) {
        self.drain();
        self.0.runs.close();
        if tokio::time::timeout(self.0.pace.drain, self.0.runs.wait())
            .await
            .is_ok()
        {
            return;
        }
        tracing::warn!(
            jobs = self.0.running_jobs.len(),
            "jobs took too long to stop and are interrupted"
        );
        self.0.abandoned.cancel();
        if tokio::time::timeout(LAST_WORDS, self.0.runs.wait())
            .await
            .is_err()
        {
            tracing::warn!(
                "some jobs were left as they are; the next start tells that they were interrupted"
            );
        }
    }

    async fn dispatch_loop(self, stop: CancellationToken) {
        // A search is never cut off: jobs that it claimed would have no owner.
        while !stop.is_cancelled() && !self.is_draining() {
            let pause = match self.dispatch().await {
                Ok(due) => self.pause_until(due),
                Err(error) => {
                    let cause = as_error(&error);
                    tracing::warn!(error = cause, "jobs cannot be begun at the moment");
                    self.0.pace.poll
                }
            };
            let woken = tokio::time::timeout(pause, self.0.wake.notified());
            let _ = stop.run_until_cancelled(woken).await;
        }
    }

    /// Longest pause between two searches while nothing wakes the worker.
    fn longest_pause(&self) -> Duration {
        match self.0.db.backend() {
            Backend::Sqlite => self.0.pace.idle_poll,
            // Another server may have queued a job.
            Backend::Postgres => self.0.pace.poll,
        }
    }

    fn pause_until(&self, due: Option<Timestamp>) -> Duration {
        let longest = self.longest_pause();
        due.map_or(longest, |due| due.since(self.0.ctx.now()).min(longest))
    }

    /// Begins as many jobs as there is room for; returns the due time of the next waiting job.
    pub(super) async fn dispatch(&self) -> Result<Option<Timestamp>, JobsError> {
        // A shutdown waits for this too.
        let _turn = self.0.runs.token();
        if self.is_draining() {
            return Ok(None);
        }
        let look = self.look_for_work().await?;
        let claimed = self.claim(&look.ids).await?;
        let all = claimed.len() == look.ids.len();
        for claimed in claimed {
            // A claimed job that is not begun would have no owner: from here on nothing waits or fails.
            self.begin(claimed);
        }
        if all {
            return Ok(look.due);
        }
        // Another worker was quicker with some. There may be more, and no message reports them.
        let soon = self.0.ctx.now().plus(self.0.pace.poll);
        Ok(Some(look.due.map_or(soon, |due| due.min(soon))))
    }

    /// Claims these jobs. One that cannot be read is failed, so that it blocks no other.
    pub(super) async fn claim(&self, ids: &[String]) -> Result<Vec<Claimed>, JobsError> {
        match self.claim_together(ids).await {
            Err(error) if !error.is_passing() => Ok(self.claim_singly(ids, &error).await),
            claimed => claimed,
        }
    }

    async fn claim_singly(&self, ids: &[String], error: &JobsError) -> Vec<Claimed> {
        tracing::warn!(%error, jobs = ids.len(), "jobs are taken one by one");
        let mut claimed = Vec::new();
        for id in ids {
            match self.claim_together(slice::from_ref(id)).await {
                Ok(one) => claimed.extend(one),
                // The claimed ones are begun in any case.
                Err(error) if error.is_passing() => break,
                Err(error) => self.fail_unreadable(id, &error).await,
            }
        }
        claimed
    }

    async fn claim_together(&self, ids: &[String]) -> Result<Vec<Claimed>, JobsError> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let now = self.0.ctx.now();
        let claimant = self.claimant(now);
        let mut tx = self.0.db.begin_write().await?;
        let mut claimed = Vec::new();
        for id in ids {
            claimed.extend(repo::moves::claim(&mut tx, id, &claimant, now).await?);
        }
        let events: Vec<Numbered<'_>> = claimed
            .iter()
            .map(|claimed| Numbered {
                job_id: &claimed.job.id,
                sequence: claimed.sequence,
                event: NewEvent::info(EventType::Started),
            })
            .collect();
        repo::events::add(&mut tx, &self.0.ctx, &events).await?;
        drop(events);
        // A stop was requested meanwhile: the rest is left to other workers and to the next start.
        if self.is_draining() {
            return Ok(Vec::new());
        }
        tx.commit().await?;
        Ok(claimed)
    }

    pub(super) fn claimant(&self, now: Timestamp) -> Claimant<'_> {
        Claimant {
            owner: &self.0.worker.owner,
            worker_id: &self.0.worker.id,
            until: now.plus(self.0.pace.lease),
        }
    }

    /// Searches for due jobs. Writes nothing.
    pub(super) async fn look_for_work(&self) -> Result<Look, JobsError> {
        self.0.tally.looks.inc();
        let now = self.0.ctx.now();
        let mut tx = self.0.db.begin_read().await?;
        let mut ids = Vec::new();
        if repo::moves::any_queued(&mut tx, now).await? {
            let free = self
                .places(&mut tx)
                .await?
                .saturating_sub(self.0.running_jobs.places());
            ids = self.candidates(&mut tx, now, free).await?;
            // A place that comes free wakes the worker anyway.
            if ids.len() == free {
                return Ok(Look { ids, due: None });
            }
        }
        let due = repo::moves::next_due(&mut tx, now).await?;
        Ok(Look { ids, due })
    }

    /// Ids of the jobs to begin, in order.
    async fn candidates(&self, tx: &mut Tx, now: Timestamp, free: usize) -> Result<Vec<String>, JobsError> {
        let mut found = Vec::new();
        for job_type in self.0.types.all() {
            let room = job_type.at_once.map_or(free, |most| {
                most.saturating_sub(self.0.running_jobs.count_of(job_type.key))
            });
            if room > 0 && free > 0 {
                let most = room.min(free);
                let of_one = job_type.at_once_of_one;
                found.extend(repo::moves::candidates(tx, job_type.key, now, most, of_one).await?);
            }
        }
        found.sort_by(|(one, high, since), (other, low, later)| {
            low.cmp(high)
                .then_with(|| since.cmp(later))
                .then_with(|| one.cmp(other))
        });
        Ok(found.into_iter().take(free).map(|(id, ..)| id).collect())
    }

    /// Number of jobs that this worker may run at once.
    async fn places(&self, tx: &mut Tx) -> Result<usize, JobsError> {
        if let Some(places) = self.0.pace.places {
            return Ok(places);
        }
        let places = self.0.settings.get(tx, &WORKER_PLACES).await?;
        Ok(usize::try_from(places).unwrap_or(1))
    }

    /// Runs a claimed job on a task of its own.
    fn begin(&self, claimed: Claimed) {
        let context = self.context(claimed, false);
        self.take_in_hand(&context);
        let (job, hand) = (&context.job, context.hand.clone());
        let span = tracing::info_span!("job", job.id = %job.id, job.r#type = %job.type_key);
        let run = self.clone().run(context, hand);
        self.0.runs.spawn(run.instrument(span));
    }

    /// Registers a job as running here: its lease is prolonged and it receives changes that others make.
    pub(super) fn take_in_hand(&self, context: &JobContext) {
        self.0.running_jobs.take(context.hand.clone());
        if self.is_draining() {
            context.hand.stop();
        }
        self.0.tally.running.set(self.0.running_jobs.len() as i64);
        self.tell_all(&[Message::about("jobs.started", &context.job)]);
    }

    /// The handler's context of a claimed job.
    pub(super) fn context(&self, claimed: Claimed, is_hosted: bool) -> JobContext {
        let job = claimed.job;
        let warnings = match &job.warnings {
            Some(Value::Array(warnings)) => warnings.clone(),
            _ => Vec::new(),
        };
        let told = LastProgress {
            percent: job.progress_percent,
            warnings,
            ..LastProgress::default()
        };
        JobContext {
            hand: Arc::new(RunningJob::new(
                claimed.lease,
                job.type_key.clone(),
                is_hosted,
                told,
            )),
            jobs: self.clone(),
            input: claimed.input.unwrap_or(Value::Null),
            checkpoint: claimed.checkpoint,
            job,
        }
    }

    async fn run(self, context: JobContext, hand: Arc<RunningJob>) {
        let job_type = self.0.types.get(&context.job.type_key);
        let outcome = match job_type {
            Some(job_type) => self.watched(&job_type, &context, &hand).await,
            // Only jobs with a known type are claimed, and types are never unregistered.
            None => Outcome::Interrupted,
        };
        let lease = hand.lease.clone();
        self.settle(Ended {
            lease,
            outcome,
            unstored: None,
        })
        .await;
    }

    /// Runs the handler and stops it on cancellation, loss of the lease or time-out.
    async fn watched(&self, job_type: &JobType, context: &JobContext, hand: &RunningJob) -> Outcome {
        let limit = context
            .job
            .timeout_seconds
            .and_then(|secs| u64::try_from(secs).ok());
        let work = async {
            // The call itself may panic too, before it returns a future.
            let run = AssertUnwindSafe(async { job_type.handler.run(context).await }).catch_unwind();
            match limit {
                None => run.await,
                Some(secs) => tokio::time::timeout(Duration::from_secs(secs), run)
                    .await
                    .unwrap_or_else(|_| {
                        let text = format!("It took longer than the {secs} seconds it may");
                        Ok(Err(JobError::new("timeout", text)))
                    }),
            }
        };
        let ended = tokio::select! {
            ended = work => ended,
            () = hand.lost.cancelled() => return Outcome::Lost,
            () = self.0.abandoned.cancelled() => return Outcome::Interrupted,
        };
        match ended {
            Ok(Ok(done)) => Outcome::Done(done),
            // It ended because it was asked to, not because of an error.
            Ok(Err(_)) if hand.is_stopping() => Outcome::Interrupted,
            Ok(Err(error)) => Outcome::Failed(error),
            Err(panic) => {
                tracing::error!(
                    job.id = context.job.id,
                    job.r#type = job_type.key,
                    panic = panic_text(panic.as_ref()),
                    "a job's handler panicked"
                );
                Outcome::Failed(JobError::new(
                    "panic",
                    "The job ended in an error of the server's",
                ))
            }
        }
    }

    /// Renews the leases of running jobs, passes on changes that others made, and takes over jobs of workers
    /// that are gone.
    pub(super) async fn tend(&self) {
        if let Err(error) = self.renew().await {
            let error = as_error(&error);
            tracing::warn!(error, "leases of jobs cannot be prolonged at the moment");
        }
        if !self.may_be_left() {
            return;
        }
        if let Err(error) = self.reap().await {
            let error = as_error(&error);
            tracing::warn!(
                error,
                "jobs of workers that are gone cannot be looked for at the moment"
            );
        }
    }

    /// True when an abandoned job may exist: left by another server, or by this worker when the answer to one
    /// of its writes got lost. On an idle SQLite server this is checked only now and then.
    fn may_be_left(&self) -> bool {
        if self.0.db.backend() == Backend::Postgres || self.0.running_jobs.len() > 0 {
            return true;
        }
        let (now, last) = (self.0.ctx.now(), *lock(&self.0.reaped_at));
        last.is_none_or(|last| now.since(last) >= self.0.pace.idle_poll)
    }

    async fn renew(&self) -> Result<(), JobsError> {
        let hands = self.0.running_jobs.all();
        if hands.is_empty() {
            return Ok(());
        }
        self.0.tally.looks.inc();
        let until = self.0.ctx.now().plus(self.0.pace.lease);
        let mut tx = self.0.db.begin_write().await?;
        let ids = hands.iter().map(|hand| hand.lease.job_id.as_str());
        let renewed = repo::moves::renew(&mut tx, &self.0.worker.owner, ids, until).await?;
        tx.commit().await?;
        for hand in hands {
            let lease = &hand.lease;
            let found = renewed
                .iter()
                .find(|(id, claim, _)| *id == lease.job_id && *claim == lease.claim);
            match found {
                Some((_, _, status)) => signal(&hand, status),
                // A job that ended meanwhile is not registered any more either, so nobody receives this.
                None => hand.lose(),
            }
        }
        Ok(())
    }

    /// Passes the changed state of a job to its handler, if it runs here.
    pub(super) fn signal(&self, job: &Job) {
        if let Some(hand) = self.0.running_jobs.get(&job.id)
            && hand.lease.claim == job.claim
        {
            signal(&hand, job.status.as_str());
        }
    }
}

fn signal(hand: &RunningJob, status: &str) {
    if status == Status::Cancelling.as_str() {
        hand.cancelled.cancel();
    } else if status == Status::Pausing.as_str() {
        hand.paused.cancel();
    }
}
