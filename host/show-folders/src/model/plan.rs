//! Plans of merges, and their steps.

use std::collections::HashMap;

use qm_kernel::Timestamp;
use qm_ports::trash::FileState;
use serde::{Deserialize, Serialize};

/// State of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlanStatus {
    Pending,
    Running,
    /// The server ended in the middle of it: it goes on when it is asked for again.
    Interrupted,
    Completed,
    /// Some steps were done, and others could not.
    Partial,
    Failed,
}

impl PlanStatus {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Running => "running",
            Self::Interrupted => "interrupted",
            Self::Completed => "completed",
            Self::Partial => "partial",
            Self::Failed => "failed",
        }
    }

    /// State of a word; the table holds no others.
    pub fn from_word(word: &str) -> Self {
        match word {
            "pending" => Self::Pending,
            "running" => Self::Running,
            "interrupted" => Self::Interrupted,
            "completed" => Self::Completed,
            "partial" => Self::Partial,
            _ => Self::Failed,
        }
    }
}

/// State of a step in the journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepStatus {
    Running,
    Completed,
    Skipped,
    Failed,
}

impl StepStatus {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Completed => "completed",
            Self::Skipped => "skipped",
            Self::Failed => "failed",
        }
    }

    /// State of a word; the table holds no others.
    pub fn from_word(word: &str) -> Self {
        match word {
            "running" => Self::Running,
            "completed" => Self::Completed,
            "skipped" => Self::Skipped,
            _ => Self::Failed,
        }
    }
}

/// Action of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// A file goes into the trash.
    Trash,
    /// A file moves.
    Move,
    /// Subtitles of a file that goes move to the one that stays.
    Rescue,
    /// A folder goes into the trash.
    Folder,
}

impl Action {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Trash => "trash",
            Self::Move => "move",
            Self::Rescue => "rescue",
            Self::Folder => "folder",
        }
    }
}

/// A file that has to be there before another one goes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kept {
    pub path: String,
    pub state: FileState,
}

/// A step of a merge.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    pub action: Action,
    /// Absolute.
    pub from: String,
    /// Absolute; of files that move.
    pub to: Option<String>,
    /// State in which it was shown; of a folder, its device and inode alone.
    pub state: FileState,
    /// Names that the file has.
    pub links: u64,
    /// The file that stays in its place.
    pub kept: Option<Kept>,
    /// Path that the video has got before, for a file beside one.
    pub beside: Option<String>,
    /// Torrents that use it and that were told of, each as engine and hash.
    pub torrents: Vec<(String, String)>,
}

/// Kind of a file that moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MoveKind {
    Video,
    Sidecar,
    RescuedSubtitle,
}

impl MoveKind {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Video => "video",
            Self::Sidecar => "sidecar",
            Self::RescuedSubtitle => "rescued_subtitle",
        }
    }
}

/// A file that moves, as it is shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Move {
    pub from: String,
    pub to: String,
    pub size: u64,
    pub kind: MoveKind,
}

/// Two files of the same episode, of which one goes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Collision {
    pub key: String,
    pub season: i64,
    pub episode: i64,
    pub incoming: String,
    pub incoming_bytes: u64,
    pub existing: String,
    pub existing_bytes: u64,
    pub is_incoming_better: bool,
    pub is_chosen: bool,
    /// Path of the one that goes.
    pub trashed: String,
}

/// Subtitles that are kept although their video goes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rescued {
    pub from: String,
    pub to: String,
    /// Two letters; `None`: their name does not say it.
    pub language: Option<String>,
}

/// A show of a plan.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanShow {
    pub id: String,
    pub path: String,
    pub title: String,
}

/// A plan as it was shown.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    pub library_id: String,
    pub canonical: PlanShow,
    /// Device and inode of the folder that stays.
    pub identity: (u64, u64),
    pub duplicates: Vec<PlanShow>,
    pub moves: Vec<Move>,
    pub collisions: Vec<Collision>,
    pub rescued: Vec<Rescued>,
    /// Folders that go.
    pub deletions: Vec<String>,
    pub blockers: Vec<String>,
    pub warnings: Vec<String>,
    /// Bytes.
    pub expected_freed: u64,
    /// Paths of files that go with their folders.
    #[serde(skip)]
    pub left: Vec<String>,
    /// In the order in which they are done.
    pub steps: Vec<Step>,
    /// Digest of the paths and sizes of all files in the folders.
    pub fingerprint: String,
}

/// A stored plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredPlan {
    pub id: String,
    pub status: PlanStatus,
    pub plan: Plan,
    pub created_by: Option<String>,
    pub created_at: Timestamp,
}

/// Bytes that are free when names of files are gone: a file with several names is freed by the last of them.
pub fn count_freed<'a>(files: impl Iterator<Item = (&'a FileState, u64)>) -> u64 {
    let mut gone: HashMap<(u64, u64), u64> = HashMap::new();
    let freed = files.map(|(state, links)| {
        let names = gone.entry((state.device, state.inode)).or_default();
        *names += 1;
        if *names == links.max(1) { state.size } else { 0 }
    });
    freed.sum()
}
