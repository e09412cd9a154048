//! Begin and end of runs: one at a time in a library, on all servers together.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use qm_kernel::{Requester, as_error};
use qm_lanes::IgnorePoison;
use tokio_util::sync::CancellationToken;

use super::{RENAMES, Rename};
use crate::error::RenameError;
use crate::model::run::{Run, overlaps};
use crate::repo::runs as repo;

/// Interval in which a run says that it is at work.
const BEAT: Duration = Duration::from_secs(15);
/// Silence after which a run counts as left by its server, in milliseconds.
pub(super) const SILENCE: i64 = 60_000;
/// Interval of looks whether this server may still act.
const LOOK: Duration = Duration::from_millis(200);
/// Age at which a run is forgotten, in milliseconds: a year.
const FORGOTTEN: i64 = 365 * 24 * 3_600_000;

/// A run that this process is at work on.
pub(super) struct Running {
    pub run: Run,
    all: Arc<Mutex<HashSet<String>>>,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.all.lock().ignore_poison().remove(&self.run.id);
    }
}

/// Purpose of a run that begins.
pub(super) enum Purpose<'a> {
    Apply { library: &'a str, mode: &'static str },
    Undo(&'a str),
}

impl Rename {
    /// Begins a run, unless another one is at work in its library. One that a server left there is settled first.
    pub(super) async fn begin_run(
        &self,
        requester: &Requester,
        purpose: Purpose<'_>,
    ) -> Result<Running, RenameError> {
        let caller = requester.caller();
        let mut is_settled = false;
        loop {
            let now = self.ground.ctx.now();
            let mut tx = self.ground.db.begin_write().await?;
            let actor = self
                .ground
                .acting
                .judge(&mut tx, caller.principal, &[RENAMES])
                .await?;
            repo::take_turn(&mut tx).await?;
            let mut run = match purpose {
                Purpose::Apply { library, mode } => Run {
                    id: self.ground.ctx.ordered_id(),
                    library: library.to_owned(),
                    mode: mode.to_owned(),
                    created_by: String::new(),
                    seen_at: now,
                },
                Purpose::Undo(id) => repo::find(&mut tx, id).await?.ok_or(RenameError::NothingToUndo)?,
            };
            actor.user_id().clone_into(&mut run.created_by);
            run.seen_at = now;
            let open = repo::open(&mut tx).await?;
            if let Some(other) = open
                .into_iter()
                .find(|other| overlaps(&other.library, &run.library))
            {
                drop(tx);
                if is_settled || !self.is_left(&other) {
                    return Err(RenameError::Running(other.library));
                }
                is_settled = true;
                self.settle_run(&other).await?;
                continue;
            }
            match purpose {
                Purpose::Apply { .. } => repo::add(&mut tx, &run).await?,
                Purpose::Undo(_) if repo::begin_undo(&mut tx, &run).await? => {}
                Purpose::Undo(_) => return Err(RenameError::Running(run.library)),
            }
            repo::forget(&mut tx, qm_kernel::Timestamp::from_ms(now.ms() - FORGOTTEN)).await?;
            let running = self.take_in_hand(run);
            tx.commit().await?;
            return Ok(running);
        }
    }

    /// Counts a run as at work here.
    pub(super) fn take_in_hand(&self, run: Run) -> Running {
        self.running.lock().ignore_poison().insert(run.id.clone());
        Running {
            run,
            all: self.running.clone(),
        }
    }

    /// True if no server is at work on a run.
    pub(super) fn is_left(&self, run: &Run) -> bool {
        let is_here = self.running.lock().ignore_poison().contains(&run.id);
        !is_here && self.ground.ctx.now().ms() - run.seen_at.ms() >= SILENCE
    }

    /// Says that a run is at work until it is dropped, and cancels it when this server may not act any more.
    pub(super) async fn keep_alive(&self, run_id: &str, token: &CancellationToken) {
        let mandate = self.ground.db.mandate();
        let mut beat = tokio::time::Instant::now() + BEAT;
        loop {
            tokio::time::sleep(LOOK).await;
            if !mandate.holds() {
                token.cancel();
            }
            if tokio::time::Instant::now() < beat {
                continue;
            }
            beat = tokio::time::Instant::now() + BEAT;
            let said = async {
                let mut tx = self.ground.db.begin_write().await?;
                repo::seen(&mut tx, run_id, self.ground.ctx.now()).await?;
                tx.commit().await
            };
            if let Err(error) = said.await {
                let error = as_error(&error);
                tracing::debug!(error, "a rename could not say that it is at work");
            }
        }
    }
}
