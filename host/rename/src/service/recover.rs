//! Runs that a killed server left: their steps between are finished or taken back, and the runs are over.

use std::sync::Arc;
use std::time::Duration;

use qm_db::Tx;
use qm_file_operations::Control;
use qm_kernel::as_error;
use qm_platform::Beats;
use tokio_util::sync::CancellationToken;

use super::Rename;
use super::carry::Author;
use crate::error::RenameError;
use crate::lanes::LOOKS;
use crate::model::run::{Operation, Run, Status};
use crate::ops::between::{self, Became};
use crate::repo::runs as repo;

/// Interval between looks for runs that were left.
const INTERVAL: Duration = Duration::from_mins(1);
/// Steps that are settled at once.
const AT_ONCE: i64 = 64;
/// Time for which a run waits for a disk that is not there, in milliseconds: a day.
const WAITS: i64 = 24 * 3_600_000;
const INTERRUPTED: &str = "Interrupted by a service restart: nothing was done";

impl Rename {
    /// Name and interval of the loop.
    pub const LOOP: (&'static str, Duration) = ("media.rename_recovery", INTERVAL);

    /// Settles what was left until it is told to stop; at the start also what was left a moment ago.
    pub async fn recovery_loop(self: Arc<Self>, stop: CancellationToken) {
        let mut beats = Beats::every(INTERVAL);
        let mut is_start = self.ground.db.is_sole();
        loop {
            if let Some(Err(error)) = stop.run_until_cancelled(self.settle_left(is_start)).await {
                let error = as_error(&error);
                tracing::warn!(
                    error,
                    "renames that were interrupted could not be settled; tried again in a minute"
                );
            }
            is_start = false;
            tokio::select! {
                () = stop.cancelled() => return,
                () = beats.next() => {}
            }
        }
    }

    /// Settles every run that was left. `all`: also those that were at work a moment ago, for no other server is there.
    pub(super) async fn settle_left(&self, all: bool) -> Result<(), RenameError> {
        let mut tx = self.ground.db.begin_read().await?;
        let open = repo::open(&mut tx).await?;
        drop(tx);
        for run in open {
            if self.is_left(&run) || (all && !self.is_here(&run)) {
                self.settle_run(&run).await?;
            }
        }
        Ok(())
    }

    fn is_here(&self, run: &Run) -> bool {
        use qm_lanes::IgnorePoison as _;
        self.running.lock().ignore_poison().contains(&run.id)
    }

    /// Settles the steps of a run that are between, the last one first, and ends it.
    pub(super) async fn settle_run(&self, run: &Run) -> Result<(), RenameError> {
        let _running = self.take_in_hand(run.clone());
        loop {
            let mut tx = self.ground.db.begin_read().await?;
            let begun = repo::begun(&mut tx, &run.id, AT_ONCE).await?;
            let undoing = repo::undoing(&mut tx, &run.id, AT_ONCE).await?;
            drop(tx);
            if begun.is_empty() && undoing.is_empty() {
                break;
            }
            let roots = self.roots.clone();
            let is_old = self.ground.ctx.now().ms() - run.seen_at.ms() >= WAITS;
            let (begun, undoing) = LOOKS
                .run_for(None, move |_| {
                    let control = Control::quiet(CancellationToken::new());
                    let begun: Vec<_> = begun
                        .into_iter()
                        .map(|row| (between::settle(&roots, &row.step, is_old, &control), row))
                        .collect();
                    let undoing: Vec<_> = undoing
                        .into_iter()
                        .map(|row| (between::settle_undo(&roots, &row.step, &control), row))
                        .collect();
                    (begun, undoing)
                })
                .await?;
            let mut tx = self.ground.db.begin_write().await?;
            repo::seen(&mut tx, &run.id, self.ground.ctx.now()).await?;
            for (became, row) in begun {
                // A disk that is not there says nothing; the run waits for it.
                self.write_settled(&mut tx, run, &row, became?).await?;
            }
            for (is_undone, row) in undoing {
                if is_undone? {
                    repo::undone(&mut tx, &row.id, self.ground.ctx.now()).await?;
                    self.tell_undone(&mut tx, &Author::absent(&run.created_by), &row.step);
                } else {
                    repo::mark(&mut tx, &row.id, false).await?;
                }
            }
            tx.commit().await?;
        }
        let mut tx = self.ground.db.begin_write().await?;
        repo::end(&mut tx, &run.id).await?;
        tx.commit().await?;
        tracing::info!(
            run = run.id,
            library = run.library,
            "an interrupted rename was settled"
        );
        Ok(())
    }

    async fn write_settled(
        &self,
        tx: &mut Tx,
        run: &Run,
        row: &Operation,
        became: Became,
    ) -> Result<(), RenameError> {
        match became {
            Became::Done(placed) => {
                repo::settle(tx, &row.id, Status::Success, row.message.as_deref(), placed).await?;
                self.tell_done(tx, &Author::absent(&run.created_by), &row.step);
            }
            Became::Nothing => {
                repo::settle(tx, &row.id, Status::Failed, Some(INTERRUPTED), None).await?;
            }
            Became::Unclear(why) => {
                let message = format!("Interrupted by a service restart: {why}");
                repo::settle(tx, &row.id, Status::Failed, Some(&message), None).await?;
            }
        }
        Ok(())
    }
}
