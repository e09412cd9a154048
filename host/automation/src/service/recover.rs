//! Recovery of runs that a crash interrupted: each continues, or ends with the reason.
//!
//! Nothing runs before the start is complete: plugins still being compiled would seem missing, a repeatable
//! action not repeatable, and an engine without its first list offline.

use std::time::Duration;

use qm_db::DbError;
use qm_ports::action::ActionKind;
use tokio_util::sync::CancellationToken;

use super::Automation;
use crate::model::run::{Outcome, Recovery, recovery};
use crate::repo;

/// Time that a start waits for plugins: longer than one may take to compile.
const PLUGINS: Duration = Duration::from_mins(6);
/// Time that a start waits for the first lists of engines with waiting runs; an offline engine delays nothing
/// for longer.
const LISTS: Duration = Duration::from_mins(1);
const LOOK_EVERY: Duration = Duration::from_millis(250);

impl Automation {
    /// Waits until plugins and lists are ready, or the time is over.
    pub(super) async fn until_ready(&self, stop: &CancellationToken) -> Result<(), DbError> {
        let settled = tokio::time::timeout(PLUGINS, self.actions.settled());
        if let Some(Err(_)) = stop.run_until_cancelled(settled).await {
            tracing::warn!("rules go on without the plugins that are still being compiled");
        }
        let needed = {
            let mut tx = self.db.begin_read().await?;
            repo::runs::engines(&mut tx).await?
        };
        let are_read = async {
            loop {
                let lists = self.torrents.lists();
                let is_read = |id: &String| lists.iter().any(|list| list.engine_id() == id);
                if needed.iter().all(is_read) {
                    return;
                }
                tokio::time::sleep(LOOK_EVERY).await;
            }
        };
        let read = tokio::time::timeout(LISTS, are_read);
        if let Some(Err(_)) = stop.run_until_cancelled(read).await {
            tracing::warn!("rules go on without the lists of engines that do not answer");
        }
        Ok(())
    }

    /// Settles interrupted runs. Call it while nothing runs.
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
