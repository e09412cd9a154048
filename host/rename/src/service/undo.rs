//! Undo of runs: the newest step first.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use qm_file_operations::Control;
use qm_jobs::{Done, JobError, NewJob, Progress};
use qm_kernel::Requester;
use qm_platform::{ActingError, AuditEntry, AuditResult};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::carry::{Author, Broken};
use super::runs::{Purpose, Running};
use super::{RENAME_JOB, RENAMES, Rename};
use crate::error::RenameError;
use crate::lanes::MOVES;
use crate::model::run::{MAX_PROBLEMS, Operation, Undone};
use crate::ops::back::{Kept, take_back};
use crate::ops::fault::Moment;
use crate::repo::runs as repo;

/// Steps that are undone between two transactions.
const AT_ONCE: i64 = 32;
/// Longest time for which a caller's rights are taken from the last look.
const RIGHTS: Duration = Duration::from_secs(5);

impl Rename {
    /// Undoes a run, as far as its files are where it put them.
    pub async fn undo(self: &Arc<Self>, requester: &Requester, run_id: &str) -> Result<Undone, RenameError> {
        self.check_caller(requester).await?;
        if run_id.trim().is_empty() {
            return Err(RenameError::NoRunId);
        }
        let mut tx = self.ground.db.begin_read().await?;
        if run_id.contains('\0') || repo::to_undo(&mut tx, run_id, i64::MAX, 1).await?.is_empty() {
            return Err(RenameError::NothingToUndo);
        }
        drop(tx);
        let running = self.begin_run(requester, Purpose::Undo(run_id)).await?;
        let (app, who) = (self.clone(), requester.clone());
        let of_user = requester.principal.user_id.clone();
        let working = qm_lanes::on_behalf(of_user, async move { app.undo_job(&who, running).await });
        let done = self.tasks.spawn(working).await;
        done.unwrap_or_else(|error| Err(RenameError::Broken(error.to_string())))
    }

    async fn undo_job(&self, requester: &Requester, running: Running) -> Result<Undone, RenameError> {
        let job = NewJob {
            input_summary: Some(json!({ "libraryPath": running.run.library, "undo": running.run.id })),
            created_by: Some(requester.principal.user_id.to_string()),
            correlation_id: Some(requester.client.request_id.clone()),
            ..NewJob::new(RENAME_JOB, Value::Null)
        };
        let hosted = match self.jobs.begin_awaited(job).await {
            Ok(hosted) => hosted,
            Err(error) => {
                self.settle_run(&running.run).await?;
                return Err(error.into());
            }
        };
        let done = Arc::new(AtomicU64::new(0));
        let counted = done.clone();
        hosted.follow_progress(move || Progress {
            current: Some(counted.load(Ordering::Relaxed)),
            unit: Some("files"),
            ..Progress::default()
        });
        let token = hosted.cancellation().child_token();
        let run_id = running.run.id.clone();
        let ended = tokio::select! {
            ended = self.carry_back(requester, &running, &token, &done) => ended,
            () = self.keep_alive(&run_id, &token) => Err(Broken::Dead),
        };
        match ended {
            Ok(undone) => {
                let kept = undone.skipped.len() as u64 + undone.failed;
                let warning = (kept > 0).then(|| format!("{kept} files were left as they were"));
                let result = json!({ "runId": run_id, "undone": undone.files, "failed": undone.failed });
                hosted.end(warning, Ok(Done::result(result)));
                Ok(undone)
            }
            Err(Broken::Dead) => {
                hosted.end(
                    None,
                    Err(JobError::new("given_up", "The server is dead").permanent()),
                );
                Err(RenameError::Broken("the server is dead".to_owned()))
            }
            Err(Broken::Failed(error)) => {
                hosted.end(
                    None,
                    Err(JobError::new(error.code(), error.to_string()).permanent()),
                );
                self.settle_run(&running.run).await?;
                Err(error)
            }
        }
    }

    async fn carry_back(
        &self,
        requester: &Requester,
        running: &Running,
        token: &CancellationToken,
        done: &AtomicU64,
    ) -> Result<Undone, Broken> {
        let mut undone = Undone::default();
        let (mut before, mut judged) = (i64::MAX, None::<std::time::Instant>);
        let id = &running.run.id;
        while !token.is_cancelled() {
            if judged.is_none_or(|at| at.elapsed() >= RIGHTS) {
                if !self.find_powers(requester).await?.contains(RENAMES) {
                    return Err(RenameError::from(ActingError::Lacks(RENAMES.key().to_owned())).into());
                }
                judged = Some(std::time::Instant::now());
            }
            let mut tx = self.ground.db.begin_write().await?;
            let rows = repo::to_undo(&mut tx, id, before, AT_ONCE).await?;
            let Some(last) = rows.last() else { break };
            before = last.position;
            repo::seen(&mut tx, id, self.ground.ctx.now()).await?;
            for row in &rows {
                repo::mark(&mut tx, &row.id, true).await?;
            }
            tx.commit().await?;
            if self.faults.strike(Moment::Noted) {
                return Err(Broken::Dead);
            }
            let ends = self.take_back_some(&rows, token).await?;
            if self.faults.strike(Moment::Done) {
                return Err(Broken::Dead);
            }
            self.write_undone(requester, &rows, ends, &mut undone).await?;
            done.fetch_add(rows.len() as u64, Ordering::Relaxed);
        }
        self.end_undo(requester, running, &undone).await?;
        Ok(undone)
    }

    /// Results of the ways back; `None` for one that was not begun.
    async fn take_back_some(
        &self,
        rows: &[Operation],
        token: &CancellationToken,
    ) -> Result<Vec<Option<Result<(), Kept>>>, Broken> {
        let (roots, faults, mandate) = (self.roots.clone(), self.faults.clone(), self.ground.db.mandate());
        let (rows, token) = (rows.to_vec(), token.clone());
        let working = MOVES.run(move |_| {
            let control = Control::quiet(token);
            let mut ends = Vec::with_capacity(rows.len());
            for row in &rows {
                if !mandate.holds() || control.check().is_err() {
                    ends.push(None);
                    continue;
                }
                ends.push(
                    match take_back(&roots, &row.step, row.placed, row.made, &control) {
                        Err(Kept::Failed(qm_confined::FsError::Cancelled)) => None,
                        end => Some(end),
                    },
                );
                if faults.strike(Moment::Stepped) {
                    return None;
                }
            }
            Some(ends)
        });
        let ends = working.await.map_err(RenameError::from)?;
        ends.ok_or(Broken::Dead)
    }

    async fn write_undone(
        &self,
        requester: &Requester,
        rows: &[Operation],
        ends: Vec<Option<Result<(), Kept>>>,
        undone: &mut Undone,
    ) -> Result<(), RenameError> {
        let mut tx = self.ground.db.begin_write().await?;
        let mut failures = HashSet::new();
        for (row, end) in rows.iter().zip(ends) {
            let reason = match end {
                Some(Ok(())) => {
                    repo::undone(&mut tx, &row.id, self.ground.ctx.now()).await?;
                    self.tell_undone(&mut tx, &Author::from_requester(requester), &row.step);
                    undone.files += 1;
                    continue;
                }
                Some(Err(Kept::NotReversible)) => "not_reversible",
                Some(Err(Kept::MovedSince)) => "moved_since",
                Some(Err(Kept::Occupied)) => "original_path_occupied",
                Some(Err(Kept::Failed(error))) => {
                    undone.failed += 1;
                    if failures.insert(error.code()) {
                        tracing::warn!(%error, run = row.run_id, "a file of a rename could not be brought back");
                    }
                    repo::mark(&mut tx, &row.id, false).await?;
                    continue;
                }
                None => {
                    repo::mark(&mut tx, &row.id, false).await?;
                    continue;
                }
            };
            repo::mark(&mut tx, &row.id, false).await?;
            if undone.skipped.len() < MAX_PROBLEMS {
                undone.skipped.push((row.source(), reason));
            }
        }
        Ok(tx.commit().await?)
    }

    async fn end_undo(
        &self,
        requester: &Requester,
        running: &Running,
        undone: &Undone,
    ) -> Result<(), RenameError> {
        let entry = AuditEntry {
            user_id: Some(requester.principal.user_id.to_string()),
            action: "media.rename.undo",
            object_type: Some("media_rename_run"),
            object_id: Some(running.run.id.clone()),
            result: if undone.failed > 0 {
                AuditResult::Failure
            } else {
                AuditResult::Success
            },
            client: Some(&requester.client),
            metadata: Some(json!({
                "undone": undone.files, "skipped": undone.skipped.len(), "failed": undone.failed,
                "libraryPath": running.run.library,
            })),
        };
        let mut tx = self.ground.db.begin_write().await?;
        repo::end(&mut tx, &running.run.id).await?;
        self.ground.audit.record(&mut tx, entry).await?;
        Ok(tx.commit().await?)
    }
}
