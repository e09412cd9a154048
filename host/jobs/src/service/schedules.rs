//! What runs by itself: the loops of every area as people see them, and jobs that are asked for again and again.

use std::time::Duration;

use qm_db::Tx;
use qm_kernel::{Timestamp, timezone};
use qm_platform::settings::TIMEZONE;
use tokio_util::sync::CancellationToken;

use super::{Jobs, lock};
use crate::error::JobsError;
use crate::model::event::Source;
use crate::model::job::NewJob;
use crate::model::schedule::{Schedule, Trigger};
use crate::repo;

/// Longest interval between two looks at the clock: a machine that slept is not a day late, nor is a change of time zones.
const LONGEST_SLEEP: Duration = Duration::from_hours(1);
/// Pause after the database could not be asked, or while the job of last time is still at work.
const AGAIN: Duration = Duration::from_mins(1);
/// Pause of a schedule that is never due again, which no schedule that was read is.
const NEVER: Duration = Duration::from_hours(24 * 365);

impl Jobs {
    /// Asks for a job whenever `trigger` says; one at intervals first an interval after the first start of all. Since when
    /// it counts stands in the database: a restart neither forgets it nor begins to count anew. What was due several times
    /// while nobody was there is asked for once.
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

    /// Asks for the schedule's job if it is due; answers the time until it is due again.
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
        // Another server may have asked meanwhile: this one looks again.
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
            // The last one is still at work.
            return Ok(AGAIN);
        }
        let next = self.next(&mut tx, trigger, now).await?;
        tx.commit().await?;
        self.announce(&enqueued);
        Ok(next.since(now))
    }

    /// The instant at which a schedule last asked for a job, or was first seen.
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

    /// The instant at which a schedule is next due.
    async fn next(&self, tx: &mut Tx, trigger: &Trigger, since: Timestamp) -> Result<Timestamp, JobsError> {
        match trigger {
            Trigger::Every(interval) => Ok(since.plus(*interval)),
            Trigger::Cron(cron) => {
                let zone = self.0.settings.get(tx, &TIMEZONE).await?;
                let next = cron.next(since, &timezone::zone(zone.as_deref()));
                Ok(next.unwrap_or(since.plus(NEVER)))
            }
        }
    }
}
