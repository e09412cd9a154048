//! Merges that a crash cut off.

use qm_kernel::as_error;
use qm_ports::trash::{FileState, Sight};

use super::Folders;
use crate::error::MergeError;
use crate::model::{Action, PlanStatus, Step, StepStatus, StoredPlan};
use crate::repo;

/// End of a step that a crash cut off.
enum Became {
    Done,
    /// It was not begun, or was taken back: it is done when the merge goes on.
    Undone,
    /// Nobody can say; holds what people have to look at.
    Unsure(String),
}

impl Folders {
    /// Settles merges that a crash cut off, by what is on the disk: they go on when they are asked for again. A merge that
    /// runs now is not touched: it holds the turn.
    pub(super) async fn settle_cut_off(&self) -> Result<(), MergeError> {
        let Ok(_turn) = self.turn.try_lock() else {
            return Ok(());
        };
        let mut tx = self.ground.db.begin_read().await?;
        let plans = repo::running(&mut tx).await?;
        drop(tx);
        for plan in plans {
            // One that cannot be settled keeps no other from it.
            if let Err(error) = self.settle(&plan).await {
                tracing::warn!(
                    plan = plan.id,
                    error = as_error(&error),
                    "a merge that was cut off could not be settled; it is tried again in an hour"
                );
            }
        }
        Ok(())
    }

    async fn settle(&self, plan: &StoredPlan) -> Result<(), MergeError> {
        if !self.settle_steps(plan).await? {
            let path = &plan.plan.canonical.path;
            tracing::warn!(
                path,
                "a merge that was cut off is settled when its folder is there again"
            );
            return Ok(());
        }
        let mut tx = self.ground.db.begin_write().await?;
        let (why, now) = (Some("interrupted by a restart"), self.ground.ctx.now());
        repo::end(&mut tx, &plan.id, PlanStatus::Interrupted, 0, why, now).await?;
        tx.commit().await?;
        // What was moved was perhaps not told any more.
        let _ = self.shows.scan(&plan.plan.library_id, None).await?;
        Ok(())
    }

    /// Ends rows of the journal whose steps were cut off; false: the disk is away, and nobody can say what became of them.
    pub(super) async fn settle_steps(&self, plan: &StoredPlan) -> Result<bool, MergeError> {
        if !self.is_there(plan).await? {
            return Ok(false);
        }
        let mut tx = self.ground.db.begin_read().await?;
        let steps = repo::steps(&mut tx, &plan.id).await?;
        drop(tx);
        let mut ends = Vec::new();
        for noted in steps.iter().filter(|step| step.status == StepStatus::Running) {
            let became = match plan.plan.steps.get(noted.position) {
                Some(step) => self.find_out(step).await?,
                None => Became::Undone,
            };
            ends.push((noted.id.clone(), became));
        }
        if ends.is_empty() {
            return Ok(true);
        }
        let now = self.ground.ctx.now();
        let mut tx = self.ground.db.begin_write().await?;
        for (id, became) in ends {
            match became {
                Became::Done => {
                    repo::end_step(&mut tx, &id, StepStatus::Completed, None, None, now).await?;
                }
                Became::Undone => repo::drop_step(&mut tx, &id).await?,
                Became::Unsure(why) => {
                    repo::end_step(&mut tx, &id, StepStatus::Failed, None, Some(&why), now).await?;
                }
            }
        }
        tx.commit().await?;
        Ok(true)
    }

    /// Looks at the disk.
    async fn find_out(&self, step: &Step) -> Result<Became, MergeError> {
        let state = (step.state.device, step.state.inode);
        if step.action == Action::Folder {
            let is_there = self.identify(&step.from).await? == Some(state);
            return Ok(if is_there { Became::Undone } else { Became::Done });
        }
        let mut paths = vec![step.from.clone()];
        paths.extend(step.to.clone());
        let looked = self.trash.look(paths).await?;
        let source = looked.first().map(|looked| &looked.sight);
        let target = looked.get(1).map(|looked| &looked.sight);
        let is_moved =
            |sight: &Sight| matches!(sight, Sight::File { state, .. } if is_copy(state, &step.state));
        Ok(match (source, target) {
            // It was there when the row was written, and nobody but the trash was to take it.
            (Some(Sight::Missing), None) => Became::Done,
            (Some(Sight::Missing), Some(there)) if is_moved(there) => Became::Done,
            (Some(Sight::File { .. }), Some(there)) if is_moved(there) => Became::Unsure(format!(
                "{} was copied, and its original is there too: compare them",
                step.from
            )),
            (Some(Sight::File { .. }), _) => Became::Undone,
            _ => Became::Unsure(format!(
                "{} is neither at its old place nor at its new one",
                step.from
            )),
        })
    }
}

/// True if a file is another one that was moved, or a copy of it with its times.
fn is_copy(one: &FileState, other: &FileState) -> bool {
    one.size == other.size && one.modified == other.modified
}
