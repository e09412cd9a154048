//! Plans of many groups, groups that need no choice, and files that can be restored.

use std::collections::HashMap;
use std::sync::Arc;

use qm_kernel::{Caller, Requester};
use qm_platform::AuditResult;
use qm_ports::trash::InTrash;
use serde_json::json;

use super::resolve::Outcome;
use super::{DELETE, Duplicates, OBJECT, VIEW};
use crate::error::DuplicatesError;
use crate::model::{PlanStatus, Removed, StoredGroup, StoredPlan};
use crate::repo;

/// Most groups that are offered for a quick clean.
const MOST_CLEAR: i64 = 100;
/// Most files that can be restored at once.
const MOST_RESTORABLE: i64 = 100;

/// The preview of one of many groups.
pub struct Previewed {
    pub group_id: String,
    pub plan: Result<StoredPlan, String>,
}

/// The result of one of many plans.
pub struct Done {
    pub plan_id: String,
    pub outcome: Result<Outcome, (PlanStatus, String)>,
}

/// Results of many plans, in the order in which they were named.
pub struct Resolutions(pub Vec<Done>);

/// A group that needs no choice, with the title of its best member.
pub struct Clear {
    pub group: StoredGroup,
    pub title: String,
}

/// A file that a plan put into the trash, and that is still there.
pub struct Restorable {
    pub removed: Removed,
    pub item: InTrash,
}

impl Duplicates {
    /// Previews several groups; one that fails stops no other.
    pub async fn preview_many(
        &self,
        caller: Caller<'_>,
        group_ids: Vec<String>,
        mut keep: HashMap<String, String>,
    ) -> Result<Vec<Previewed>, DuplicatesError> {
        self.judge(caller, &[VIEW]).await?;
        let mut previews = Vec::with_capacity(group_ids.len());
        for group_id in group_ids {
            let keeper = keep.remove(&group_id);
            let shown = self.preview_keeping(caller, &group_id, keeper).await;
            let plan = match shown {
                Ok(plan) if plan.plan.blockers.is_empty() => Ok(plan),
                Ok(plan) => Err(plan.plan.blockers.join("; ")),
                Err(error) => Err(error.public()),
            };
            previews.push(Previewed { group_id, plan });
        }
        Ok(previews)
    }

    /// Carries several plans out, one after another; one that fails stops no other.
    pub async fn resolve_many(
        self: &Arc<Self>,
        by: &Requester,
        plan_ids: Vec<String>,
    ) -> Result<Resolutions, DuplicatesError> {
        self.judge(by.caller(), &[DELETE]).await?;
        let mut done = Vec::with_capacity(plan_ids.len());
        for plan_id in plan_ids {
            let outcome = match self.resolve(by.clone(), &plan_id).await {
                Ok(outcome) => Ok(outcome),
                Err(error) => {
                    let mut tx = self.ground.db.begin_read().await?;
                    let plan = repo::plans::find(&mut tx, &plan_id).await?;
                    let status = plan.map_or(PlanStatus::Failed, |plan| plan.status);
                    Err((status, error.public()))
                }
            };
            done.push(Done { plan_id, outcome });
        }
        let is_ok =
            |done: &&Done| matches!(&done.outcome, Ok(outcome) if outcome.status == PlanStatus::Completed);
        let succeeded = done.iter().filter(is_ok).count();
        let freed: u64 = done
            .iter()
            .filter_map(|done| done.outcome.as_ref().ok())
            .map(|outcome| outcome.freed)
            .sum();
        let metadata = json!({
            "count": done.len(), "succeeded": succeeded, "failed": done.len() - succeeded, "reclaimedBytes": freed,
        });
        let result = if succeeded == done.len() {
            AuditResult::Success
        } else {
            AuditResult::Failure
        };
        let mut tx = self.ground.db.begin_write().await?;
        let about = ("media.duplicates.bulk_resolved", OBJECT, None);
        self.audit(&mut tx, by.caller(), about, result, metadata).await?;
        tx.commit().await?;
        Ok(Resolutions(done))
    }

    /// Open groups that need no choice, those with the largest savings first.
    pub async fn list_clear(&self) -> Result<Vec<Clear>, DuplicatesError> {
        let mut tx = self.ground.db.begin_read().await?;
        let groups = repo::lists::clear(&mut tx, MOST_CLEAR).await?;
        drop(tx);
        let ids = groups
            .iter()
            .filter_map(|group| group.recommended_item_id.clone());
        let items = self.stock.find_items(&ids.collect::<Vec<_>>()).await?;
        let mut titles: HashMap<String, String> =
            items.into_iter().map(|item| (item.id, item.title)).collect();
        // A group whose keeper is gone waits for the next detection.
        let clear = groups.into_iter().filter_map(|group| {
            let title = titles.remove(group.recommended_item_id.as_deref()?)?;
            Some(Clear { group, title })
        });
        Ok(clear.collect())
    }

    /// Files that plans put into the trash and that are still there, the last one first.
    pub async fn list_restorable(&self) -> Result<Vec<Restorable>, DuplicatesError> {
        let mut tx = self.ground.db.begin_read().await?;
        let removed = repo::plans::removed(&mut tx, MOST_RESTORABLE).await?;
        drop(tx);
        let ids: Vec<String> = removed.iter().map(|file| file.trash_id.clone()).collect();
        let items = self.trash.list(&ids).await?;
        let mut items: HashMap<String, InTrash> =
            items.into_iter().map(|item| (item.id.clone(), item)).collect();
        let restorable = removed.into_iter().filter_map(|removed| {
            let item = items.remove(&removed.trash_id)?;
            Some(Restorable { removed, item })
        });
        Ok(restorable.collect())
    }
}
