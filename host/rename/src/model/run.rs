//! Runs of renames, their steps and results. Pure.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use qm_confined::Meta;
use qm_kernel::Timestamp;
use qm_rename_plan::{Action, Mode};

/// Most problems that an answer names.
pub const MAX_PROBLEMS: usize = 500;

/// Steps in which some file systems keep times, in nanoseconds: NTFS and network shares; others; exFAT; old ones; FAT.
const STEPS: [i64; 6] = [100, 1_000, 1_000_000, 10_000_000, 1_000_000_000, 2_000_000_000];

/// State of a file: bytes, nanoseconds since 1970, and which file it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fact {
    pub size: i64,
    pub mtime: i64,
    pub device: i64,
    pub inode: i64,
}

impl Fact {
    #[allow(
        clippy::cast_possible_wrap,
        reason = "numbers of files are stored by their bits"
    )]
    pub fn from_meta(meta: &Meta) -> Self {
        let (seconds, nanoseconds) = meta.times.modified;
        Self {
            size: i64::try_from(meta.size).unwrap_or(i64::MAX),
            mtime: seconds
                .saturating_mul(1_000_000_000)
                .saturating_add(i64::from(nanoseconds)),
            device: meta.identity.device as i64,
            inode: meta.identity.inode as i64,
        }
    }

    /// True if nothing about the file is different. The number of a device may change with each mount.
    pub fn is_same(&self, other: &Self) -> bool {
        self.is_alike(other) && self.inode == other.inode
    }

    /// True if it is that file, even if it was written to meanwhile, or that file as a copy on another file system has it. Some
    /// number their files anew with each mount.
    pub fn is_file(&self, other: &Self) -> bool {
        let gap = other.mtime.checked_sub(self.mtime);
        let is_kept_in =
            |step: &i64| self.mtime % step == 0 && gap.is_some_and(|gap| (0..*step).contains(&gap));
        let is_copied = self.size == other.size && STEPS.iter().any(is_kept_in);
        self.inode == other.inode || self.is_alike(other) || is_copied
    }

    fn is_alike(&self, other: &Self) -> bool {
        (self.size, self.mtime) == (other.size, other.mtime)
    }
}

/// A file of a plan on the disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Known {
    pub path: PathBuf,
    pub fact: Fact,
}

/// Files of a plan by their paths as text; `None`: two files are written alike.
pub type KnownFiles = HashMap<String, Option<Known>>;

/// A step, as it was planned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    pub action: Action,
    pub source: PathBuf,
    /// `None`: the file is deleted.
    pub destination: Option<PathBuf>,
    pub fact: Fact,
}

/// A step of a run, with what is told of it.
#[derive(Clone, Debug)]
pub struct Task {
    pub step: Step,
    /// Kind of its content, e.g. `tv`.
    pub kind: &'static str,
}

/// Phase of a run that is not over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    Applying,
    Undoing,
}

impl Phase {
    pub const fn as_str(self) -> &'static str {
        match self {
            Phase::Applying => "applying",
            Phase::Undoing => "undoing",
        }
    }
}

/// A run of renames.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    pub id: String,
    pub library: String,
    pub mode: String,
    pub created_by: String,
    pub seen_at: Timestamp,
}

/// True if two libraries are one, or one lies in the other.
pub fn overlaps(one: &str, other: &str) -> bool {
    let (one, other) = (Path::new(one), Path::new(other));
    one.starts_with(other) || other.starts_with(one)
}

/// Status of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    Begun,
    Success,
    Failed,
    Skipped,
}

impl Status {
    pub const fn as_str(self) -> &'static str {
        match self {
            Status::Begun => "begun",
            Status::Success => "success",
            Status::Failed => "failed",
            Status::Skipped => "skipped",
        }
    }
}

/// A row of the journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation {
    pub id: String,
    pub run_id: String,
    pub position: i64,
    pub step: Step,
    pub kind: String,
    pub mode: String,
    pub status: String,
    pub message: Option<String>,
    pub torrent_hash: Option<String>,
    pub placed: Option<Fact>,
    pub made: u32,
    pub undone_at: Option<Timestamp>,
    pub created_at: Timestamp,
}

impl Operation {
    pub fn source(&self) -> String {
        self.step.source.to_string_lossy().into_owned()
    }

    pub fn destination(&self) -> Option<String> {
        let path = self.step.destination.as_ref()?;
        Some(path.to_string_lossy().into_owned())
    }
}

/// A run that can be undone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undoable {
    pub run_id: String,
    pub at: Timestamp,
    pub operations: i64,
    pub mode: String,
}

/// A file that a run did not name, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    pub source: String,
    pub destination: Option<String>,
    pub status: Status,
    pub message: String,
}

/// Counts of a run, and what went wrong.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    pub applied: u64,
    pub skipped: u64,
    pub failed: u64,
    pub duplicates: u64,
    pub deleted: u64,
    pub torrents_removed: u64,
    pub torrents_orphaned: u64,
    pub is_cancelled: bool,
    pub problems: Vec<Problem>,
    /// Files that left their places.
    pub moved: Vec<(PathBuf, PathBuf)>,
}

impl Outcome {
    /// Counts a file that stays.
    pub fn note(&mut self, step: &Step, status: Status, message: String) {
        match status {
            Status::Skipped => self.skipped += 1,
            Status::Failed | Status::Begun | Status::Success => self.failed += 1,
        }
        if self.problems.len() < MAX_PROBLEMS {
            let text = |path: &PathBuf| path.to_string_lossy().into_owned();
            self.problems.push(Problem {
                source: text(&step.source),
                destination: step.destination.as_ref().map(text),
                status,
                message,
            });
        }
    }

    /// Counts a step that is done.
    pub fn add(&mut self, step: &Step) {
        match &step.destination {
            None => self.deleted += 1,
            Some(to) => {
                self.applied += 1;
                if matches!(step.action, Action::Rename | Action::Move) {
                    self.moved.push((step.source.clone(), to.clone()));
                }
            }
        }
    }
}

/// Result of an undo.
#[derive(Clone, Debug, Default)]
pub struct Undone {
    /// Files that are back.
    pub files: u64,
    pub failed: u64,
    /// Files that stay, with a word that says why.
    pub skipped: Vec<(String, &'static str)>,
}

/// True if files leave their places.
pub fn moves(mode: Mode) -> bool {
    mode.cleans()
}

/// Puts a step whose destination is the source of another one behind that one. Steps in a circle stay in their order: the
/// first of them finds its name taken.
pub fn arrange(tasks: Vec<Task>) -> Vec<Task> {
    let sources: HashMap<PathBuf, usize> = tasks
        .iter()
        .enumerate()
        .filter(|(_, task)| matches!(task.step.action, Action::Rename | Action::Move))
        .map(|(at, task)| (task.step.source.clone(), at))
        .collect();
    let before = |at: usize| {
        let to = tasks[at].step.destination.as_ref()?;
        sources.get(to).copied().filter(|other| *other != at)
    };
    let mut order = Vec::with_capacity(tasks.len());
    let mut placed = vec![false; tasks.len()];
    for first in 0..tasks.len() {
        let (mut chain, mut seen) = (Vec::new(), HashSet::new());
        let mut at = Some(first);
        while let Some(next) = at.filter(|next| !placed[*next] && seen.insert(*next)) {
            chain.push(next);
            at = before(next);
        }
        for next in chain.into_iter().rev() {
            placed[next] = true;
            order.push(next);
        }
    }
    let mut tasks: Vec<Option<Task>> = tasks.into_iter().map(Some).collect();
    order.into_iter().filter_map(|at| tasks[at].take()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(source: &str, to: &str) -> Task {
        Task {
            step: Step {
                action: Action::Rename,
                source: source.into(),
                destination: Some(to.into()),
                fact: Fact::default(),
            },
            kind: "tv",
        }
    }

    #[test]
    fn a_name_is_given_up_before_it_is_taken() {
        let tasks = vec![
            task("/a", "/b"),
            task("/b", "/c"),
            task("/c", "/d"),
            task("/x", "/y"),
            task("/y", "/x"),
        ];
        let sources: Vec<String> = arrange(tasks)
            .iter()
            .map(|task| task.step.source.display().to_string())
            .collect();
        assert_eq!(sources, ["/c", "/b", "/a", "/y", "/x"]);
    }

    #[test]
    fn files_are_known_again() {
        let fact = Fact {
            size: 1,
            mtime: 2,
            device: 3,
            inode: 4,
        };
        assert!(fact.is_same(&Fact { device: 9, ..fact }));
        assert!(!fact.is_same(&Fact { inode: 9, ..fact }) && fact.is_file(&Fact { inode: 9, ..fact }));
        assert!(!fact.is_same(&Fact { mtime: 9, ..fact }) && fact.is_file(&Fact { mtime: 9, ..fact }));
        assert!(!fact.is_file(&Fact {
            inode: 9,
            mtime: 9,
            ..fact
        }));
        let dated = |mtime: i64, inode: i64| Fact { mtime, inode, ..fact };
        let source = dated(1_234_567_891_234_567_891, 1);
        for step in STEPS {
            let copy = dated(source.mtime - source.mtime % step, 2);
            assert!(copy.is_file(&source) && !copy.is_same(&source), "{step}");
            assert!(!dated(copy.mtime - 1, 2).is_file(&source), "{step}");
        }
        assert!(overlaps("/m", "/m/tv") && overlaps("/m/tv", "/m") && !overlaps("/m/tv", "/m/tv2"));
    }
}
