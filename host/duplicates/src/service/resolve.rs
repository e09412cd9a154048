//! Plans as they are carried out.
//!
//! One plan at a time, whoever asked. Before each file goes: the caller still may, what stays is there as the plan knows it,
//! the file is the one that was shown, and no torrent uses it that was not told of. Then a row of the journal is committed,
//! and the file goes into the trash. What does not hold any more is skipped, and named in the journal.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use qm_kernel::{Requester, as_error};
use qm_lanes::LaneError;
use qm_platform::{ActingError, AuditResult};
use qm_ports::inventory::StockItem;
use qm_ports::trash::{FileState, Looked, Sight, TrashError};
use serde_json::json;

use super::{DELETE, Duplicates, OBJECT};
use crate::error::DuplicatesError;
use crate::model::{Action, PlanStatus, Scope, Status, StepStatus, StoredPlan, count_freed};
use crate::repo;

/// The result of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    pub plan_id: String,
    pub status: PlanStatus,
    /// Files in the trash.
    pub trashed: usize,
    pub skipped: usize,
    pub failed: usize,
    /// Bytes of files whose last name went.
    pub freed: u64,
}

/// A plan while it is carried out.
#[derive(Default)]
pub(super) struct Tally {
    trashed: Vec<(String, FileState, u64)>,
    skipped: usize,
    /// Number of skipped files that were gone already.
    gone: usize,
    failed: usize,
    /// Reason for which the rest was left.
    cut_off: Option<String>,
}

/// The judgement on one file.
enum Turn {
    Go,
    /// The file is gone already.
    Gone,
    Skip(String),
    Fail(String),
    /// Nothing more may be deleted by this plan.
    End(String),
}

impl Duplicates {
    /// Carries a plan out. It goes on when the caller hangs up.
    pub async fn resolve(self: &Arc<Self>, by: Requester, plan_id: &str) -> Result<Outcome, DuplicatesError> {
        let place = self.places.take(&by.principal.user_id);
        let place = place.ok_or(LaneError::Full("duplicates.plans"))?;
        let (app, id) = (Arc::clone(self), plan_id.to_owned());
        let working = tokio::spawn(async move {
            let _place = place;
            app.resolve_now(&by, &id).await
        });
        working.await.unwrap_or_else(|error| {
            let error = as_error(&error);
            tracing::error!(error, "a plan of duplicates was cut off");
            Err(DuplicatesError::CutOff)
        })
    }

    async fn resolve_now(&self, by: &Requester, plan_id: &str) -> Result<Outcome, DuplicatesError> {
        let _turn = self.turn.lock().await;
        let plan = self.begin(by, plan_id).await?;
        let message = json!({
            "resolutionId": plan.id, "groupId": plan.group_id, "status": "running", "at": self.ground.ctx.now(),
        });
        self.tell("media_manager.duplicates.resolution.started", &message);
        // Before anything goes: is there anything left to keep?
        if let Err(error) = self.check_kept(&plan).await {
            let code = match error {
                DuplicatesError::KeeperMissing => "keeper_missing",
                DuplicatesError::StaleKeeper => "stale_plan",
                _ => "failed",
            };
            self.fail(&plan, code).await?;
            return Err(error);
        }
        let mut tally = Tally::default();
        for (position, action) in plan.plan.actions.iter().enumerate() {
            if let Err(error) = self.step(by, &plan, position, action, &mut tally).await {
                tally.failed += 1;
                tally.cut_off = Some(error.public());
            }
            if tally.cut_off.is_some() {
                break;
            }
        }
        self.finish(by, &plan, tally).await
    }

    /// Checks a plan and notes that it is being carried out.
    async fn begin(&self, by: &Requester, plan_id: &str) -> Result<StoredPlan, DuplicatesError> {
        let mut tx = self.ground.db.begin_write().await?;
        let acting = &self.ground.acting;
        acting.judge(&mut tx, &by.principal, &[DELETE]).await?;
        let plan = repo::plans::find(&mut tx, plan_id).await?;
        let plan = plan.ok_or(DuplicatesError::NoSuchPlan)?;
        if plan.status != PlanStatus::Pending {
            return Err(DuplicatesError::AlreadyRun(plan.status.as_str()));
        }
        if !plan.plan.blockers.is_empty() {
            return Err(DuplicatesError::Blocked(plan.plan.blockers.join("; ")));
        }
        let now = self.ground.ctx.now();
        let group = repo::groups::find(&mut tx, &plan.group_id).await?;
        let is_same = |version| version == plan.group_version;
        if !group.is_some_and(|group| is_same(group.version) && group.status != Status::Resolved) {
            let error = Some("stale_plan");
            repo::plans::end(&mut tx, &plan.id, PlanStatus::Failed, 0, error, now).await?;
            tx.commit().await?;
            self.tell_end(&plan, PlanStatus::Failed, &Tally::default(), 0);
            return Err(DuplicatesError::StalePlan);
        }
        if !repo::plans::start(&mut tx, &plan.id, now).await? {
            return Err(DuplicatesError::AlreadyRun(PlanStatus::Running.as_str()));
        }
        tx.commit().await?;
        Ok(plan)
    }

    /// Ends a plan of which nothing was carried out.
    async fn fail(&self, plan: &StoredPlan, error: &str) -> Result<(), DuplicatesError> {
        let mut tx = self.ground.db.begin_write().await?;
        let now = self.ground.ctx.now();
        repo::plans::end(&mut tx, &plan.id, PlanStatus::Failed, 0, Some(error), now).await?;
        tx.commit().await?;
        self.tell_end(plan, PlanStatus::Failed, &Tally::default(), 0);
        Ok(())
    }

    /// Checks that what stays is there as the plan knows it: the whole keeper, or of several members at least one whole.
    async fn check_kept(&self, plan: &StoredPlan) -> Result<(), DuplicatesError> {
        let kept = &plan.plan.kept;
        let paths = kept.iter().map(|file| file.path.clone()).collect();
        let looked = self.trash.look(paths).await?;
        // By item: all there, all as they were.
        let mut items: BTreeMap<&str, (bool, bool)> = BTreeMap::new();
        for (file, looked) in kept.iter().zip(&looked) {
            let (are_there, are_same) = items.entry(&file.item_id).or_insert((true, true));
            match &looked.sight {
                Sight::File { state, .. } => *are_same &= *state == file.state,
                Sight::Missing | Sight::Refused(_) => *are_there = false,
            }
        }
        if items.values().any(|whole| *whole == (true, true)) {
            Ok(())
        } else if items.values().any(|(are_there, _)| *are_there) {
            Err(DuplicatesError::StaleKeeper)
        } else {
            Err(DuplicatesError::KeeperMissing)
        }
    }

    /// One file of a plan.
    async fn step(
        &self,
        by: &Requester,
        plan: &StoredPlan,
        position: usize,
        action: &Action,
        tally: &mut Tally,
    ) -> Result<(), DuplicatesError> {
        let turn = self.judge_file(plan, action).await?;
        let (status, message) = match turn {
            Turn::Go => (StepStatus::Running, None),
            Turn::Gone => (StepStatus::Skipped, Some("the file no longer exists".to_owned())),
            Turn::Skip(ref why) => (StepStatus::Skipped, Some(why.clone())),
            Turn::Fail(ref why) => (StepStatus::Failed, Some(why.clone())),
            Turn::End(why) => {
                tally.cut_off = Some(why);
                return Ok(());
            }
        };
        let id = self.ground.ctx.ordered_id();
        let mut tx = self.ground.db.begin_write().await?;
        let acting = &self.ground.acting;
        match acting.judge(&mut tx, &by.principal, &[DELETE]).await {
            Ok(_) => {}
            Err(ActingError::Database(error)) => return Err(error.into()),
            // Their right was taken meanwhile.
            Err(error) => {
                tally.cut_off = Some(error.to_string());
                return Ok(());
            }
        }
        let now = self.ground.ctx.now();
        let place = (&*id, &*plan.id, position as i64);
        repo::plans::add_step(&mut tx, place, action, (status, message.as_deref()), now).await?;
        tx.commit().await?;
        match turn {
            Turn::Gone => {
                tally.gone += 1;
                tally.skipped += 1;
            }
            Turn::Skip(_) => tally.skipped += 1,
            Turn::Fail(_) => tally.failed += 1,
            Turn::Go => self.put(by, &id, action, tally).await?,
            Turn::End(_) => {}
        }
        Ok(())
    }

    /// Puts a file into the trash and ends its row of the journal.
    async fn put(
        &self,
        by: &Requester,
        step: &str,
        action: &Action,
        tally: &mut Tally,
    ) -> Result<(), DuplicatesError> {
        let put = self.trash.put(&action.path, action.state, by.caller()).await;
        let (status, trash_id, message) = match &put {
            Ok(id) => (StepStatus::Completed, Some(&**id), None),
            Err(error @ (TrashError::Missing | TrashError::Changed)) => {
                (StepStatus::Skipped, None, Some(error.to_string()))
            }
            Err(error) => (StepStatus::Failed, None, Some(error.to_string())),
        };
        match status {
            StepStatus::Completed => {
                let file = (action.item_id.clone(), action.state, action.links);
                tally.trashed.push(file);
            }
            StepStatus::Skipped => {
                tally.skipped += 1;
                tally.gone += usize::from(matches!(put, Err(TrashError::Missing)));
            }
            StepStatus::Failed | StepStatus::Running => tally.failed += 1,
        }
        let mut tx = self.ground.db.begin_write().await?;
        let now = self.ground.ctx.now();
        repo::plans::end_step(&mut tx, step, status, trash_id, message.as_deref(), now).await?;
        tx.commit().await?;
        Ok(())
    }

    async fn judge_file(&self, plan: &StoredPlan, action: &Action) -> Result<Turn, DuplicatesError> {
        if self.stopping.is_cancelled() {
            return Ok(Turn::End("the server stops".to_owned()));
        }
        match self.check_kept(plan).await {
            Ok(()) => {}
            Err(error @ (DuplicatesError::StaleKeeper | DuplicatesError::KeeperMissing)) => {
                return Ok(Turn::End(error.to_string()));
            }
            Err(other) => return Err(other),
        }
        let ids = [action.item_id.clone()];
        let item = self.stock.find_items(&ids).await?.pop();
        let looked = self.trash.look(vec![action.path.clone()]).await?.pop();
        let (Some(item), Some(looked)) = (item, looked) else {
            return Ok(Turn::Skip("the item is no longer in its library".to_owned()));
        };
        Ok(judge_sight(plan, action, &item, &looked))
    }

    /// Ends a plan: its row, its group, the audit trail, and the message.
    async fn finish(
        &self,
        by: &Requester,
        plan: &StoredPlan,
        tally: Tally,
    ) -> Result<Outcome, DuplicatesError> {
        let failures = tally.failed + usize::from(tally.cut_off.is_some());
        let status = match (failures, tally.trashed.len()) {
            (0, _) => PlanStatus::Completed,
            (_, 0) => PlanStatus::Failed,
            _ => PlanStatus::Partial,
        };
        let freed = freed_by(&tally);
        let now = self.ground.ctx.now();
        let mut tx = self.ground.db.begin_write().await?;
        let error = tally.cut_off.as_deref();
        repo::plans::end(&mut tx, &plan.id, status, freed, error, now).await?;
        let is_clean = !tally.trashed.is_empty() || tally.gone == tally.skipped;
        let user = by.principal.user_id.to_string();
        let is_resolved = plan.plan.scope == Scope::KeepOne && status != PlanStatus::Failed && is_clean;
        self.close_group(&mut tx, plan, &tally, is_resolved.then_some(user))
            .await?;
        let metadata = json!({
            "resolutionId": plan.id, "status": status.as_str(), "trashed": tally.trashed.len(), "skipped": tally.skipped,
            "failed": tally.failed, "reclaimedBytes": freed, "itemId": plan.plan.item_id, "scope": plan.plan.scope.as_str(),
        });
        let result = if status == PlanStatus::Completed {
            AuditResult::Success
        } else {
            AuditResult::Failure
        };
        let about = ("media.duplicates.resolved", OBJECT, Some(plan.group_id.clone()));
        self.audit(&mut tx, by.caller(), about, result, metadata).await?;
        tx.commit().await?;
        self.tell_end(plan, status, &tally, freed);
        if !tally.trashed.is_empty() {
            self.name_survivors(by, plan).await;
        }
        Ok(Outcome {
            plan_id: plan.id.clone(),
            status,
            trashed: tally.trashed.len(),
            skipped: tally.skipped,
            failed: tally.failed,
            freed,
        })
    }

    /// Takes members whose files all went out of their group, and resolves it for `resolver`. An open group with fewer than
    /// two members goes.
    async fn close_group(
        &self,
        tx: &mut qm_db::Tx,
        plan: &StoredPlan,
        tally: &Tally,
        resolver: Option<String>,
    ) -> Result<(), DuplicatesError> {
        let now = self.ground.ctx.now();
        let Some(mut group) = repo::groups::find(tx, &plan.group_id).await? else {
            return Ok(());
        };
        let is_open = resolver.is_none() && group.status == Status::Open;
        if resolver.is_some() {
            group.status = Status::Resolved;
            group.resolved_by = resolver;
            group.resolved_at = Some(now);
            group.updated_at = now;
            repo::groups::set_status(tx, &group).await?;
        }
        if tally.trashed.is_empty() {
            return Ok(());
        }
        let went: Vec<String> = gone_items(plan, tally).into_iter().collect();
        let left = repo::groups::remove_members(tx, &group.id, &went, now).await?;
        if left < 2 && is_open {
            repo::groups::delete_open(tx, &group.id).await?;
        }
        Ok(())
    }

    fn tell_end(&self, plan: &StoredPlan, status: PlanStatus, tally: &Tally, freed: u64) {
        let event = match status {
            PlanStatus::Completed => "media_manager.duplicates.resolution.completed",
            PlanStatus::Partial => "media_manager.duplicates.resolution.partial",
            _ => "media_manager.duplicates.resolution.failed",
        };
        let message = json!({
            "resolutionId": plan.id, "groupId": plan.group_id, "status": status.as_str(),
            "trashed": tally.trashed.len(), "skipped": tally.skipped, "failed": tally.failed,
            "reclaimedBytes": freed, "at": self.ground.ctx.now(),
        });
        self.tell(event, &message);
    }
}

/// Compares a file with the plan.
fn judge_sight(plan: &StoredPlan, action: &Action, item: &StockItem, looked: &Looked) -> Turn {
    let state = match &looked.sight {
        Sight::Missing => return Turn::Gone,
        Sight::Refused(why) => return Turn::Fail(why.clone()),
        Sight::File { state, .. } => *state,
    };
    if item.is_locked {
        return Turn::Skip("the item is locked".to_owned());
    }
    if item.files.iter().all(|file| file.path != action.path) {
        return Turn::Skip("the file belongs to another item now".to_owned());
    }
    if state != action.state {
        let what = if state.size == action.state.size {
            "the file was changed or replaced since the preview"
        } else {
            "the file has another size than in the preview"
        };
        return Turn::Skip(what.to_owned());
    }
    let is_new = |torrent: &&qm_ports::TorrentPayload| {
        let told = &action.torrents;
        !told.contains(&(torrent.engine_id.clone(), torrent.hash.clone()))
    };
    if let Some(torrent) = looked.torrents.iter().find(is_new) {
        let what = format!(
            "the torrent {} uses it, which was not so in the preview",
            torrent.name
        );
        return Turn::Skip(what);
    }
    let same = |file: &crate::model::Kept| {
        let of = |state: &FileState| (state.device, state.inode);
        of(&file.state) == of(&state)
    };
    if plan.plan.scope == Scope::KeepOne && plan.plan.kept.iter().any(same) {
        return Turn::Skip("it is the file that stays".to_owned());
    }
    Turn::Go
}

/// Items all of whose files in the plan went.
fn gone_items(plan: &StoredPlan, tally: &Tally) -> BTreeSet<String> {
    let count = |id: &str| {
        let trashed = tally.trashed.iter().filter(|(item, ..)| item == id).count();
        let planned = plan
            .plan
            .actions
            .iter()
            .filter(|action| action.item_id == id)
            .count();
        trashed == planned
    };
    let items = tally.trashed.iter().map(|(item, ..)| item.clone());
    items
        .collect::<BTreeSet<_>>()
        .into_iter()
        .filter(|id| count(id))
        .collect()
}

fn freed_by(tally: &Tally) -> u64 {
    let files = tally.trashed.iter().map(|(_, state, links)| (state, *links));
    count_freed(files).into_iter().sum()
}

#[cfg(test)]
mod tests {
    use qm_db::{Db, db_test};
    use serde_json::json;

    use crate::service::places::{MOST, Place};
    use crate::testing::{Site, resolving};

    db_test! {
        async fn plans_beyond_the_bound_are_refused_and_wait_for_nothing(db: Db) {
            let site = Site::new(&db).await;
            site.film("a", "Alien", "films/a/Alien.mkv", 100);
            site.film("b", "Alien", "films/b/Alien.mkv", 300);
            site.detect().await;
            let plan = site.preview(&site.only_group().await).await;
            let of = |number: usize| ["a", "b"][number % 2];
            let taken: Vec<Place> = (0..MOST).map(|number| site.app.places.take(of(number)).unwrap()).collect();
            let refused = site.refusal(&resolving(&plan), json!({})).await;
            assert_eq!(refused, "503 unavailable.busy");
            assert!(site.exists("films/a/Alien.mkv"));
            drop(taken);
            assert_eq!(site.resolve(&plan).await["status"], "completed");
            site.jobs.shutdown().await;
        }
    }
}
