//! What a rule would do, and why it does it or does not.

use qm_conditions::Explained;
use serde_json::Value;

use super::rule::Rule;

/// A rule as people are shown it.
#[derive(Clone, Debug, PartialEq)]
pub struct ShownRule {
    pub rule: Rule,
    /// Why it would fail whatever happens; none: its author may do what it does.
    pub problem: Option<String>,
    /// Parts of it that do nothing, as sentences.
    pub warnings: Vec<String>,
}

/// What a rule that is tried would do.
#[derive(Clone, Debug, PartialEq)]
pub struct Preview {
    pub is_known_trigger: bool,
    /// The first of the torrents whose conditions hold.
    pub torrents: Vec<PreviewedTorrent>,
    pub matched: usize,
    pub would_fire: usize,
    /// Torrents that were judged, of how many.
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

/// What becomes of a rule and a torrent whose conditions hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It would run with the next pass.
    Fires,
    /// The rule has run for it.
    Done,
    /// The download is not complete.
    Incomplete,
    /// It runs when the ratio rises to where the conditions hold, and they hold already.
    WaitsForRatio,
    /// It runs when something happens that no look at a torrent tells.
    WaitsForEvent,
}

impl Standing {
    pub const fn as_str(self) -> &'static str {
        match self {
            Standing::Fires => "fires",
            Standing::Done => "done",
            Standing::Incomplete => "incomplete",
            Standing::WaitsForRatio => "waits_for_ratio",
            Standing::WaitsForEvent => "waits_for_event",
        }
    }
}

/// An action that would run.
#[derive(Clone, Debug, PartialEq)]
pub struct PreviewedAction {
    pub kind: String,
    pub label: Option<String>,
    pub plugin: Option<String>,
    /// Why it would fail before it is begun.
    pub problem: Option<String>,
}

/// How a rule sees one torrent.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    pub rule_id: String,
    pub is_enabled: bool,
    pub engine_id: String,
    pub hash: String,
    pub name: String,
    /// The conditions as they are stored, and how each came out.
    pub conditions: Vec<(Value, Explained)>,
    pub holds: bool,
    /// None where the conditions do not hold.
    pub standing: Option<Standing>,
}
