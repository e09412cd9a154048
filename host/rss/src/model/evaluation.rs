//! Evaluations: results of rules on items.

use qm_kernel::Timestamp;
use qm_matching::ListResult;
use serde_json::{Value, json};

use super::grab::GrabNote;

/// Result of a rule with candidates on one item.
#[derive(Clone, Debug)]
pub struct Evaluation {
    pub id: String,
    pub rule_id: String,
    pub item_guid: String,
    pub matched_candidate_id: Option<String>,
    pub matched_candidate_priority: Option<i64>,
    /// `matched`, `no_match` or `skipped_duplicate`.
    pub result: String,
    /// `download`, `none` or `skipped_duplicate`.
    pub action_taken: String,
    pub torrent_hash: Option<String>,
    /// `{parsed, candidates}`
    pub trace: Value,
    pub grab_id: Option<String>,
    pub created_at: Timestamp,
    /// State of the grab; filled only for display.
    pub grab: Option<GrabNote>,
}

/// The stored trace of an evaluation, shown to users.
pub fn trace(evaluated: &ListResult) -> Value {
    json!({ "parsed": evaluated.parsed, "candidates": evaluated.candidates })
}

/// Action taken on an item that a rule matched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    Download,
    None,
    SkippedDuplicate,
}

impl Action {
    pub const fn as_str(self) -> &'static str {
        match self {
            Action::Download => "download",
            Action::None => "none",
            Action::SkippedDuplicate => "skipped_duplicate",
        }
    }
}

/// Counts of one pass over items.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub evaluated: u64,
    pub matched: u64,
    pub downloaded: u64,
}
