//! The steps of a run: some are looked at, noted in the journal, done, and settled; then the next ones.
//!
//! No transaction is open while a file moves. Bounds: [`AT_ONCE`] steps, or files of [`BYTES_AT_ONCE`], between two looks at
//! the rights of the user; cancelled is each step too.

use std::collections::{HashSet, VecDeque};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use qm_confined::FsError;
use qm_db::Tx;
use qm_file_operations::Control;
use qm_kernel::event::{Cause, DomainEvent};
use qm_kernel::{Permission, PermissionSet, Requester};
use qm_platform::ActingError;
use qm_ports::file_events::{FileDeleted, FileMoved};
use qm_rename_plan::Action;
use tokio_util::sync::CancellationToken;

use super::runs::Running;
use super::{RENAMES, Rename};
use crate::error::RenameError;
use crate::lanes::{LOOKS, MOVES};
use crate::model::run::{Fact, Operation, Outcome, Status, Step, Task};
use crate::ops::fault::Moment;
use crate::ops::library::LibraryPlace;
use crate::ops::step::{Look, Names, look, perform};
use crate::repo::runs as repo;

/// Steps whose rows are stored together.
const AT_ONCE: usize = 32;
/// Bytes of the files that are moved between two looks at the rights of the user: 2 GiB. A larger file is moved alone.
const BYTES_AT_ONCE: i64 = 2 << 30;
/// Interval between two looks at the rights of the user.
const RIGHTS: Duration = Duration::from_secs(5);

/// Reason for which a run ends before its last step.
#[derive(Debug, thiserror::Error)]
pub(super) enum Broken {
    #[error(transparent)]
    Failed(#[from] RenameError),
    /// A test has killed the server.
    #[error("the server is dead")]
    Dead,
}

impl From<qm_db::DbError> for Broken {
    fn from(error: qm_db::DbError) -> Self {
        Self::Failed(error.into())
    }
}

/// A run with what its steps need.
pub(super) struct Carrier<'a> {
    pub app: &'a Rename,
    pub running: &'a Running,
    pub requester: &'a Requester,
    pub place: LibraryPlace,
    pub torrent_hash: Option<String>,
    pub mode: &'static str,
    pub token: CancellationToken,
    pub done: &'a AtomicU64,
    pub names: Names,
    pub position: i64,
    pub judged: Option<Instant>,
}

/// Number of tasks that are done together.
fn length_of_batch(tasks: &VecDeque<Task>) -> usize {
    let mut bytes = 0_i64;
    let fits = |task: &&Task| {
        bytes = bytes.saturating_add(task.step.fact.size);
        bytes <= BYTES_AT_ONCE
    };
    tasks
        .iter()
        .take(AT_ONCE)
        .take_while(fits)
        .count()
        .max(1)
        .min(tasks.len())
}

/// Person who made it happen, for events.
pub(super) struct Author<'a> {
    user: &'a str,
    cause: Cause,
}

impl<'a> Author<'a> {
    pub fn from_requester(requester: &'a Requester) -> Self {
        Self {
            user: &requester.principal.user_id,
            cause: Cause::request(&requester.client),
        }
    }

    /// User whose run a crash has cut off.
    pub fn absent(user: &'a str) -> Self {
        Self {
            user,
            cause: Cause::NONE,
        }
    }
}

/// End of one step of a batch.
enum End {
    Done(Option<Fact>),
    Failed(String),
    /// It was not begun, or was taken back whole.
    NotBegun,
}

impl Carrier<'_> {
    /// Does tasks, in their order. What stays is counted and named in the outcome.
    pub async fn carry(&mut self, tasks: Vec<Task>, outcome: &mut Outcome) -> Result<(), Broken> {
        let mut tasks = VecDeque::from(tasks);
        while !tasks.is_empty() {
            if self.token.is_cancelled() {
                outcome.is_cancelled = true;
            }
            if outcome.is_cancelled {
                outcome.skipped += tasks.len() as u64;
                return Ok(());
            }
            self.check_rights().await?;
            let length = length_of_batch(&tasks);
            let batch = tasks.drain(..length).collect();
            self.carry_some(batch, outcome).await?;
            self.done.fetch_add(length as u64, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Ends the run of a user who may not rename any more.
    async fn check_rights(&mut self) -> Result<(), RenameError> {
        if self.judged.is_some_and(|at| at.elapsed() < RIGHTS) {
            return Ok(());
        }
        let powers = self.app.find_powers(self.requester).await?;
        if !powers.contains(RENAMES) {
            return Err(ActingError::Lacks(RENAMES.key().to_owned()).into());
        }
        self.judged = Some(Instant::now());
        Ok(())
    }

    async fn carry_some(&mut self, batch: Vec<Task>, outcome: &mut Outcome) -> Result<(), Broken> {
        let playing = self.app.find_playing().await;
        let (roots, place) = (self.app.roots.clone(), self.place.clone());
        let mut names = std::mem::take(&mut self.names);
        let looking = LOOKS.run(move |_| {
            let is_there = place.is_there(&roots);
            let looks = batch.into_iter().map(|task| {
                let look = if !is_there {
                    Look::Fail("the library's directory is not there any more: mount its disk".to_owned())
                } else if playing.holds(&task.step.source) {
                    Look::Skip("in playback".to_owned())
                } else {
                    look(&roots, &task.step, &mut names)
                };
                (task, look)
            });
            let looks: Vec<(Task, Look)> = looks.collect();
            (looks, names)
        });
        let (looks, names) = looking.await.map_err(RenameError::from)?;
        self.names = names;
        let mut rows = self.new_rows(looks, outcome);
        let mut tx = self.app.ground.db.begin_write().await?;
        repo::seen(&mut tx, &self.running.run.id, self.app.ground.ctx.now()).await?;
        repo::add_operations(&mut tx, &rows).await?;
        tx.commit().await?;
        rows.retain(|row| row.status == Status::Begun.as_str());
        if self.app.faults.strike(Moment::Noted) {
            return Err(Broken::Dead);
        }
        let ends = self.perform(&rows).await?;
        if self.app.faults.strike(Moment::Done) {
            return Err(Broken::Dead);
        }
        let mut tx = self.app.ground.db.begin_write().await?;
        for (row, end) in rows.iter().zip(ends) {
            self.settle(&mut tx, row, end, outcome).await?;
        }
        tx.commit().await?;
        Ok(())
    }

    /// Rows of steps that begin, and of those that stay.
    fn new_rows(&mut self, looks: Vec<(Task, Look)>, outcome: &mut Outcome) -> Vec<Operation> {
        let ctx = &self.app.ground.ctx;
        let mut ids: Vec<String> = looks.iter().map(|_| ctx.ordered_id()).collect();
        // Those of one moment are in no order.
        ids.sort();
        let mut rows = Vec::with_capacity(looks.len());
        for ((mut task, look), id) in looks.into_iter().zip(ids) {
            let (status, message, made) = match look {
                Look::Ready {
                    destination,
                    made,
                    is_double,
                } => {
                    let was = task.step.destination.take();
                    task.step.destination = destination;
                    outcome.duplicates += u64::from(is_double);
                    let message = was
                        .filter(|_| is_double)
                        .map(|was| format!("another file is called {}", was.to_string_lossy()));
                    (Status::Begun, message, made)
                }
                Look::Skip(why) => (Status::Skipped, Some(why), 0),
                Look::Fail(why) => (Status::Failed, Some(why), 0),
            };
            if status != Status::Begun {
                outcome.note(&task.step, status, message.clone().unwrap_or_default());
            }
            rows.push(Operation {
                id,
                run_id: self.running.run.id.clone(),
                position: self.position,
                kind: task.kind.to_owned(),
                mode: self.mode.to_owned(),
                status: status.as_str().to_owned(),
                message,
                torrent_hash: self.torrent_hash.clone(),
                placed: None,
                made,
                undone_at: None,
                created_at: ctx.now(),
                step: task.step,
            });
            self.position += 1;
        }
        rows
    }

    /// Does the steps of rows, until the run is cancelled or its library is gone.
    async fn perform(&self, rows: &[Operation]) -> Result<Vec<End>, Broken> {
        let steps: Vec<Step> = rows.iter().map(|row| row.step.clone()).collect();
        let (roots, place, token) = (self.app.roots.clone(), self.place.clone(), self.token.clone());
        let (faults, mandate) = (self.app.faults.clone(), self.app.ground.db.mandate());
        let working = MOVES.run(move |_| {
            let control = Control::quiet(token);
            let mut ends = Vec::with_capacity(steps.len());
            for step in &steps {
                if !mandate.holds() || control.check().is_err() {
                    ends.push(End::NotBegun);
                    continue;
                }
                if !place.is_there(&roots) {
                    let why = "the library's directory is not there any more: mount its disk";
                    ends.push(End::Failed(why.to_owned()));
                    continue;
                }
                ends.push(match perform(&roots, step, &control) {
                    Ok(placed) => End::Done(placed),
                    Err(FsError::Cancelled) => End::NotBegun,
                    Err(error) => End::Failed(error.to_string()),
                });
                if faults.strike(Moment::Stepped) {
                    return None;
                }
            }
            Some(ends)
        });
        let ends = working.await.map_err(RenameError::from)?;
        ends.ok_or(Broken::Dead)
    }

    async fn settle(
        &self,
        tx: &mut Tx,
        row: &Operation,
        end: End,
        outcome: &mut Outcome,
    ) -> Result<(), RenameError> {
        match end {
            End::Done(placed) => {
                repo::settle(tx, &row.id, Status::Success, row.message.as_deref(), placed).await?;
                self.app
                    .tell_done(tx, &Author::from_requester(self.requester), &row.step);
                outcome.add(&row.step);
            }
            End::Failed(why) => {
                repo::settle(tx, &row.id, Status::Failed, Some(&why), None).await?;
                outcome.note(&row.step, Status::Failed, why);
            }
            End::NotBegun => {
                repo::withdraw(tx, &row.id).await?;
                outcome.skipped += 1;
                outcome.is_cancelled = true;
            }
        }
        Ok(())
    }
}

impl Rename {
    /// Present permissions of a user.
    pub(super) async fn find_powers(&self, requester: &Requester) -> Result<PermissionSet, RenameError> {
        let mut tx = self.ground.db.begin_read().await?;
        let user = &requester.principal.user_id;
        Ok(self.ground.acting.powers(&mut tx, user).await?)
    }

    /// True if a user may remove torrents now.
    pub(super) async fn may_remove_torrents(&self, requester: &Requester) -> bool {
        let powers = self.find_powers(requester).await;
        powers.is_ok_and(|powers| powers.contains(Permission::TorrentsDelete))
    }

    /// Tells that a step is done: the library follows.
    pub(super) fn tell_done(&self, tx: &mut Tx, by: &Author<'_>, step: &Step) {
        match &step.destination {
            Some(to) => self.tell_moved(tx, by, &step.source, to),
            None => {
                let path = step.source.to_string_lossy().into_owned();
                let payload = FileDeleted { path: path.clone() };
                let event = DomainEvent::new(&self.ground.ctx, by.cause.clone(), path, &payload);
                tx.publish(event.by(Some(by.user)));
            }
        }
    }

    /// Tells that a step is undone.
    pub(super) fn tell_undone(&self, tx: &mut Tx, by: &Author<'_>, step: &Step) {
        if let Some(to) = &step.destination
            && step.action != Action::Delete
        {
            self.tell_moved(tx, by, to, &step.source);
        }
    }

    fn tell_moved(&self, tx: &mut Tx, by: &Author<'_>, from: &Path, to: &Path) {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let payload = FileMoved {
            from: text(from),
            to: text(to),
        };
        let event = DomainEvent::new(&self.ground.ctx, by.cause.clone(), text(to), &payload);
        tx.publish(event.by(Some(by.user)));
    }

    /// Source folders of files that left them.
    pub(super) fn folders_of(outcome: &Outcome) -> HashSet<std::path::PathBuf> {
        let folders = outcome.moved.iter().filter_map(|(from, _)| from.parent());
        folders.map(Path::to_owned).collect()
    }
}
