//! The rules that wait for something to happen to a torrent, as the sync loops see them.

use qm_kernel::Timestamp;

use crate::list::TorrentRecord;

/// An event of a torrent, seen between its stored row and the row that replaces it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Edge {
    /// Its download is complete.
    Completed,
    /// Its ratio is no longer this one.
    RatioMoved { from: f64 },
    /// It fell into an error.
    Failed,
    /// It is new on its engine.
    Added,
    /// It is gone from its engine, and did not come back for a minute.
    Removed,
    /// It wants data, and has got none since then.
    Stalled { since: Timestamp },
}

impl Edge {
    /// The trigger that rules name it by.
    pub const fn trigger(self) -> &'static str {
        match self {
            Edge::Completed => "torrent.completed",
            Edge::RatioMoved { .. } => "ratio.reached",
            Edge::Failed => "torrent.failed",
            Edge::Added => "torrent.added",
            Edge::Removed => "torrent.removed",
            Edge::Stalled { .. } => "torrent.stalled",
        }
    }
}

/// Offered by automation. Answers from memory, at once.
pub trait RuleWatch: Send + Sync {
    /// True if any rule waits for a ratio.
    fn watches_ratios(&self) -> bool;

    /// True if any rule waits for torrents that get no data.
    fn watches_stalls(&self) -> bool;

    /// True if there is any rule: automation then has to be told of torrents that were removed and added once more.
    fn remembers(&self) -> bool;

    /// The ids of the rules that are to run for the torrent because of it, in the order in which they are to run.
    fn due(&self, edge: Edge, torrent: &TorrentRecord<'_>) -> Vec<String>;
}

/// Where nobody has rules.
pub struct NoRules;

impl RuleWatch for NoRules {
    fn watches_ratios(&self) -> bool {
        false
    }

    fn watches_stalls(&self) -> bool {
        false
    }

    fn remembers(&self) -> bool {
        false
    }

    fn due(&self, _: Edge, _: &TorrentRecord<'_>) -> Vec<String> {
        Vec::new()
    }
}
