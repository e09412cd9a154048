//! The schedule of detections, and the loop that keeps to it and tidies up.

use std::sync::Arc;
use std::time::Duration;

use qm_jobs::Source;
use qm_kernel::{Caller, Timestamp, as_error};
use qm_platform::AuditResult;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::detect::new_job;
use super::{Duplicates, SCAN};
use crate::error::DuplicatesError;
use crate::model::Schedule;
use crate::repo;
use crate::settings::MEDIA_DUPLICATE_SCAN_SCHEDULE;

/// Interval of the loop.
const EVERY: Duration = Duration::from_hours(1);
/// Time for which plans are kept that nobody carried out.
const WAITING: Duration = Duration::from_hours(7 * 24);
/// Time for which plans are kept that were carried out.
const ENDED: Duration = Duration::from_hours(180 * 24);
/// Most plans deleted in one transaction.
const SOME: u64 = 500;

/// Schedule with its times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScheduleView {
    pub schedule: Schedule,
    /// End of the last detection that went through, by schedule or by hand.
    pub last: Option<Timestamp>,
}

impl Duplicates {
    /// Name and interval of [`Duplicates::upkeep_loop`].
    pub const UPKEEP: (&'static str, Duration) = ("media_duplicate_schedule", EVERY);

    /// Settles plans that a crash cut off, starts detections that are due, and deletes old plans, again and again.
    pub async fn upkeep_loop(self: Arc<Self>, stop: CancellationToken) {
        let mut ticks = tokio::time::interval(EVERY);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        while stop.run_until_cancelled(ticks.tick()).await.is_some() {
            if let Err(error) = self.keep_up().await {
                let error = as_error(&error);
                tracing::warn!(
                    error,
                    "the upkeep of duplicates failed; it is tried again in an hour"
                );
            }
        }
    }

    /// One round of the loop.
    pub async fn keep_up(&self) -> Result<(), DuplicatesError> {
        self.settle_cut_off().await?;
        let now = self.ground.ctx.now();
        let mut deleted = SOME;
        while deleted == SOME {
            let mut tx = self.ground.db.begin_write().await?;
            let (waiting, ended) = (now.minus(WAITING), now.minus(ENDED));
            deleted = repo::plans::delete_older(&mut tx, waiting, ended).await?;
            tx.commit().await?;
        }
        let view = self.find_schedule().await?;
        if view.schedule.is_due(view.last, now) {
            self.jobs.submit(new_job(Source::Scheduled, None)).await?;
        }
        Ok(())
    }

    pub async fn find_schedule(&self) -> Result<ScheduleView, DuplicatesError> {
        let mut tx = self.ground.db.begin_read().await?;
        let settings = &self.ground.settings;
        let stored = settings.get(&mut tx, &MEDIA_DUPLICATE_SCAN_SCHEDULE).await?;
        let last = repo::groups::last_scan(&mut tx).await?;
        Ok(ScheduleView {
            schedule: Schedule::from_object(&stored),
            last: last.map(|(_, at)| at),
        })
    }

    pub async fn change_schedule(
        &self,
        caller: Caller<'_>,
        is_enabled: Option<bool>,
        interval_hours: Option<i64>,
    ) -> Result<ScheduleView, DuplicatesError> {
        let settings = &self.ground.settings;
        let mut tx = self.ground.db.begin_write().await?;
        let acting = &self.ground.acting;
        acting.judge(&mut tx, caller.principal, &[SCAN]).await?;
        let stored = settings.get(&mut tx, &MEDIA_DUPLICATE_SCAN_SCHEDULE).await?;
        let known = Schedule::from_object(&stored);
        let schedule = Schedule {
            is_enabled: is_enabled.unwrap_or(known.is_enabled),
            interval_hours: interval_hours.map_or(known.interval_hours, Schedule::fit),
        };
        let object = schedule.to_object();
        settings
            .put(&mut tx, &MEDIA_DUPLICATE_SCAN_SCHEDULE, &object)
            .await?;
        let last = repo::groups::last_scan(&mut tx).await?;
        let key = MEDIA_DUPLICATE_SCAN_SCHEDULE.key.to_owned();
        let about = ("media.duplicates.schedule_updated", "setting", Some(key));
        let metadata = Value::Object(object);
        self.audit(&mut tx, caller, about, AuditResult::Success, metadata)
            .await?;
        tx.commit().await?;
        Ok(ScheduleView {
            schedule,
            last: last.map(|(_, at)| at),
        })
    }
}
