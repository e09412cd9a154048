//! Requests of plans and runs, and their results. Pure.

use std::sync::Arc;

use qm_media_names::Kind;
use qm_ports::TorrentPayload;
#[cfg(test)]
use qm_rename_plan::Action;
use qm_rename_plan::Mode;

use super::Planned;
use super::run::{KnownFiles, Outcome};

/// Request of a plan.
#[derive(Clone, Debug, Default)]
pub struct Request {
    pub library: Option<String>,
    pub hash: Option<String>,
    pub engine_id: Option<String>,
    pub path: Option<String>,
    pub names: Vec<String>,
    /// Word of a preset, or the id of a stored one.
    pub preset: String,
    pub mode: Mode,
    pub template: Option<String>,
    pub kind: Option<Kind>,
    pub source_name: Option<String>,
}

/// Request to apply a plan.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    pub request: Request,
    /// Plan that was shown; without one it is made now.
    pub plan_id: Option<String>,
    pub is_dry: bool,
    /// Torrent that the files come from, for the history.
    pub source_torrent: Option<String>,
    pub label: Option<String>,
}

/// A plan with the files that it saw.
#[derive(Debug)]
pub struct Prepared {
    pub planned: Planned,
    pub known: KnownFiles,
    /// Torrent whose data is named.
    pub given: Option<Given>,
}

impl Prepared {
    pub fn len(&self) -> usize {
        self.planned.plan.items.len()
    }

    /// Plan of that many files, for tests of bounds.
    #[cfg(test)]
    pub fn of_length(length: usize) -> Self {
        use qm_rename_plan::{Content, Item, Plan};
        let item = Item {
            source: String::new(),
            destination: None,
            action: Action::Skip,
            kind: Content::General,
            reason: String::new(),
            is_subtitle: false,
            is_sample: false,
            is_extra: false,
            is_unchanged: false,
        };
        Self {
            planned: Planned {
                mode: Mode::Copy,
                preset: String::new(),
                library: None,
                kind: Content::General,
                parsed: qm_release::parse(""),
                plan: Plan {
                    items: vec![item; length],
                    warnings: Vec::new(),
                },
            },
            known: KnownFiles::new(),
            given: None,
        }
    }
}

/// Result of a request to apply a plan.
#[derive(Debug)]
pub struct Applied {
    /// `None`: nothing was to be done.
    pub run_id: Option<String>,
    pub outcome: Outcome,
    pub prepared: Arc<Prepared>,
}

/// A torrent that a request names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Given {
    pub engine_id: String,
    pub hash: String,
}

impl Given {
    pub fn matches(&self, payload: &TorrentPayload) -> bool {
        (&*self.engine_id, &*self.hash) == (&*payload.engine_id, &*payload.hash)
    }
}

/// A file of an item, and where it goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Going {
    pub item_id: String,
    pub from: String,
    pub to: Option<String>,
}

/// Result of the naming of items.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Named {
    /// Number of items that were looked at.
    pub items: u64,
    /// Number of files that got names.
    pub applied: u64,
    /// Ids of items whose files have the names that the library wants.
    pub settled: Vec<String>,
    /// Ids of items whose files got names just now.
    pub renamed: Vec<String>,
    /// Ids of items that keep a name which the library does not want, with the reason.
    pub failed: Vec<(String, String)>,
    /// True if somebody cancelled it: the rest keeps its names.
    pub is_cancelled: bool,
}

impl Named {
    pub fn add(&mut self, mut other: Self) {
        self.items += other.items;
        self.applied += other.applied;
        self.settled.append(&mut other.settled);
        self.renamed.append(&mut other.renamed);
        self.failed.append(&mut other.failed);
        self.is_cancelled |= other.is_cancelled;
    }
}

/// Result of the naming of a library.
#[derive(Debug, Default)]
pub struct Organized {
    pub library_id: String,
    pub mode: String,
    pub is_eligible: bool,
    pub is_dry: bool,
    pub moves: Vec<Going>,
    pub deletes: Vec<Going>,
    pub needs_review: Vec<Going>,
    pub run_id: Option<String>,
    pub outcome: Outcome,
}
