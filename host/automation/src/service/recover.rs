//! Runs that were begun when the server died: each goes on, or ends with a sentence that says why it does not.

use qm_db::DbError;
use qm_ports::action::ActionKind;

use super::Automation;
use crate::model::run::{Outcome, Recovery, recovery};
use crate::repo;

impl Automation {
    /// Settles what was cut off. To be called while nothing runs.
    pub async fn recover(&self) -> Result<(), DbError> {
        let mut tx = self.db.begin_read().await?;
        let left = repo::runs::left(&mut tx).await?;
        drop(tx);
        if left.is_empty() {
            return Ok(());
        }
        let kinds: Vec<ActionKind> = self.actions.actions();
        let is_idempotent = |id: &str| kinds.iter().any(|kind| kind.id == id && kind.idempotent);
        for run in left {
            let mut tx = self.db.begin_write().await?;
            let Some(rule) = repo::rules::find(&mut tx, &run.rule_id).await? else {
                continue;
            };
            match recovery(&run, &rule, is_idempotent) {
                Recovery::Again => {
                    tracing::info!(rule = rule.id, step = run.step, "a rule that was cut off goes on");
                    repo::runs::again(&mut tx, &run.id).await?;
                    tx.commit().await?;
                }
                Recovery::CutOff(why) => {
                    drop(tx);
                    tracing::warn!(rule = rule.id, why, "a rule was cut off");
                    self.end(&run, &rule, &Outcome::CutOff(why)).await?;
                }
            }
        }
        Ok(())
    }
}
