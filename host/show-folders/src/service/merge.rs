//! Merges: plans as they are carried out.
//!
//! One plan at a time, whoever asked. A plan that waits begins only if the folders hold what they held in the preview. One
//! that was cut off goes on behind the steps that the journal has; each of its steps is compared with the disk anyway.

use std::collections::HashMap;
use std::sync::Arc;

use qm_confined::FsError;
use qm_kernel::{Requester, as_error};
use qm_lanes::LaneError;
use qm_platform::AuditResult;
use qm_ports::media_server::Extent;
use serde_json::json;

use super::step::{End, absence_of};
use super::{Folders, MERGE, fingerprint};
use crate::error::MergeError;
use crate::model::{Action, PlanStatus, StepStatus, StoredPlan, count_freed};
use crate::repo;

/// Most blockers that an answer names; the preview names all.
const MOST_TOLD: usize = 10;

/// The result of a merge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    pub plan: StoredPlan,
    pub status: PlanStatus,
    pub tally: Tally,
    /// Job of the scan that was asked for.
    pub scan: Option<String>,
    /// Media servers that look for files now, and those that could not be asked.
    pub refreshed: usize,
    pub refused: usize,
}

/// Numbers of steps, as the journal has them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub moved: usize,
    pub trashed: usize,
    pub rescued: usize,
    /// Folders.
    pub deleted: usize,
    pub skipped: usize,
    pub failed: usize,
    /// Bytes of files whose last name went.
    pub freed: u64,
}

impl Folders {
    /// Carries a plan out. It goes on when the caller hangs up.
    pub async fn merge(self: &Arc<Self>, by: Requester, plan_id: &str) -> Result<Outcome, MergeError> {
        let place = Arc::clone(&self.places).try_acquire_owned();
        let place = place.map_err(|_| LaneError::Full("show_folders.merges"))?;
        let (app, id) = (Arc::clone(self), plan_id.to_owned());
        let working = tokio::spawn(async move {
            let _place = place;
            app.merge_now(&by, &id).await
        });
        working.await.unwrap_or_else(|error| {
            let error = as_error(&error);
            tracing::error!(error, "a merge of show folders was cut off");
            Err(MergeError::CutOff)
        })
    }

    async fn merge_now(&self, by: &Requester, plan_id: &str) -> Result<Outcome, MergeError> {
        let _turn = self.turn.lock().await;
        let plan = self.begin(by, plan_id).await?;
        if let Err(error) = self.check_unbegun(by, &plan).await {
            // After an error of ours, the plan waits as before.
            let (status, why) = match error {
                MergeError::StalePlan => (PlanStatus::Failed, Some("stale_plan")),
                _ => (plan.status, None),
            };
            let mut tx = self.ground.db.begin_write().await?;
            repo::end(&mut tx, &plan.id, status, 0, why, self.ground.ctx.now()).await?;
            tx.commit().await?;
            return Err(error);
        }
        let end = self.carry_out(by, &plan).await.unwrap_or_else(|error| {
            // Its row of the journal is settled when the merge goes on.
            tracing::error!(
                error = as_error(&error),
                "a merge of show folders waits after an error"
            );
            End::Stopped(error.public())
        });
        self.finish(by, plan, end).await
    }

    /// Checks a plan and notes that it is being carried out. The plan has the state that it had before.
    async fn begin(&self, by: &Requester, plan_id: &str) -> Result<StoredPlan, MergeError> {
        let mut tx = self.ground.db.begin_write().await?;
        let acting = &self.ground.acting;
        acting.judge(&mut tx, &by.principal, &MERGE).await?;
        let plan = repo::find(&mut tx, plan_id).await?;
        let plan = plan.ok_or(MergeError::NoSuchPlan)?;
        if !matches!(plan.status, PlanStatus::Pending | PlanStatus::Interrupted) {
            return Err(MergeError::AlreadyRun(plan.status.as_str()));
        }
        if !plan.plan.blockers.is_empty() {
            return Err(MergeError::Blocked(tell_blockers(&plan.plan.blockers)));
        }
        if !repo::start(&mut tx, &plan.id, self.ground.ctx.now()).await? {
            return Err(MergeError::AlreadyRun(PlanStatus::Running.as_str()));
        }
        tx.commit().await?;
        Ok(plan)
    }

    /// Checks a plan of which nothing was done.
    async fn check_unbegun(&self, by: &Requester, plan: &StoredPlan) -> Result<(), MergeError> {
        let mut tx = self.ground.db.begin_read().await?;
        let noted = repo::steps(&mut tx, &plan.id).await?;
        drop(tx);
        if noted.is_empty() {
            self.check_folders(by, plan).await?;
        }
        Ok(())
    }

    /// Checks that the folders hold what they held in the preview.
    async fn check_folders(&self, by: &Requester, plan: &StoredPlan) -> Result<(), MergeError> {
        let wanted = std::iter::once(&plan.plan.canonical).chain(&plan.plan.duplicates);
        let ids: Vec<String> = wanted.clone().map(|show| show.id.clone()).collect();
        let shows = self.shows.find_shows(&ids).await?;
        let is_same = shows.len() == ids.len()
            && shows
                .iter()
                .zip(wanted)
                .all(|(show, known)| show.path == known.path);
        if !is_same {
            return Err(MergeError::StalePlan);
        }
        // One that is gone, or holds more than it may, is another than was shown.
        let to_stale = |error: MergeError| match error {
            MergeError::Fs(FsError::NotFound(_) | FsError::NotADirectory(_)) | MergeError::TooManyFiles => {
                MergeError::StalePlan
            }
            other => other,
        };
        let walked = self.walk_each(&by.principal.user_id, shows).await;
        let walked = walked.map_err(to_stale)?;
        let mut folders = Vec::with_capacity(walked.len());
        for (_, contents) in walked {
            folders.push(contents.map_err(to_stale)?);
        }
        if fingerprint(folders.iter()) != plan.plan.fingerprint {
            return Err(MergeError::StalePlan);
        }
        Ok(())
    }

    /// Does the steps that the journal does not have.
    async fn carry_out(&self, by: &Requester, plan: &StoredPlan) -> Result<End, MergeError> {
        if !self.settle_steps(plan).await? {
            return Ok(End::Stopped(absence_of(plan)));
        }
        let mut tx = self.ground.db.begin_read().await?;
        let noted = repo::steps(&mut tx, &plan.id).await?;
        drop(tx);
        let noted: HashMap<usize, StepStatus> = noted
            .into_iter()
            .map(|step| (step.position, step.status))
            .collect();
        for (position, step) in plan.plan.steps.iter().enumerate() {
            if noted.contains_key(&position) {
                continue;
            }
            match self.do_step(by, plan, position, step).await? {
                End::Done => {}
                end @ (End::Stopped(_) | End::CutOff(_)) => return Ok(end),
            }
        }
        Ok(End::Done)
    }

    /// Ends a plan: its row, the rows of its shows, the audit trail; then the library and the media servers look.
    async fn finish(&self, by: &Requester, plan: StoredPlan, end: End) -> Result<Outcome, MergeError> {
        let mut tx = self.ground.db.begin_read().await?;
        let noted = repo::steps(&mut tx, &plan.id).await?;
        drop(tx);
        let tally = count(&plan, &noted);
        let why = match &end {
            End::CutOff(why) | End::Stopped(why) => Some(&**why),
            End::Done => None,
        };
        let status = judge_end(&end, &tally);
        let now = self.ground.ctx.now();
        let mut tx = self.ground.db.begin_write().await?;
        repo::end(&mut tx, &plan.id, status, tally.freed, why, now).await?;
        let metadata = json!({
            "planId": plan.id, "status": status.as_str(), "moved": tally.moved, "trashed": tally.trashed,
            "rescued": tally.rescued, "deleted": tally.deleted, "skipped": tally.skipped, "failed": tally.failed,
            "reclaimedBytes": tally.freed, "duplicates": plan.plan.duplicates.iter().map(|show| &*show.path).collect::<Vec<_>>(),
        });
        let result = match status {
            PlanStatus::Completed => AuditResult::Success,
            _ => AuditResult::Failure,
        };
        let about = ("media.shows.merged", &*plan.plan.canonical.id);
        self.audit(&mut tx, by.caller(), about, result, metadata).await?;
        tx.commit().await?;
        let mut outcome = Outcome {
            status,
            tally,
            scan: None,
            refreshed: 0,
            refused: 0,
            plan,
        };
        if matches!(status, PlanStatus::Completed | PlanStatus::Partial) {
            self.follow_up(by, &mut outcome).await;
        }
        Ok(outcome)
    }

    /// Forgets shows whose folders went, and has the library and the media servers look. The merge is done: what fails here
    /// is told, and the next scan repairs it.
    async fn follow_up(&self, by: &Requester, outcome: &mut Outcome) {
        let plan = &outcome.plan.plan;
        if outcome.tally.deleted == plan.duplicates.len()
            && let Err(error) = self.forget_shows(&outcome.plan).await
        {
            tracing::warn!(
                error = as_error(&error),
                "shows of merged folders stay in the index"
            );
        }
        let user = &by.principal.user_id;
        match self.shows.scan(&plan.library_id, Some(&**user)).await {
            Ok(job) => outcome.scan = job,
            Err(error) => tracing::warn!(error = as_error(&error), "no scan was asked for after a merge"),
        }
        match self.servers.refresh_all(&Extent::default()).await {
            Ok(servers) => {
                outcome.refused = servers.iter().filter(|server| server.outcome.is_err()).count();
                outcome.refreshed = servers.len() - outcome.refused;
            }
            Err(error) => tracing::warn!(
                error = as_error(&error),
                "media servers were not refreshed after a merge"
            ),
        }
    }

    async fn forget_shows(&self, plan: &StoredPlan) -> Result<(), MergeError> {
        let shows = &plan.plan.duplicates;
        let ids: Vec<String> = shows.iter().map(|show| show.id.clone()).collect();
        let mut found = self.shows.find_shows(&ids).await?;
        // One that is elsewhere now is another folder's.
        found.retain(|show| {
            shows
                .iter()
                .any(|known| known.id == show.id && known.path == show.path)
        });
        Ok(self.shows.forget_shows(&found).await?)
    }
}

/// Sentence about blockers: the first ones, and the number of the others.
fn tell_blockers(blockers: &[String]) -> String {
    let told = blockers[..blockers.len().min(MOST_TOLD)].join("; ");
    match blockers.len().saturating_sub(MOST_TOLD) {
        0 => told,
        more => format!("{told}; and {more} more"),
    }
}

fn judge_end(end: &End, tally: &Tally) -> PlanStatus {
    let done = tally.moved + tally.trashed + tally.rescued + tally.deleted;
    let is_whole = matches!(end, End::Done) && tally.failed == 0;
    match end {
        End::Stopped(_) => PlanStatus::Interrupted,
        _ if is_whole => PlanStatus::Completed,
        _ if done > 0 => PlanStatus::Partial,
        _ => PlanStatus::Failed,
    }
}

/// Counts what the journal says of a plan's steps.
fn count(plan: &StoredPlan, noted: &[repo::Noted]) -> Tally {
    let mut tally = Tally::default();
    let mut trashed = Vec::new();
    for row in noted {
        let Some(step) = plan.plan.steps.get(row.position) else {
            continue;
        };
        match (row.status, step.action) {
            (StepStatus::Completed, Action::Move) => tally.moved += 1,
            (StepStatus::Completed, Action::Rescue) => tally.rescued += 1,
            (StepStatus::Completed, Action::Trash) => {
                tally.trashed += 1;
                trashed.push((&step.state, step.links));
            }
            (StepStatus::Completed, Action::Folder) => {
                tally.deleted += 1;
                tally.freed += row.freed;
            }
            (StepStatus::Skipped, _) => tally.skipped += 1,
            (StepStatus::Failed | StepStatus::Running, _) => tally.failed += 1,
        }
    }
    tally.freed += count_freed(trashed.into_iter());
    tally
}

#[cfg(test)]
mod tests {
    use qm_db::{Db, db_test};

    use super::*;
    use crate::service::MOST_MERGES;
    use crate::testing::Site;

    #[test]
    fn an_answer_names_a_few_blockers() {
        let blockers: Vec<String> = (0..12).map(|number| format!("b{number}")).collect();
        assert_eq!(tell_blockers(&blockers[..1]), "b0");
        assert!(tell_blockers(&blockers[..10]).ends_with("; b9"));
        assert!(tell_blockers(&blockers).ends_with("; b9; and 2 more"));
    }

    db_test! {
        async fn merges_beyond_the_bound_are_refused_and_wait_for_nothing(db: Db) {
            let site = Site::new(&db).await;
            let stays = site.show(1, "Lost (2004)", "lost", &[("Lost S01E01.mkv", 9)]);
            let goes = site.show(2, "Lost", "lost", &[("Lost S01E02.mkv", 5)]);
            let plan = site.preview(&stays, &[&goes]).await;
            let most = u32::try_from(MOST_MERGES).unwrap();
            let taken = site.app.places.clone().try_acquire_many_owned(most).unwrap();
            let refused = site.refusal("/merge", json!({ "planId": plan["planId"] })).await;
            assert_eq!(refused, "503 unavailable.busy");
            assert!(site.root.join("tv/Lost/Lost S01E02.mkv").is_file());
            drop(taken);
            assert_eq!(site.merge(&plan).await["status"], "completed");
            site.jobs.shutdown().await;
        }
    }
}
