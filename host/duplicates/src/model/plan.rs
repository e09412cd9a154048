//! Plans: which files of a group go, and which stay.

use std::collections::HashMap;

use qm_kernel::Timestamp;
use qm_ports::trash::FileState;
use serde::{Deserialize, Serialize};

/// The question that a plan answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// All members go but one.
    KeepOne,
    /// One member goes.
    DeleteOne,
}

impl Scope {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::KeepOne => "keep_one",
            Self::DeleteOne => "delete_one",
        }
    }
}

/// State of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlanStatus {
    Pending,
    Running,
    Completed,
    /// Some files went, and others could not.
    Partial,
    Failed,
}

impl PlanStatus {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Running => "running",
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
}

/// A file that stays.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kept {
    pub item_id: String,
    pub path: String,
    /// State in which it was seen.
    pub state: FileState,
}

/// A file that goes into the trash.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Action {
    pub item_id: String,
    pub path: String,
    pub state: FileState,
    /// Names that the file has.
    pub links: u64,
    /// Bytes that are free when it is gone.
    pub frees: u64,
    /// Torrents that use it and that were told of, each as engine and hash.
    pub torrents: Vec<(String, String)>,
}

/// A plan as it was shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    pub scope: Scope,
    /// The item to keep, or to delete.
    pub item_id: String,
    /// Path of its first file.
    pub path: String,
    /// Files that stay, of every member that stays.
    pub kept: Vec<Kept>,
    pub actions: Vec<Action>,
    pub blockers: Vec<String>,
    pub warnings: Vec<String>,
    /// Bytes.
    pub expected_savings: u64,
}

/// A stored plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredPlan {
    pub id: String,
    pub group_id: String,
    pub group_version: i64,
    pub status: PlanStatus,
    pub plan: Plan,
    pub created_by: Option<String>,
    pub created_at: Timestamp,
}

/// A file that a plan put into the trash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Removed {
    pub step_id: String,
    pub plan_id: String,
    pub path: String,
    pub trash_id: String,
    pub at: Timestamp,
}

/// Bytes that are free when names of files are gone, one answer for each: a file with several names is freed by the last
/// of them alone.
pub fn count_freed<'a>(files: impl Iterator<Item = (&'a FileState, u64)>) -> Vec<u64> {
    let mut gone: HashMap<(u64, u64), u64> = HashMap::new();
    let freed = files.map(|(state, links)| {
        let names = gone.entry((state.device, state.inode)).or_default();
        *names += 1;
        if *names >= links { state.size } else { 0 }
    });
    freed.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_freed_by_its_last_name() {
        let file = |inode: u64, size: u64| FileState {
            device: 1,
            inode,
            size,
            modified: (0, 0),
        };
        let files = [
            (file(1, 10), 1),
            (file(2, 20), 2),
            (file(3, 30), 3),
            (file(2, 20), 2),
            (file(3, 30), 3),
        ];
        let freed = count_freed(files.iter().map(|(state, links)| (state, *links)));
        assert_eq!(freed, [10, 0, 0, 20, 0]);
    }
}
