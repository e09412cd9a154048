//! Reading jobs: lists, one job, its events and children, the overview.

use std::time::Duration;

use qm_db::Tx;
use qm_kernel::{PageQuery, Permission, Principal, Timestamp};
use serde_json::Value;

use super::Jobs;
use crate::error::JobsError;
use crate::model::event::JobEvent;
use crate::model::job::{Item, Job};
use crate::model::pace::Pace;
use crate::model::sight::{Sight, sees_all};
use crate::model::status::Status;
use crate::model::view::{Overview, Simple, Wanted, WorkerView};
use crate::repo;

/// Newest jobs of one subsystem that the simple list filters.
const RECENT: i64 = 100;
/// Shortest and longest pause between two looks at a job whose end a caller awaits.
const FIRST_LOOK: Duration = Duration::from_millis(20);
const LONGEST_LOOK: Duration = Duration::from_secs(1);
/// Largest number of children in a list.
const CHILDREN: i64 = 500;

/// Subsystems of the simple list: name, module, required permission.
const SUBSYSTEMS: &[(&str, &str, Permission)] = &[("media", "media_manager", Permission::MediaManagerView)];

/// State of a job, reduced to three cases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// The job has not ended.
    Active,
    /// The job was cancelled, and ends soon or has ended.
    Cancelled,
    Ended,
}

/// End of a job, reduced to three cases.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    Completed,
    Cancelled,
    /// Failed, with the error sentence.
    Failed(String),
}

impl Jobs {
    /// Reduced state of a job, for the area that created it; `None` when the job was removed.
    pub async fn standing(&self, tx: &mut Tx, id: &str) -> Result<Option<Standing>, JobsError> {
        let job = repo::jobs::find(tx, id).await?;
        Ok(job.map(|job| match job.status {
            Status::Cancelled | Status::Cancelling => Standing::Cancelled,
            status if status.is_active() => Standing::Active,
            _ => Standing::Ended,
        }))
    }

    /// Waits until a job has ended, without a time limit, for the area that created it. A removed job counts
    /// as cancelled.
    pub async fn ended(&self, id: &str) -> Result<Ending, JobsError> {
        let mut pause = FIRST_LOOK;
        loop {
            let job = repo::jobs::find(&mut self.0.db.begin_read().await?, id).await?;
            let Some(job) = job else {
                return Ok(Ending::Cancelled);
            };
            match job.status {
                Status::Cancelled => return Ok(Ending::Cancelled),
                Status::Failed => return Ok(Ending::Failed(job.error_message.unwrap_or_default())),
                status if !status.is_active() => return Ok(Ending::Completed),
                _ => {}
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LONGEST_LOOK);
        }
    }

    /// Stored result of a job, for the area that created it; `None`: no result yet, or the job was removed.
    pub async fn result(&self, id: &str) -> Result<Option<Value>, JobsError> {
        let job = repo::jobs::find(&mut self.0.db.begin_read().await?, id).await?;
        Ok(job.and_then(|job| job.result_summary))
    }

    /// Number of stored failed jobs of a module, for the area that created them.
    pub async fn failed(&self, tx: &mut Tx, module: &str) -> Result<u64, JobsError> {
        Ok(repo::lists::failed(tx, module).await?)
    }

    /// The latest jobs of each visible subsystem, the newest first, each with the name of its subsystem.
    pub async fn simple(
        &self,
        principal: &Principal,
        asked: &Simple,
    ) -> Result<Vec<(&'static str, Item)>, JobsError> {
        let sight = Sight::from_principal(principal);
        let mut tx = self.0.db.begin_read().await?;
        let mut found = Vec::new();
        for (name, module, permission) in SUBSYSTEMS {
            let wanted = asked.subsystem.as_deref().is_none_or(|wanted| wanted == *name);
            if wanted && principal.has_permission(*permission) {
                let jobs = repo::lists::recent(&mut tx, &sight, module, RECENT).await?;
                found.extend(jobs.into_iter().map(|job| (*name, job)));
            }
        }
        found.retain(|(_, job)| {
            let folded = job.status.folded();
            let fits = asked.status.as_deref().is_none_or(|status| status == folded);
            fits && (!asked.active || matches!(folded, "queued" | "running"))
        });
        found.sort_by_key(|(_, job)| std::cmp::Reverse(job.created_at));
        found.truncate(asked.limit);
        Ok(found)
    }

    pub async fn list(
        &self,
        principal: &Principal,
        wanted: &Wanted,
        page: PageQuery,
    ) -> Result<(Vec<Item>, u64), JobsError> {
        let mut tx = self.0.db.begin_read().await?;
        repo::lists::page(&mut tx, &Sight::from_principal(principal), wanted, page).await
    }

    pub async fn get(&self, principal: &Principal, id: &str) -> Result<Job, JobsError> {
        let mut tx = self.0.db.begin_read().await?;
        self.visible(&mut tx, principal, id).await
    }

    /// The job, if the caller may see it.
    pub(super) async fn visible(
        &self,
        tx: &mut qm_db::Tx,
        principal: &Principal,
        id: &str,
    ) -> Result<Job, JobsError> {
        let job = repo::jobs::find(tx, id).await?;
        job.filter(|job| Sight::from_principal(principal).shows(job))
            .ok_or(JobsError::NotFound)
    }

    /// One page of a job's events and their total number; needs a permission of its own.
    pub async fn events(
        &self,
        principal: &Principal,
        id: &str,
        level: Option<&str>,
        page: PageQuery,
    ) -> Result<(Vec<JobEvent>, u64), JobsError> {
        let mut tx = self.0.db.begin_read().await?;
        self.visible(&mut tx, principal, id).await?;
        if !principal.has_permission(Permission::JobsViewEvents) && !sees_all(principal) {
            return Err(JobsError::MissingPermission(Permission::JobsViewEvents.key()));
        }
        Ok(repo::events::page(&mut tx, id, level, page.page_size, page.offset()).await?)
    }

    pub async fn children(&self, principal: &Principal, id: &str) -> Result<Vec<Item>, JobsError> {
        let mut tx = self.0.db.begin_read().await?;
        self.visible(&mut tx, principal, id).await?;
        repo::lists::children(&mut tx, &Sight::from_principal(principal), id, CHILDREN).await
    }

    pub async fn overview(&self, principal: &Principal) -> Result<Overview, JobsError> {
        let sight = Sight::from_principal(principal);
        let since = midnight(self.0.ctx.now());
        let mut tx = self.0.db.begin_read().await?;
        let mut overview = Overview::default();
        for status in Status::ALL {
            overview.by_status.insert(status.as_str(), 0);
        }
        for (word, count) in repo::lists::by_status(&mut tx, &sight).await? {
            if let Some(status) = Status::from_word(&word) {
                overview.by_status.insert(status.as_str(), count as u64);
            }
        }
        for (word, count) in repo::lists::ended_since(&mut tx, &sight, since).await? {
            let tally = match Status::from_word(&word) {
                Some(Status::Completed | Status::CompletedWithWarnings) => &mut overview.completed_today,
                Some(Status::Failed) => &mut overview.failed_today,
                Some(Status::Cancelled) => &mut overview.cancelled_today,
                _ => continue,
            };
            *tally += count as u64;
        }
        Ok(overview)
    }

    /// This process as a worker.
    pub fn worker(&self) -> WorkerView {
        let worker = &self.0.worker;
        WorkerView {
            id: worker.id.clone(),
            host: worker.host.clone(),
            is_draining: self.is_draining(),
            started_at: worker.started_at,
            version: worker.version,
            running: self.0.running_jobs.len(),
        }
    }

    /// Intervals and time limits of the worker.
    pub fn pace(&self) -> &Pace {
        &self.0.pace
    }
}

/// Begin of the present day in the server's time zone.
fn midnight(now: Timestamp) -> Timestamp {
    let zone = qm_kernel::timezone::zone(None);
    jiff::Timestamp::from_millisecond(now.ms())
        .ok()
        .and_then(|now| now.to_zoned(zone).start_of_day().ok())
        .map_or(now, |start| {
            Timestamp::from_ms(start.timestamp().as_millisecond())
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_has_begun_within_the_last_twenty_five_hours() {
        let now = Timestamp::from_ms(1_932_628_500_000);
        let began = midnight(now);
        assert!(
            began <= now && now.since(began).as_secs() <= 25 * 3600,
            "{began} of {now}"
        );
        assert_eq!(midnight(began), began);
    }
}
