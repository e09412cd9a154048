//! Plans that a crash cut off.

use super::Duplicates;
use crate::error::DuplicatesError;
use crate::model::{PlanStatus, StepStatus, StoredPlan};
use crate::repo;
use qm_ports::trash::Sight;

impl Duplicates {
    /// Ends plans that a crash cut off, by what is on the disk. Plans that run now are not touched: they hold the turn.
    pub(super) async fn settle_cut_off(&self) -> Result<(), DuplicatesError> {
        let Ok(_turn) = self.turn.try_lock() else {
            return Ok(());
        };
        let mut tx = self.ground.db.begin_read().await?;
        let plans = repo::plans::running(&mut tx).await?;
        drop(tx);
        for plan in plans {
            self.settle(&plan).await?;
        }
        Ok(())
    }

    async fn settle(&self, plan: &StoredPlan) -> Result<(), DuplicatesError> {
        let mut tx = self.ground.db.begin_read().await?;
        let steps = repo::plans::steps(&mut tx, &plan.id).await?;
        drop(tx);
        let is = |step: &repo::plans::Step, status: StepStatus| step.status == status.as_str();
        let mut trashed = steps
            .iter()
            .filter(|step| is(step, StepStatus::Completed))
            .count();
        let now = self.ground.ctx.now();
        let mut ends = Vec::new();
        for step in steps.iter().filter(|step| is(step, StepStatus::Running)) {
            let action = usize::try_from(step.position).ok();
            let action = action.and_then(|at| plan.plan.actions.get(at));
            let path = action.map(|action| action.path.clone()).unwrap_or_default();
            let looked = self.trash.look(vec![path]).await?.pop();
            // It was there when the row was written, and nobody but the trash was to take it.
            let went = looked.is_some_and(|looked| looked.sight == Sight::Missing);
            trashed += usize::from(went);
            ends.push((step.id.clone(), went));
        }
        let status = if trashed > 0 {
            PlanStatus::Partial
        } else {
            PlanStatus::Failed
        };
        let why = "interrupted by a restart";
        let mut tx = self.ground.db.begin_write().await?;
        for (id, went) in ends {
            let (status, why) = if went {
                (StepStatus::Completed, None)
            } else {
                (StepStatus::Failed, Some(why))
            };
            repo::plans::end_step(&mut tx, &id, status, None, why, now).await?;
        }
        repo::plans::end(&mut tx, &plan.id, status, 0, Some(why), now).await?;
        if trashed > 0 {
            // Other plans of the group know files that are gone; which ones is for the next detection to say.
            repo::groups::remove_members(&mut tx, &plan.group_id, &[], now).await?;
        }
        tx.commit().await?;
        Ok(())
    }
}
