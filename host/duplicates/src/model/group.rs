//! Groups of duplicates.

use qm_duplicate_groups::{Verdict, Warning};
use qm_kernel::Timestamp;

/// Most members of a group that lists show, the best ones.
pub const MOST_LISTED: i64 = 50;

/// State of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    Open,
    Ignored,
    Resolved,
}

impl Status {
    pub const WORDS: [&str; 3] = ["open", "ignored", "resolved"];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Ignored => "ignored",
            Self::Resolved => "resolved",
        }
    }

    /// State of a word; the table holds no others.
    pub fn from_word(word: &str) -> Self {
        match word {
            "ignored" => Self::Ignored,
            "resolved" => Self::Resolved,
            _ => Self::Open,
        }
    }
}

/// A stored group.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredGroup {
    pub id: String,
    pub key: String,
    /// `file` or `show_folder`.
    pub group_type: String,
    pub reason: String,
    pub status: Status,
    pub confidence: i64,
    pub requires_review: bool,
    /// Bytes.
    pub savings: i64,
    pub recommended_item_id: Option<String>,
    pub verdicts: Vec<Verdict>,
    pub warnings: Vec<Warning>,
    pub version: i64,
    /// Digest of what the version stands for.
    pub content_digest: String,
    pub members: i64,
    pub title_key: String,
    pub ignored_reason: Option<String>,
    pub ignored_by: Option<String>,
    pub ignored_at: Option<Timestamp>,
    pub resolved_by: Option<String>,
    pub resolved_at: Option<Timestamp>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// A member of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    pub group_id: String,
    pub item_id: String,
    pub library_id: String,
    pub media_type: String,
    pub title_key: String,
    pub path_key: String,
    pub size: i64,
    pub quality: i64,
    pub rank: i64,
}

/// Order of a list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sort {
    #[default]
    NeedsReview,
    SavingsDesc,
    ConfidenceDesc,
    ConfidenceAsc,
    Recent,
    Oldest,
    FilesDesc,
    Title,
}

impl Sort {
    pub const WORDS: [&str; 8] = [
        "needs_review",
        "savings_desc",
        "confidence_desc",
        "confidence_asc",
        "recent",
        "oldest",
        "files_desc",
        "title",
    ];

    pub fn from_word(word: &str) -> Self {
        match word {
            "savings_desc" => Self::SavingsDesc,
            "confidence_desc" => Self::ConfidenceDesc,
            "confidence_asc" => Self::ConfidenceAsc,
            "recent" => Self::Recent,
            "oldest" => Self::Oldest,
            "files_desc" => Self::FilesDesc,
            "title" => Self::Title,
            _ => Self::NeedsReview,
        }
    }
}

/// Filter of a list of groups.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Part of a title or of a path, in any case.
    pub search: Option<String>,
    pub library_id: Option<String>,
    pub media_type: Option<String>,
    pub status: String,
    pub group_type: Option<String>,
    pub reason: Option<String>,
    /// Only groups that need review.
    pub needs_review: bool,
    pub sort: Sort,
}

/// Numbers of groups and plans.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overview {
    /// Status, number of groups.
    pub by_status: Vec<(String, i64)>,
    pub by_type: Vec<(String, i64)>,
    pub by_reason: Vec<(String, i64)>,
    /// Open groups that need review.
    pub needs_review: i64,
    /// Bytes of open groups.
    pub savings: i64,
    pub last_detected_at: Option<Timestamp>,
    pub completed_plans: i64,
    pub pending_plans: i64,
}
