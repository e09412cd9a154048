//! Results of previews and explanations.

use qm_conditions::Explained;
use qm_kernel::Timestamp;
use serde_json::Value;

use super::rule::Rule;

/// A rule for display.
#[derive(Clone, Debug, PartialEq)]
pub struct ShownRule {
    pub rule: Rule,
    /// Reason why it would always fail; `None`: its author has the permissions.
    pub problem: Option<String>,
    /// Sentences about parts without effect.
    pub warnings: Vec<String>,
    /// Next due time of an enabled rule with a time table.
    pub next_run_at: Option<Timestamp>,
}

/// Result of a preview.
#[derive(Clone, Debug, PartialEq)]
pub struct Preview {
    pub is_known_trigger: bool,
    /// The first torrents that match the conditions.
    pub torrents: Vec<PreviewedTorrent>,
    pub matched: usize,
    pub would_fire: usize,
    /// Number of evaluated torrents, and of all.
    pub judged: usize,
    pub total: usize,
    pub actions: Vec<PreviewedAction>,
}

/// A torrent whose conditions hold.
#[derive(Clone, Debug, PartialEq)]
pub struct PreviewedTorrent {
    pub engine_id: String,
    pub hash: String,
    pub name: String,
    pub standing: Standing,
}

/// State of a rule for a torrent that matches the conditions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It would run with the next pass.
    Fires,
    /// The rule has already run for it.
    Done,
    /// The download is incomplete.
    Incomplete,
    /// It runs when the ratio rises to a value that matches; the conditions match already.
    WaitsForRatio,
    /// It runs at an event that the state of a torrent does not show.
    WaitsForEvent,
    /// It runs at the next time of its time table.
    WaitsForTime,
}

impl Standing {
    pub const fn as_str(self) -> &'static str {
        match self {
            Standing::Fires => "fires",
            Standing::Done => "done",
            Standing::Incomplete => "incomplete",
            Standing::WaitsForRatio => "waits_for_ratio",
            Standing::WaitsForEvent => "waits_for_event",
            Standing::WaitsForTime => "waits_for_time",
        }
    }
}

/// An action that would run.
#[derive(Clone, Debug, PartialEq)]
pub struct PreviewedAction {
    pub kind: String,
    pub label: Option<String>,
    pub plugin: Option<String>,
    /// Reason why it would fail before it begins.
    pub problem: Option<String>,
}

/// Evaluation of a rule for one torrent.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    pub rule_id: String,
    pub is_enabled: bool,
    pub engine_id: String,
    pub hash: String,
    pub name: String,
    /// Stored conditions, each with its evaluation.
    pub conditions: Vec<(Value, Explained)>,
    pub holds: bool,
    /// `None` when the conditions do not match.
    pub standing: Option<Standing>,
}
