//! Reading: lists, one job, its events and children, the overview.

use std::collections::BTreeMap;

use qm_kernel::{PageQuery, Permission, Principal, Timestamp};

use super::Jobs;
use crate::error::JobsError;
use crate::model::event::JobEvent;
use crate::model::job::{Item, Job};
use crate::model::sight::{Sight, sees_all};
use crate::model::status::Status;
use crate::repo;
use crate::repo::lists::Wanted;

/// Jobs of one subsystem that the simple list looks at.
const RECENT: i64 = 100;
/// Children that are listed.
const CHILDREN: i64 = 500;

/// How the jobs a caller sees stand.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overview {
    /// Every state, those without jobs too.
    pub by_status: BTreeMap<&'static str, u64>,
    pub completed_today: u64,
    pub failed_today: u64,
    pub cancelled_today: u64,
}

impl Overview {
    pub fn count(&self, status: Status) -> u64 {
        self.by_status.get(status.as_str()).copied().unwrap_or(0)
    }

    pub fn active(&self) -> u64 {
        Status::ALL
            .iter()
            .filter(|status| status.is_active())
            .map(|status| self.count(*status))
            .sum()
    }

    /// Of those that ended today, how many of a hundred went well; `None` when none ended.
    pub fn success_rate(&self) -> Option<u64> {
        let ended = self.completed_today + self.failed_today;
        (ended > 0).then(|| (self.completed_today as f64 * 100.0 / ended as f64).round() as u64)
    }
}

/// What the simple list asks for.
#[derive(Clone, Debug, Default)]
pub struct Simple {
    /// Only this subsystem.
    pub subsystem: Option<String>,
    /// One of the five words of [`Status::folded`].
    pub status: Option<String>,
    /// Only what is queued or running.
    pub active: bool,
    pub limit: usize,
}

/// The parts of the product whose jobs the simple list shows: name, module, the permission it takes.
const SUBSYSTEMS: &[(&str, &str, Permission)] = &[("media", "media_manager", Permission::MediaManagerView)];

/// This process as a worker.
#[derive(Clone, Debug)]
pub struct WorkerView {
    pub id: String,
    pub host: String,
    pub is_draining: bool,
    pub started_at: Timestamp,
    pub version: &'static str,
    pub running: usize,
}

impl Jobs {
    /// The latest jobs of each subsystem the caller may see, the newest first, each with its subsystem's name.
    pub async fn simple(
        &self,
        principal: &Principal,
        asked: &Simple,
    ) -> Result<Vec<(&'static str, Item)>, JobsError> {
        let sight = Sight::of(principal);
        let mut tx = self.0.db.begin_read().await?;
        let mut found = Vec::new();
        for (name, module, permission) in SUBSYSTEMS {
            let wanted = asked.subsystem.as_deref().is_none_or(|wanted| wanted == *name);
            if wanted && principal.may(*permission) {
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
        repo::lists::page(&mut tx, &Sight::of(principal), wanted, page).await
    }

    pub async fn get(&self, principal: &Principal, id: &str) -> Result<Job, JobsError> {
        let mut tx = self.0.db.begin_read().await?;
        self.visible(&mut tx, principal, id).await
    }

    /// The job, where the caller may see it.
    pub(super) async fn visible(
        &self,
        tx: &mut qm_db::Tx,
        principal: &Principal,
        id: &str,
    ) -> Result<Job, JobsError> {
        let job = repo::jobs::find(tx, id).await?;
        job.filter(|job| Sight::of(principal).shows(job))
            .ok_or(JobsError::NotFound)
    }

    /// A page of a job's events and how many there are; to see them takes a permission of its own.
    pub async fn events(
        &self,
        principal: &Principal,
        id: &str,
        level: Option<&str>,
        page: PageQuery,
    ) -> Result<(Vec<JobEvent>, u64), JobsError> {
        let mut tx = self.0.db.begin_read().await?;
        self.visible(&mut tx, principal, id).await?;
        if !principal.may(Permission::JobsViewEvents) && !sees_all(principal) {
            return Err(JobsError::MissingPermission(Permission::JobsViewEvents.key()));
        }
        Ok(repo::events::page(&mut tx, id, level, page.page_size, page.offset()).await?)
    }

    pub async fn children(&self, principal: &Principal, id: &str) -> Result<Vec<Item>, JobsError> {
        let mut tx = self.0.db.begin_read().await?;
        self.visible(&mut tx, principal, id).await?;
        repo::lists::children(&mut tx, &Sight::of(principal), id, CHILDREN).await
    }

    pub async fn overview(&self, principal: &Principal) -> Result<Overview, JobsError> {
        let sight = Sight::of(principal);
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

    /// This process.
    pub fn worker(&self) -> WorkerView {
        let worker = &self.0.worker;
        WorkerView {
            id: worker.id.clone(),
            host: worker.host.clone(),
            is_draining: self.is_draining(),
            started_at: worker.started_at,
            version: worker.version,
            running: self.0.hands.len(),
        }
    }

    /// How often and how long, for people.
    pub fn pace(&self) -> &super::Pace {
        &self.0.pace
    }
}

/// When the day began that it is where the server stands.
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

    #[test]
    fn the_rate_is_of_what_ended() {
        let rate = |completed_today, failed_today| {
            Overview {
                completed_today,
                failed_today,
                cancelled_today: 9,
                ..Overview::default()
            }
            .success_rate()
        };
        assert_eq!(rate(0, 0), None);
        assert_eq!(rate(2, 1), Some(67));
        assert_eq!(rate(0, 1), Some(0));
        assert_eq!(rate(200, 1), Some(100));
    }
}
