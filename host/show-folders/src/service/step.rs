//! One step of a merge: judged, noted in the journal, done, and settled.

use std::path::Path;

use qm_file_operations::Control;
use qm_kernel::Requester;
use qm_platform::ActingError;
use qm_ports::trash::{FileState, Looked, Sight, TrashError};

use super::{Folders, LOOKS, MERGE};
use crate::error::MergeError;
use crate::lanes::STEPS;
use crate::model::{
    Action, FileKind, MOST_FILES, PlanShow, Step, StepStatus, StoredPlan, count_freed, stem_of,
};
use crate::ops::{identify_folder, walk};
use crate::repo::{self, NewStep};

/// Reason of a merge that waits for the next start.
const STOPS: &str = "the server stops";

/// The judgement on one step.
enum Turn {
    /// It is done; holds bytes of a folder that are free afterwards.
    Go(u64),
    Skip(String),
    Fail(String),
    /// Nothing can be done now.
    Wait(String),
}

/// The end of one step.
pub(super) enum End {
    Done,
    /// Reason for which the merge waits: it goes on when it is asked for again.
    Stopped(String),
    /// Reason for which the rest was left.
    CutOff(String),
}

impl Folders {
    pub(super) async fn do_step(
        &self,
        by: &Requester,
        plan: &StoredPlan,
        position: usize,
        step: &Step,
    ) -> Result<End, MergeError> {
        if self.stopping.is_cancelled() {
            return Ok(End::Stopped(STOPS.to_owned()));
        }
        if !self.ground.db.mandate().holds() {
            return Ok(End::Stopped(
                "another server is at work on the database".to_owned(),
            ));
        }
        let turn = self.judge_step(plan, step).await?;
        let (status, message, freed) = match &turn {
            Turn::Go(freed) => (StepStatus::Running, None, *freed),
            Turn::Skip(why) => (StepStatus::Skipped, Some(&**why), 0),
            Turn::Fail(why) => (StepStatus::Failed, Some(&**why), 0),
            Turn::Wait(why) => return Ok(End::Stopped(why.clone())),
        };
        let id = self.ground.ctx.ordered_id();
        let mut tx = self.ground.db.begin_write().await?;
        let acting = &self.ground.acting;
        match acting.judge(&mut tx, &by.principal, &MERGE).await {
            Ok(_) => {}
            Err(ActingError::Database(error)) => return Err(error.into()),
            // Their right was taken meanwhile.
            Err(error) => return Ok(End::CutOff(error.to_string())),
        }
        let new = NewStep {
            id: &id,
            plan_id: &plan.id,
            position,
            step,
            status,
            freed,
            message,
        };
        repo::add_step(&mut tx, &new, self.ground.ctx.now()).await?;
        tx.commit().await?;
        if status != StepStatus::Running {
            return Ok(End::Done);
        }
        let (status, trash_id, message) = match self.perform(by, step).await {
            Ok(trash_id) => (StepStatus::Completed, trash_id, None),
            Err(error @ (TrashError::Missing | TrashError::Changed | TrashError::Taken)) => {
                (StepStatus::Skipped, None, Some(error.to_string()))
            }
            // The file manager gives up what it is at. The row stays, and is settled by what is on the disk.
            Err(_) if self.stopping.is_cancelled() => return Ok(End::Stopped(STOPS.to_owned())),
            Err(error) => (StepStatus::Failed, None, Some(error.to_string())),
        };
        let mut tx = self.ground.db.begin_write().await?;
        let now = self.ground.ctx.now();
        repo::end_step(&mut tx, &id, status, trash_id.as_deref(), message.as_deref(), now).await?;
        tx.commit().await?;
        Ok(End::Done)
    }

    /// Does a step. Returns the record in the trash of what went there.
    async fn perform(&self, by: &Requester, step: &Step) -> Result<Option<String>, TrashError> {
        let caller = by.caller();
        match (step.action, &step.to) {
            (Action::Trash, _) => self.trash.put(&step.from, step.state, caller).await.map(Some),
            (Action::Folder, _) => {
                let identity = (step.state.device, step.state.inode);
                let put = self.trash.put_folder(&step.from, identity, caller).await;
                put.map(Some)
            }
            (Action::Move | Action::Rescue, Some(to)) => {
                self.trash.move_file(&step.from, step.state, to, caller).await?;
                Ok(None)
            }
            (Action::Move | Action::Rescue, None) => Err(TrashError::Missing),
        }
    }

    async fn judge_step(&self, plan: &StoredPlan, step: &Step) -> Result<Turn, MergeError> {
        if !self.is_there(plan).await? {
            return Ok(Turn::Wait(absence_of(plan)));
        }
        if step.action == Action::Folder {
            return self.judge_folder(step).await;
        }
        let mut paths = vec![step.from.clone()];
        paths.extend(step.to.clone());
        paths.extend(step.kept.iter().map(|kept| kept.path.clone()));
        paths.extend(step.beside.clone());
        let mut looked = self.trash.look(paths).await?.into_iter();
        let Some(source) = looked.next() else {
            return Ok(Turn::Skip("the file no longer exists".to_owned()));
        };
        if let Some(turn) = judge_source(step, &source) {
            return Ok(turn);
        }
        if matches!(step.action, Action::Trash | Action::Rescue) && self.is_locked(plan, &step.from).await? {
            let what = "it belongs to an item that was locked since the preview";
            return Ok(Turn::Skip(what.to_owned()));
        }
        let target = step.to.as_ref().and_then(|_| looked.next());
        if target.is_some_and(|looked| looked.sight != Sight::Missing) {
            return Ok(Turn::Skip("another file has its place".to_owned()));
        }
        if let Some(kept) = &step.kept {
            let is_same = |state: &FileState| *state == kept.state;
            let stays = looked.next();
            if !stays.is_some_and(|looked| is_file(&looked, is_same)) {
                let what = format!("{}, which was to stay, is gone or was changed", kept.path);
                return Ok(Turn::Skip(what));
            }
        }
        if let Some(video) = &step.beside {
            let moved = looked.next();
            if !moved.is_some_and(|looked| is_file(&looked, |_| true)) {
                return Ok(Turn::Skip(format!("its video did not become {video}")));
            }
        }
        Ok(Turn::Go(0))
    }

    /// True if a file in the folder of a show belongs to a locked item now, or lies beside a file of one.
    async fn is_locked(&self, plan: &StoredPlan, path: &str) -> Result<bool, MergeError> {
        let mut shows = std::iter::once(&plan.plan.canonical).chain(&plan.plan.duplicates);
        let is_above = |show: &&PlanShow| Path::new(path).starts_with(&show.path);
        let Some(show) = shows.find(is_above) else {
            return Ok(false);
        };
        for show in self.shows.find_shows(std::slice::from_ref(&show.id)).await? {
            let locked = self.shows.list_locked(&show).await?;
            if locked
                .iter()
                .any(|locked| locked == path || is_beside(path, locked))
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// A folder goes only if nothing is left in it that people would miss.
    async fn judge_folder(&self, step: &Step) -> Result<Turn, MergeError> {
        let (roots, path) = (self.roots.clone(), step.from.clone());
        let stopping = self.stopping.clone();
        let walking = STEPS.run(move |_| walk(&roots, &path, MOST_FILES, &Control::quiet(stopping)));
        let contents = match walking.await? {
            Ok(contents) => contents,
            // The folder is looked at when the merge goes on.
            Err(_) if self.stopping.is_cancelled() => return Ok(Turn::Wait(STOPS.to_owned())),
            Err(error) => return Ok(Turn::Skip(error.public())),
        };
        if contents.identity != (step.state.device, step.state.inode) {
            return Ok(Turn::Skip("another folder is there now".to_owned()));
        }
        let is_missed = |kind| matches!(kind, FileKind::Video | FileKind::Subtitle);
        let missed = contents.files.iter().find(|file| is_missed(file.kind));
        let mut odd = contents.odd.iter().chain(&contents.unread);
        if let Some(left) = missed.map(|file| &file.path).or_else(|| odd.next()) {
            return Ok(Turn::Skip(format!("{left} is left in it")));
        }
        let paths: Vec<String> = contents.files.iter().map(|file| file.path.clone()).collect();
        if let Some(name) = self.find_new_torrent(step, &paths).await? {
            return Ok(Turn::Skip(format!("the torrent {name} uses a file in it")));
        }
        let files = contents.files.iter().map(|file| (&file.state, file.links));
        Ok(Turn::Go(count_freed(files)))
    }

    /// Name of a torrent that uses one of the files and was not told of in the preview.
    async fn find_new_torrent(&self, step: &Step, paths: &[String]) -> Result<Option<String>, MergeError> {
        for some in paths.chunks(LOOKS) {
            let looked = self.trash.look(some.to_vec()).await?;
            let torrents = looked.iter().flat_map(|looked| &looked.torrents);
            let is_told = |engine: &str, hash: &str| {
                let mut told = step.torrents.iter();
                told.any(|(known, other)| known == engine && other == hash)
            };
            for torrent in torrents {
                if !is_told(&torrent.engine_id, &torrent.hash) {
                    return Ok(Some(torrent.name.clone()));
                }
            }
        }
        Ok(None)
    }

    /// True if the folder that stays is the one of the plan. Without its disk, everything seems to be gone.
    pub(super) async fn is_there(&self, plan: &StoredPlan) -> Result<bool, MergeError> {
        let identity = self.identify(&plan.plan.canonical.path).await?;
        Ok(identity == Some(plan.plan.identity))
    }

    /// Device and inode of a folder, if it is there.
    pub(super) async fn identify(&self, path: &str) -> Result<Option<(u64, u64)>, MergeError> {
        let (roots, path) = (self.roots.clone(), path.to_owned());
        let looking = STEPS.run(move |_| identify_folder(&roots, &path));
        Ok(looking.await??)
    }
}

/// Sentence about a folder whose disk is away.
pub(super) fn absence_of(plan: &StoredPlan) -> String {
    let path = &plan.plan.canonical.path;
    format!("{path} is not there any more: mount its disk, and ask for the merge again")
}

/// True if a file is named after a video in its directory.
fn is_beside(path: &str, video: &str) -> bool {
    let (Some((above, name)), Some((directory, video))) = (path.rsplit_once('/'), video.rsplit_once('/'))
    else {
        return false;
    };
    let rest = name.strip_prefix(stem_of(video));
    above == directory && rest.is_some_and(|rest| rest.starts_with(['.', '-']))
}

/// True if a file is there that is a right one.
fn is_file(looked: &Looked, is_right: impl Fn(&FileState) -> bool) -> bool {
    matches!(&looked.sight, Sight::File { state, .. } if is_right(state))
}

/// Compares a file with the plan; `None`: nothing stands against the step.
fn judge_source(step: &Step, looked: &Looked) -> Option<Turn> {
    let state: FileState = match &looked.sight {
        Sight::Missing => return Some(Turn::Skip("the file no longer exists".to_owned())),
        Sight::Refused(why) => return Some(Turn::Fail(why.clone())),
        Sight::File { state, .. } => *state,
    };
    if state != step.state {
        let what = "the file was changed or replaced since the preview";
        return Some(Turn::Skip(what.to_owned()));
    }
    let is_new = |torrent: &&qm_ports::TorrentPayload| {
        let told = &step.torrents;
        !told.contains(&(torrent.engine_id.clone(), torrent.hash.clone()))
    };
    let torrent = looked.torrents.iter().find(is_new)?;
    Some(Turn::Skip(format!(
        "the torrent {} uses it, which was not so in the preview",
        torrent.name
    )))
}

#[cfg(test)]
mod tests {
    use qm_db::{Db, db_test};

    use super::*;
    use crate::testing::Site;

    #[test]
    fn files_beside_a_video_are_named_after_it() {
        for (path, wanted) in [
            ("/a/One.mkv", true),
            ("/a/One.de.srt", true),
            ("/a/One-thumb.jpg", true),
            ("/a/Oneness.mkv", false),
            ("/b/One.de.srt", false),
            ("One.de.srt", false),
        ] {
            assert_eq!(is_beside(path, "/a/One.mkv"), wanted, "{path}");
        }
    }

    db_test! {
        async fn a_folder_that_is_walked_while_the_server_stops_is_left_for_later(db: Db) {
            let site = Site::new(&db).await;
            let _ = site.show(1, "Lost", "lost", &[("poster.jpg", 1)]);
            let path = site.place_of("tv/Lost");
            let (device, inode) = site.app.identify(&path).await.unwrap().unwrap();
            let step = Step {
                action: Action::Folder,
                from: path,
                to: None,
                state: FileState { device, inode, size: 0, modified: (0, 0) },
                links: 1,
                kept: None,
                beside: None,
                torrents: Vec::new(),
            };
            assert!(matches!(site.app.judge_folder(&step).await.unwrap(), Turn::Go(1)));
            site.app.stop();
            assert!(matches!(site.app.judge_folder(&step).await.unwrap(), Turn::Wait(_)));
            site.jobs.shutdown().await;
        }
    }
}
