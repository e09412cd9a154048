//! Application of plans.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use qm_confined::FsError;
use qm_jobs::{Done, JobError, NewJob, Progress, Source};
use qm_kernel::Requester;
use qm_platform::{AuditEntry, AuditResult, judge_alone};
use qm_rename_plan::{Action, Mode};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::carry::{Broken, Carrier};
use super::preview::check_library;
use super::runs::{Purpose, Running};
use super::seeding::Removed;
use super::{RENAME_JOB, RENAMES, Rename};
use crate::error::RenameError;
use crate::lanes::LOOKS;
use crate::model::request::{Applied, Given, Prepared, Request, Wanted};
use crate::model::run::{MAX_PROBLEMS, Outcome, Problem, Status, Step, Task, arrange, moves};
use crate::ops::library::LibraryPlace;
use crate::repo::runs as repo;

/// Steps of a run, and what is told of it.
pub(super) struct Order {
    pub library: String,
    pub mode: Mode,
    pub tasks: Vec<Task>,
    pub outcome: Outcome,
    pub given: Option<Given>,
    pub torrent_hash: Option<String>,
    /// Name of the run in the audit.
    pub label: Option<String>,
    pub job: &'static str,
    /// Ids of the library, and of the only item, that it is about.
    pub about: (Option<String>, Option<String>),
}

impl Rename {
    /// Plans a rename, and keeps the plan for a caller who may apply it; answers its id.
    pub async fn preview(
        &self,
        requester: &Requester,
        request: Request,
    ) -> Result<(Arc<Prepared>, Option<String>), RenameError> {
        let prepared = Arc::new(self.prepare(request).await?);
        let may = requester.principal.has_permission(RENAMES);
        let is_kept = may && prepared.planned.mode != Mode::Preview && !prepared.known.is_empty();
        let id = is_kept.then(|| self.ground.ctx.id());
        if let Some(id) = &id {
            let user = &requester.principal.user_id;
            self.plans.keep(id.clone(), user, prepared.clone());
        }
        Ok((prepared, id))
    }

    /// Refuses a caller who may not rename any more.
    pub(super) async fn check_caller(&self, requester: &Requester) -> Result<(), RenameError> {
        let judged = judge_alone(
            &*self.ground.acting,
            &self.ground.db,
            &requester.principal,
            &[RENAMES],
        );
        Ok(judged.await.map(drop)?)
    }

    /// Refuses a library that lies outside of the roots, before anything is looked for.
    async fn check_library(&self, library: Option<&str>) -> Result<(), RenameError> {
        let path = library.map(str::trim).filter(|path| !path.is_empty());
        let path = path.ok_or(RenameError::NoLibraryPath)?;
        check_library(path)?;
        let (roots, path) = (self.roots.clone(), PathBuf::from(path));
        let looking = LOOKS.run(move |_| roots.directory(&path).map(drop));
        looking.await?.map_err(refuse_library)
    }

    pub(super) async fn prepare(&self, request: Request) -> Result<Prepared, RenameError> {
        let hash = request
            .hash
            .as_deref()
            .map(str::trim)
            .filter(|hash| !hash.is_empty());
        let given = match hash {
            Some(hash) if request.names.is_empty() => {
                let (engine_id, ..) = self.find_torrent(hash, request.engine_id.as_deref())?;
                Some(Given {
                    engine_id,
                    hash: hash.to_ascii_lowercase(),
                })
            }
            _ => None,
        };
        let (planned, known) = self.plan(request).await?;
        Ok(Prepared {
            planned,
            known,
            given,
        })
    }

    /// Applies a plan: that which was shown, or one that is made now.
    pub async fn apply(
        self: &Arc<Self>,
        requester: &Requester,
        wanted: Wanted,
    ) -> Result<Applied, RenameError> {
        let mode = wanted.request.mode;
        self.check_caller(requester).await?;
        if mode != Mode::Preview && wanted.plan_id.is_none() {
            self.check_library(wanted.request.library.as_deref()).await?;
        }
        let prepared = match &wanted.plan_id {
            Some(id) => {
                let kept = self.plans.find(id, &requester.principal.user_id);
                kept.ok_or(RenameError::NoSuchPlan)?
            }
            None => {
                let request = Request {
                    names: Vec::new(),
                    ..wanted.request
                };
                Arc::new(self.prepare(request).await?)
            }
        };
        if wanted.is_dry || mode == Mode::Preview {
            let outcome = Outcome {
                skipped: prepared.len() as u64,
                ..Outcome::default()
            };
            return Ok(Applied {
                run_id: None,
                outcome,
                prepared,
            });
        }
        if prepared.planned.mode != mode {
            return Err(RenameError::OtherMode(prepared.planned.mode.as_str()));
        }
        let library = prepared
            .planned
            .library
            .clone()
            .ok_or(RenameError::NoLibraryPath)?;
        let (tasks, outcome) = list_tasks(&prepared);
        if moves(mode) {
            self.check_shared(&tasks, prepared.given.as_ref())?;
        }
        let source = wanted.source_torrent.map(|hash| hash.to_ascii_lowercase());
        let order = Order {
            library,
            mode,
            tasks,
            outcome,
            torrent_hash: prepared.given.as_ref().map(|given| given.hash.clone()).or(source),
            given: prepared.given.clone(),
            label: wanted.label,
            job: RENAME_JOB,
            about: (None, None),
        };
        let (run_id, outcome) = self.run(requester, order).await?;
        Ok(Applied {
            run_id: Some(run_id),
            outcome,
            prepared,
        })
    }

    /// Does a run as a job, which goes on when nobody waits for it any more.
    pub(super) async fn run(
        self: &Arc<Self>,
        requester: &Requester,
        order: Order,
    ) -> Result<(String, Outcome), RenameError> {
        let place = self.open_library(&order.library).await?;
        let purpose = Purpose::Apply {
            library: &order.library,
            mode: order.mode.as_str(),
        };
        let running = self.begin_run(requester, purpose).await?;
        let (app, who) = (self.clone(), requester.clone());
        let of_user = requester.principal.user_id.clone();
        let working = qm_lanes::on_behalf(
            of_user,
            async move { app.run_job(&who, running, place, order).await },
        );
        let done = self.tasks.spawn(working).await;
        done.unwrap_or_else(|error| Err(RenameError::Broken(error.to_string())))
    }

    /// Directory of a library that is named by its own path.
    async fn open_library(&self, library: &str) -> Result<LibraryPlace, RenameError> {
        let (roots, path) = (self.roots.clone(), PathBuf::from(library));
        let opening = LOOKS.run(move |_| LibraryPlace::open(&roots, &path));
        let opened = opening.await?;
        opened.map_err(refuse_library)
    }

    async fn run_job(
        &self,
        requester: &Requester,
        running: Running,
        place: LibraryPlace,
        order: Order,
    ) -> Result<(String, Outcome), RenameError> {
        let total = order.tasks.len() as u64;
        let (library_id, media_item_id) = order.about.clone();
        let job = NewJob {
            library_id,
            media_item_id,
            input_summary: Some(
                json!({ "libraryPath": order.library, "mode": order.mode.as_str(), "files": total }),
            ),
            created_by: Some(requester.principal.user_id.to_string()),
            source: if requester.is_absent() {
                Source::Automation
            } else {
                Source::Manual
            },
            correlation_id: Some(requester.client.request_id.clone()),
            ..NewJob::new(order.job, Value::Null)
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
            unit: Some("files"),
            ..Progress::from_counts(counted.load(Ordering::Relaxed).min(total), total)
        });
        let token = hosted.cancellation().child_token();
        let run_id = running.run.id.clone();
        let working = self.carry_order(requester, &running, place, order, &token, &done);
        let ended = tokio::select! {
            ended = working => ended,
            () = self.keep_alive(&run_id, &token) => Err(Broken::Dead),
        };
        match ended {
            Ok(outcome) => {
                let kept = outcome.skipped + outcome.failed;
                let warning = (kept > 0).then(|| format!("{kept} of {total} files were left as they were"));
                hosted.end(warning, Ok(Done::result(summary(&run_id, &outcome))));
                Ok((run_id, outcome))
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
                // What it did stays; the loop tries again where the database does not answer.
                self.settle_run(&running.run).await?;
                Err(error)
            }
        }
    }

    async fn carry_order(
        &self,
        requester: &Requester,
        running: &Running,
        place: LibraryPlace,
        order: Order,
        token: &CancellationToken,
        done: &AtomicU64,
    ) -> Result<Outcome, Broken> {
        let (deletions, tasks) = order
            .tasks
            .into_iter()
            .partition::<Vec<Task>, _>(|task| task.step.action == Action::Delete);
        let mut outcome = order.outcome;
        let mut carrier = Carrier {
            app: self,
            running,
            requester,
            place,
            torrent_hash: order.torrent_hash,
            mode: order.mode.as_str(),
            token: token.clone(),
            done,
            names: <_>::default(),
            position: 0,
            judged: None,
        };
        carrier.carry(arrange(tasks), &mut outcome).await?;
        let mut removed = Vec::new();
        if moves(order.mode) {
            let given = order.given.as_ref();
            removed = self
                .treat_torrents(requester, &order.library, given, &mut outcome)
                .await?;
            let wishes = self.find_cleanup().await?;
            carrier
                .clean_up(deletions, &wishes, &removed, &mut outcome)
                .await?;
        }
        let told = Told {
            library: order.library,
            mode: order.mode,
            label: order.label,
            hash: order.given.map(|given| given.hash),
        };
        self.end_run(requester, running, told, &outcome, removed).await?;
        Ok(outcome)
    }

    /// Ends a run with its audit rows.
    async fn end_run(
        &self,
        requester: &Requester,
        running: &Running,
        told: Told,
        outcome: &Outcome,
        removed: Vec<Removed>,
    ) -> Result<(), RenameError> {
        let ends = || (outcome.moved.first(), outcome.problems.first());
        let (from, to) = match ends() {
            (Some((from, to)), _) => (text(from), Some(text(to))),
            (None, Some(problem)) => (problem.source.clone(), problem.destination.clone()),
            (None, None) => (String::new(), None),
        };
        let metadata = json!({
            "applied": outcome.applied, "skipped": outcome.skipped, "failed": outcome.failed, "deleted": outcome.deleted,
            "duplicates": outcome.duplicates, "mode": told.mode.as_str(), "libraryPath": told.library,
            "torrentsRemoved": outcome.torrents_removed, "torrentsOrphaned": outcome.torrents_orphaned,
            "name": told.label, "from": from, "to": to, "runId": running.run.id, "cancelled": outcome.is_cancelled,
        });
        let entry = |action, hash: Option<String>, result, metadata| AuditEntry {
            user_id: Some(requester.principal.user_id.to_string()),
            action,
            object_type: Some("torrent"),
            object_id: hash,
            result,
            client: Some(&requester.client),
            metadata: Some(metadata),
        };
        let result = if outcome.failed > 0 {
            AuditResult::Failure
        } else {
            AuditResult::Success
        };
        let audit = &self.ground.audit;
        let mut tx = self.ground.db.begin_write().await?;
        repo::end(&mut tx, &running.run.id).await?;
        audit
            .record(&mut tx, entry("media.rename", told.hash, result, metadata))
            .await?;
        for one in removed {
            let (hash, metadata) = one.into_audit();
            let row = entry("torrents.remove", Some(hash), AuditResult::Success, metadata);
            audit.record(&mut tx, row).await?;
        }
        Ok(tx.commit().await?)
    }
}

fn refuse_library(error: FsError) -> RenameError {
    match error {
        FsError::Outside | FsError::Escapes => RenameError::Outside,
        error => RenameError::LibraryUnusable(error.to_string()),
    }
}

/// Facts about a run for the audit.
struct Told {
    library: String,
    mode: Mode,
    label: Option<String>,
    hash: Option<String>,
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// Result of the job of a run.
pub(super) fn summary(run_id: &str, outcome: &Outcome) -> Value {
    json!({
        "runId": run_id, "applied": outcome.applied, "skipped": outcome.skipped, "failed": outcome.failed,
        "duplicates": outcome.duplicates, "deleted": outcome.deleted, "torrentsRemoved": outcome.torrents_removed,
        "torrentsOrphaned": outcome.torrents_orphaned,
    })
}

/// Steps of a plan, and the count of files that stay by it.
pub(super) fn list_tasks(prepared: &Prepared) -> (Vec<Task>, Outcome) {
    let (mut tasks, mut outcome) = (Vec::new(), Outcome::default());
    for item in &prepared.planned.plan.items {
        let is_deleted = item.action == Action::Delete;
        if item.is_skipped() || item.is_unchanged || (item.destination.is_none() && !is_deleted) {
            outcome.skipped += 1;
            continue;
        }
        let Some(known) = prepared.known.get(&item.source).and_then(Option::as_ref) else {
            outcome.skipped += 1;
            if outcome.problems.len() < MAX_PROBLEMS {
                outcome.problems.push(Problem {
                    source: item.source.clone(),
                    destination: item.destination.clone(),
                    status: Status::Skipped,
                    message: "another file has a name that is written the same: rename one of them first"
                        .to_owned(),
                });
            }
            continue;
        };
        tasks.push(Task {
            step: Step {
                action: item.action,
                source: known.path.clone(),
                destination: item.destination.as_ref().map(PathBuf::from),
                fact: known.fact,
            },
            kind: item.kind.as_str(),
        });
    }
    (tasks, outcome)
}
