//! What nobody works at any more: jobs that an earlier process or another node left in the middle, jobs of types that no
//! longer exist, jobs without a sign of life.

use qm_db::Backend;
use qm_kernel::Timestamp;
use serde_json::json;

use super::Jobs;
use super::moving::INTERRUPTED;
use super::tell::Message;
use super::types::JobError;
use crate::error::JobsError;
use crate::model::event::{EventType, Level, NewEvent};
use crate::model::job::Job;
use crate::repo;
use crate::repo::moves::Lease;

/// Jobs a look takes in; there is another one soon.
const AT_ONCE: i64 = 200;

impl Jobs {
    /// At the start. An SQLite file is one process's: whatever is in hand there is in the hands of one that is gone. On
    /// PostgreSQL another node may be at work, so what it holds is left to it until its lease ends.
    pub(super) async fn recover(&self) -> Result<(), JobsError> {
        let before = match self.0.db.backend() {
            Backend::Sqlite => Timestamp::from_ms(i64::MAX),
            Backend::Postgres => self.0.ctx.now(),
        };
        while self.take_over(before).await? == AT_ONCE as usize {}
        self.give_up_the_unknown().await
    }

    /// Takes over what is held beyond the end of its lease.
    pub(super) async fn reap(&self) -> Result<(), JobsError> {
        self.take_over(self.0.ctx.now()).await.map(drop)
    }

    async fn take_over(&self, before: Timestamp) -> Result<usize, JobsError> {
        let mut tx = self.0.db.begin_read().await?;
        let left = repo::moves::expired(&mut tx, before, AT_ONCE).await?;
        drop(tx);
        let count = left.len();
        // A worker that could not prolong its own leases has its jobs all the same, until somebody else takes them.
        for job in left.into_iter().filter(|job| !self.has_in_hand(job)) {
            self.end_abandoned(job, before).await?;
        }
        Ok(count)
    }

    fn has_in_hand(&self, job: &Job) -> bool {
        let hand = self.0.hands.get(&job.id);
        hand.is_some_and(|hand| {
            hand.lease.claim == job.claim && job.lease_owner.as_deref() == Some(&hand.lease.owner)
        })
    }

    async fn end_abandoned(&self, mut job: Job, before: Timestamp) -> Result<(), JobsError> {
        let mut messages = Vec::new();
        let mut tx = self.0.db.begin_write().await?;
        let claimant = self.claimant(self.0.ctx.now());
        let Some(lease) = repo::moves::take_over(&mut tx, &job, &claimant, before).await? else {
            return Ok(());
        };
        job.claim = lease.claim;
        if !self
            .interrupt(&mut tx, &mut job, Some(&lease), &mut messages)
            .await?
        {
            return Ok(());
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
        Ok(())
    }

    /// Of a type without a handler nothing is ever begun: what is queued of it fails, by the only way there is.
    async fn give_up_the_unknown(&self) -> Result<(), JobsError> {
        let mut tx = self.0.db.begin_read().await?;
        let queued = repo::moves::queued_types(&mut tx).await?;
        drop(tx);
        for type_key in queued.iter().filter(|key| self.0.types.get(key).is_none()) {
            loop {
                let mut tx = self.0.db.begin_read().await?;
                let jobs = repo::moves::queued_of(&mut tx, type_key, AT_ONCE).await?;
                drop(tx);
                if jobs.is_empty() {
                    break;
                }
                tracing::warn!(
                    job.r#type = type_key,
                    jobs = jobs.len(),
                    "queued jobs of a type nobody knows are given up"
                );
                for job in jobs {
                    self.give_up(&job).await?;
                }
            }
        }
        Ok(())
    }

    async fn give_up(&self, job: &Job) -> Result<(), JobsError> {
        let now = self.0.ctx.now();
        let mut messages = Vec::new();
        let mut tx = self.0.db.begin_write().await?;
        let Some(claimed) = repo::moves::claim(&mut tx, &job.id, &self.claimant(now), now).await? else {
            return Ok(());
        };
        let mut job = claimed.job;
        let event = NewEvent::info(EventType::Started);
        repo::events::add_one(&mut tx, &self.0.ctx, &job.id, claimed.sequence, event).await?;
        let lease = Lease {
            job_id: job.id.clone(),
            owner: self.0.worker.owner.clone(),
            claim: job.claim,
        };
        let text = format!("This version of the server has no job type `{}`", job.type_key);
        let error = JobError::new(INTERRUPTED, text).permanent();
        self.fail(&mut tx, &mut job, Some(&lease), &error, &mut messages)
            .await?;
        tx.commit().await?;
        self.tell_all(&messages);
        Ok(())
    }

    /// Tells, once a run, of running jobs that gave no sign of life for long. They are left as they are.
    pub(super) async fn look_for_stalled(&self) {
        if let Err(error) = self.tell_stalled().await {
            let error = &error as &dyn std::error::Error;
            tracing::warn!(error, "stalled jobs cannot be looked for at the moment");
        }
    }

    pub(super) async fn tell_stalled(&self) -> Result<(), JobsError> {
        let now = self.0.ctx.now();
        let idle = self.0.pace.stall_after;
        let before = Timestamp::from_ms(
            now.ms()
                .saturating_sub(i64::try_from(idle.as_millis()).unwrap_or(i64::MAX)),
        );
        let mut tx = self.0.db.begin_read().await?;
        let stalled = repo::moves::stalled(&mut tx, before, AT_ONCE).await?;
        drop(tx);
        for job in stalled {
            let since = job.heartbeat_at.or(job.started_at).unwrap_or(job.updated_at);
            let mut tx = self.0.db.begin_write().await?;
            let Some(sequence) = repo::moves::tell_stalled(&mut tx, &job.id, now, before).await? else {
                continue;
            };
            let event = NewEvent::new(EventType::Stalled, Level::Warning)
                .metadata(json!({ "idleMs": now.since(since).as_millis() as u64, "since": since }));
            repo::events::add_one(&mut tx, &self.0.ctx, &job.id, sequence, event).await?;
            tx.commit().await?;
            self.tell_all(&[Message::of("jobs.stalled", &job)]);
        }
        Ok(())
    }
}
