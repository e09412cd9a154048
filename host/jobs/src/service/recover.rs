//! Recovery of jobs that no worker runs any more: left by an earlier process or another node, of types that
//! no longer exist, or without a heartbeat. A row that cannot be read is ended without reading it, so it
//! blocks nothing else.

use std::time::Duration;

use qm_db::Backend;
use qm_kernel::{Timestamp, as_error};
use serde_json::json;

use super::messages::Message;
use super::transitions::{INTERRUPTED, failure_event, shown};
use super::types::JobError;
use super::{Jobs, lock};
use crate::error::JobsError;
use crate::model::event::{EventType, Level, NewEvent};
use crate::model::job::Job;
use crate::model::status::Status;
use crate::repo;
use crate::repo::moves::{Left, Step};

/// Jobs per search; the next search follows soon.
const AT_ONCE: i64 = 200;
/// Time that a job of an unknown type waits on PostgreSQL for a server that knows the type.
const UNKNOWN: Duration = Duration::from_hours(1);

impl Jobs {
    /// Ends abandoned jobs at the start. An SQLite file belongs to one process, and so does a PostgreSQL
    /// database whose active node this is: every held job there belongs to a process that is gone or can no
    /// longer write. Otherwise another process may be running, and its jobs are left alone until their leases
    /// end.
    pub(super) async fn recover(&self) -> Result<(), JobsError> {
        let db = &self.0.db;
        let before = if db.backend() == Backend::Sqlite || db.is_sole() {
            Timestamp::from_ms(i64::MAX)
        } else {
            self.0.ctx.now()
        };
        while self.take_over(before).await? == AT_ONCE as usize {}
        self.give_up_the_unknown().await
    }

    /// Takes over jobs whose lease has expired.
    pub(super) async fn reap(&self) -> Result<(), JobsError> {
        self.take_over(self.0.ctx.now()).await.map(drop)
    }

    /// Ends the jobs whose lease ended before `before`; returns their number.
    async fn take_over(&self, before: Timestamp) -> Result<usize, JobsError> {
        self.0.tally.looks.inc();
        let mut tx = self.0.db.begin_read().await?;
        let left = repo::moves::expired(&mut tx, before, AT_ONCE).await?;
        drop(tx);
        *lock(&self.0.reaped_at) = Some(self.0.ctx.now());
        let mut ended = 0;
        // A worker that failed to prolong its own leases keeps its jobs until another worker takes them.
        for left in left.iter().filter(|left| !self.has_in_hand(left)) {
            let over = match self.end_abandoned(left, before).await {
                Err(error) if !error.is_passing() => self.end_unreadable(left, before, &error).await,
                over => over,
            };
            match over {
                Ok(over) => ended += usize::from(over),
                Err(error) if error.is_passing() => return Err(error),
                Err(error) => {
                    let error = as_error(&error);
                    tracing::error!(error, job.id = left.id, "a job that was left cannot be ended");
                }
            }
        }
        Ok(ended)
    }

    fn has_in_hand(&self, left: &Left) -> bool {
        let hand = self.0.running_jobs.get(&left.id);
        hand.is_some_and(|hand| {
            hand.lease.claim == left.claim && left.owner.as_deref() == Some(&hand.lease.owner)
        })
    }

    async fn end_abandoned(&self, left: &Left, before: Timestamp) -> Result<bool, JobsError> {
        let mut messages = Vec::new();
        let mut tx = self.0.db.begin_write().await?;
        let claimant = self.claimant(self.0.ctx.now());
        let taken = repo::moves::take_over(&mut tx, left, &claimant, before).await?;
        let Some((lease, _)) = taken else {
            return Ok(false);
        };
        let Some(mut job) = repo::jobs::find(&mut tx, &left.id).await? else {
            return Ok(false);
        };
        if !self.interrupt(&mut tx, &mut job, &lease, &mut messages).await? {
            return Ok(false);
        }
        tx.commit().await?;
        tracing::warn!(
            job.id = job.id,
            job.r#type = job.type_key,
            worker = job.worker_id,
            status = job.status.as_str(),
            "a job was left by a worker that is gone"
        );
        self.tell_all(&messages);
        self.0.wake.notify_one();
        Ok(true)
    }

    /// Ends a job whose row cannot be read, without reading it.
    async fn end_unreadable(
        &self,
        left: &Left,
        before: Timestamp,
        cause: &JobsError,
    ) -> Result<bool, JobsError> {
        let now = self.0.ctx.now();
        let mut tx = self.0.db.begin_write().await?;
        let taken = repo::moves::take_over(&mut tx, left, &self.claimant(now), before).await?;
        let Some((lease, status)) = taken else {
            return Ok(false);
        };
        let (code, sentence) = shown(&unreadable());
        let (to, event) = if status == Status::Cancelling {
            let event = NewEvent::info(EventType::Cancelled).message(sentence.clone());
            (Status::Cancelled, event)
        } else {
            (Status::Failed, failure_event(&code, &sentence))
        };
        let step = Step {
            by: Some(&lease),
            error: Some((&code, &sentence)),
            ..Step::new(&left.id, status, to)
        };
        let Some(sequence) = repo::moves::step(&mut tx, &step, now).await? else {
            return Ok(false);
        };
        repo::events::add_one(&mut tx, &self.0.ctx, &left.id, sequence, event).await?;
        tx.commit().await?;
        log_unreadable(&left.id, cause);
        Ok(true)
    }

    /// Fails a queued job whose row cannot be read.
    pub(super) async fn fail_unreadable(&self, id: &str, cause: &JobsError) {
        match self.fail_queued(id, &unreadable()).await {
            Ok(true) => log_unreadable(id, cause),
            Ok(false) => {}
            Err(error) => {
                let (error, cause) = (as_error(&error), as_error(cause));
                tracing::error!(
                    error,
                    cause,
                    job.id = id,
                    "a job that cannot be read cannot be ended"
                );
            }
        }
    }

    /// Fails a queued job without reading or running it, by claiming it first; `true` when it was still
    /// queued.
    async fn fail_queued(&self, id: &str, error: &JobError) -> Result<bool, JobsError> {
        let now = self.0.ctx.now();
        let (code, sentence) = shown(error);
        let mut tx = self.0.db.begin_write().await?;
        let taken = repo::moves::take(&mut tx, id, &self.claimant(now), now).await?;
        let Some((lease, sequence)) = taken else {
            return Ok(false);
        };
        let started = NewEvent::info(EventType::Started);
        repo::events::add_one(&mut tx, &self.0.ctx, id, sequence, started).await?;
        let step = Step {
            by: Some(&lease),
            error: Some((&code, &sentence)),
            ..Step::new(id, Status::Running, Status::Failed)
        };
        let Some(sequence) = repo::moves::step(&mut tx, &step, now).await? else {
            return Ok(false);
        };
        repo::events::add_one(
            &mut tx,
            &self.0.ctx,
            id,
            sequence,
            failure_event(&code, &sentence),
        )
        .await?;
        tx.commit().await?;
        if let Some(job) = self.readable(id).await {
            self.tell_all(&[Message::about("jobs.failed", &job).saying(Some(sentence))]);
        }
        Ok(true)
    }

    /// The job for a message about it; `None` where it cannot be read.
    async fn readable(&self, id: &str) -> Option<Job> {
        let mut tx = self.0.db.begin_read().await.ok()?;
        repo::jobs::find(&mut tx, id).await.ok().flatten()
    }

    /// Fails queued jobs of types without a handler. On PostgreSQL, another server that knows the type gets
    /// an hour to begin them.
    pub(super) async fn give_up_the_unknown(&self) -> Result<(), JobsError> {
        let before = match self.0.db.backend() {
            Backend::Sqlite => Timestamp::from_ms(i64::MAX),
            Backend::Postgres => self.0.ctx.now().minus(UNKNOWN),
        };
        let mut tx = self.0.db.begin_read().await?;
        let queued = repo::moves::queued_types(&mut tx, before).await?;
        drop(tx);
        for type_key in queued.iter().filter(|key| self.0.types.get(key).is_none()) {
            let text = format!("This version of the server has no job type `{type_key}`");
            let error = JobError::new(INTERRUPTED, text).permanent();
            loop {
                let mut tx = self.0.db.begin_read().await?;
                let ids = repo::moves::queued_of(&mut tx, type_key, before, AT_ONCE).await?;
                drop(tx);
                if ids.is_empty() {
                    break;
                }
                tracing::warn!(
                    job.r#type = type_key,
                    jobs = ids.len(),
                    "queued jobs of a type nobody knows are given up"
                );
                for id in &ids {
                    self.fail_queued(id, &error).await?;
                }
            }
        }
        Ok(())
    }

    /// Reports running jobs without a recent heartbeat, once per run. The jobs are left as they are.
    pub(super) async fn look_for_stalled(&self) {
        // An SQLite file belongs to one process: no other process runs jobs of it.
        if self.0.db.backend() == Backend::Sqlite && self.0.running_jobs.len() == 0 {
            return;
        }
        if let Err(error) = self.tell_stalled().await {
            let error = as_error(&error);
            tracing::warn!(error, "stalled jobs cannot be looked for at the moment");
        }
    }

    pub(super) async fn tell_stalled(&self) -> Result<(), JobsError> {
        self.0.tally.looks.inc();
        let now = self.0.ctx.now();
        let before = now.minus(self.0.pace.stall_after);
        let mut tx = self.0.db.begin_read().await?;
        let stalled = repo::moves::stalled(&mut tx, before, AT_ONCE).await?;
        drop(tx);
        for (id, since) in stalled {
            let since = Timestamp::from_ms(since);
            let mut tx = self.0.db.begin_write().await?;
            let Some(sequence) = repo::moves::tell_stalled(&mut tx, &id, now, before).await? else {
                continue;
            };
            let event = NewEvent::new(EventType::Stalled, Level::Warning)
                .metadata(json!({ "idleMs": now.since(since).as_millis() as u64, "since": since }));
            repo::events::add_one(&mut tx, &self.0.ctx, &id, sequence, event).await?;
            tx.commit().await?;
            if let Some(job) = self.readable(&id).await {
                self.tell_all(&[Message::about("jobs.stalled", &job)]);
            }
        }
        Ok(())
    }
}

fn unreadable() -> JobError {
    let text = "What is stored of this job cannot be read by this version of the server; its log says why";
    JobError::new("unreadable", text).permanent()
}

fn log_unreadable(id: &str, cause: &JobsError) {
    let error = as_error(cause);
    tracing::error!(error, job.id = id, "a job that cannot be read was ended");
}
