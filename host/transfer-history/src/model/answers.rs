//! Requests for counts, and their answers.

use qm_kernel::Timestamp;

use super::{Counters, Step, Tally, Watch};

/// Engines that a request means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    /// None: the default one.
    One(Option<String>),
    All,
}

/// Request for counts by steps.
#[derive(Clone, Debug)]
pub struct Question {
    pub engines: Choice,
    /// None: of whole engines.
    pub hash: Option<String>,
    pub step: Step,
    pub from: Option<Timestamp>,
    pub to: Option<Timestamp>,
}

/// Counts by steps.
#[derive(Debug)]
pub struct History {
    /// None: of all engines.
    pub engine_id: Option<String>,
    pub step: Step,
    pub from: Timestamp,
    pub to: Timestamp,
    pub points: Vec<Point>,
    pub moved: Counters,
}

/// Counts of one step.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Point {
    pub start: i64,
    pub end: i64,
    pub tally: Tally,
    /// Bytes per second over the part of the step that has passed.
    pub average_download: u64,
    pub average_upload: u64,
    /// Torrents that moved, on average; none in counts of one torrent.
    pub active: Option<f64>,
    pub peak_active: Option<u64>,
}

/// Request for the torrents that moved most.
#[derive(Clone, Debug)]
pub struct TopQuestion {
    pub engines: Choice,
    pub by_upload: bool,
    pub from: Option<Timestamp>,
    pub to: Option<Timestamp>,
    pub limit: usize,
}

/// Torrents that moved most.
#[derive(Debug)]
pub struct Top {
    pub engine_id: Option<String>,
    /// Step whose counts were added up.
    pub step: Step,
    pub from: Timestamp,
    pub to: Timestamp,
    pub torrents: Vec<TopTorrent>,
}

/// A torrent with what it moved in a range.
#[derive(Debug)]
pub struct TopTorrent {
    pub engine_id: String,
    pub hash: String,
    pub name: String,
    pub gone_at: Option<Timestamp>,
    pub moved: Counters,
}

/// Counts of a step of time, of an engine or of a torrent.
#[derive(Clone, Copy, Debug)]
pub struct CountRow {
    pub start_at: i64,
    pub tally: Tally,
    /// Nothing in counts of a torrent.
    pub watch: Watch,
}
