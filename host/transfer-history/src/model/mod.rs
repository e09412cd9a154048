//! Steps of time, and what is counted in them. Pure.

pub mod answers;
pub mod count;
pub mod steps;

pub use count::{Counters, Tally, Watch};
pub use steps::Step;

/// Rows of torrents that are kept of one step; the oldest go first.
pub const MOST_ROWS: i64 = 1_000_000;
/// Steps of one answer.
pub const MOST_POINTS: i64 = 2_000;
/// Torrents of one list of those that moved most.
pub const MOST_TOP: usize = 100;
