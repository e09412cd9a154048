//! Lanes for the CPU-bound work of this area, which runs on blocking threads.
//!
//! Bounds: four documents are parsed at once and 64 wait; four batches of items are judged or rules compiled
//! at once and 64 wait. One user may take three quarters of the places and half of the queue.

use qm_lanes::{Bounds, Lane};

/// Parsing of feed documents.
pub static READS: Lane = Lane::new("rss.reads", Bounds::new(4, 64));
/// Judging items by rules, and compiling rules.
pub static JUDGEMENTS: Lane = Lane::new("rss.judgements", Bounds::new(4, 64));
