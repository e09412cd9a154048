//! Background loops of every area as users see them, and schedules that create jobs repeatedly.

use std::time::Duration;

use qm_db::Tx;
use qm_kernel::Timestamp;
use tokio_util::sync::CancellationToken;

use super::{Jobs, lock};
use crate::error::JobsError;
use crate::model::event::Source;
use crate::model::job::NewJob;
use crate::model::schedule::{Schedule, Trigger};
use crate::repo;

/// Longest interval between two looks at the clock, so that a machine that slept or changed its time zone is
/// at most an hour late.
const LONGEST_SLEEP: Duration = Duration::from_hours(1);
/// Pause after a database error, or while the job of the last due time is still active.
const AGAIN: Duration = Duration::from_mins(1);
/// Pause of a schedule that is never due again; no schedule that was parsed is such.
const NEVER: Duration = Duration::from_hours(24 * 365);

impl Jobs {
    /// Creates a job whenever `trigger` is due; an interval first fires one interval after the first start
    /// ever. The last due time is stored, so a restart neither forgets nor restarts the count. Several due
    /// times missed while the server was down create one job.
    pub fn schedule(
        &self,
        name: &'static str,
        trigger: Trigger,
        make: impl Fn() -> NewJob + Clone + Send + Sync + 'static,
    ) {
        let interval = match &trigger {
            Trigger::Every(interval) => *interval,
            Trigger::Cron(cron) => {
                lock(&self.0.crons).insert(name, cron.clone());
                LONGEST_SLEEP
            }
        };
        let jobs = self.clone();
        self.0.background.supervise(name, interval, move |stop| {
            jobs.clone()
                .schedule_loop(name, trigger.clone(), make.clone(), stop)
        });
    }

    /// Every background loop of the server, by name.
    pub fn schedules(&self) -> Vec<Schedule> {
        let crons = lock(&self.0.crons).clone();
        let loops = self.0.background.schedules();
        let listed = loops.into_iter().map(|each| Schedule {
            name: each.name,
            module: each.module,
            trigger: match crons.get(each.name) {
                Some(cron) => Trigger::Cron(cron.clone()),
                None => Trigger::Every(each.interval),
            },
        });
        listed.collect()
    }

    async fn schedule_loop(
        self,
        name: &'static str,
        trigger: Trigger,
        make: impl Fn() -> NewJob,
        stop: CancellationToken,
    ) {
        let work = async {
            loop {
                let pause = match self.ask_when_due(name, &trigger, &make).await {
                    Ok(pause) => pause.min(LONGEST_SLEEP),
                    Err(error) => {
                        tracing::warn!(%error, schedule = name, "a scheduled job cannot be asked for");
                        AGAIN
                    }
                };
                tokio::time::sleep(pause).await;
            }
        };
        stop.run_until_cancelled(work).await;
    }

    /// Creates the schedule's job if it is due; returns the time until the next due time.
    pub(super) async fn ask_when_due(
        &self,
        name: &'static str,
        trigger: &Trigger,
        make: &impl Fn() -> NewJob,
    ) -> Result<Duration, JobsError> {
        let now = self.0.ctx.now();
        let since = self.counts_since(name).await?;
        let mut tx = self.0.db.begin_read().await?;
        let next = self.next(&mut tx, trigger, since).await?;
        drop(tx);
        if now < next {
            return Ok(next.since(now));
        }
        let mut tx = self.0.db.begin_write().await?;
        // Another server may have created it meanwhile: look again.
        if !repo::schedules::asked(&mut tx, name, since, now).await? {
            return Ok(Duration::ZERO);
        }
        let job = NewJob {
            source: Source::Scheduled,
            schedule_id: Some(name),
            idempotency_key: Some(name.to_owned()),
            ..make()
        };
        let enqueued = self.enqueue(&mut tx, job).await?;
        if !enqueued.is_fresh() {
            // The previous job is still active.
            return Ok(AGAIN);
        }
        let next = self.next(&mut tx, trigger, now).await?;
        tx.commit().await?;
        self.announce(&enqueued);
        Ok(next.since(now))
    }

    /// Time at which a schedule last requested a job, or was first seen.
    async fn counts_since(&self, name: &str) -> Result<Timestamp, JobsError> {
        let mut tx = self.0.db.begin_read().await?;
        if let Some(since) = repo::schedules::since(&mut tx, name).await? {
            return Ok(since);
        }
        drop(tx);
        let mut tx = self.0.db.begin_write().await?;
        let first = self.0.worker.started_at;
        repo::schedules::begin(&mut tx, name, first).await?;
        let since = repo::schedules::since(&mut tx, name).await?;
        tx.commit().await?;
        Ok(since.unwrap_or(first))
    }

    /// Next due time of a schedule.
    async fn next(&self, tx: &mut Tx, trigger: &Trigger, since: Timestamp) -> Result<Timestamp, JobsError> {
        match trigger {
            Trigger::Every(interval) => Ok(since.plus(*interval)),
            Trigger::Cron(cron) => {
                let next = cron.next(since, &self.0.settings.find_zone(tx).await?);
                Ok(next.unwrap_or(since.plus(NEVER)))
            }
        }
    }
}
