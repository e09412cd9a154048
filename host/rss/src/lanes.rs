//! Lanes of the work of this area that blocks: all of it is over what is in memory.
//!
//! Bounds: four documents are read at once, 64 wait; four times items are judged, or rules compiled, 64 wait. One user has
//! three quarters of the places, and half of the queue.

use qm_lanes::{Bounds, Lane};

/// Documents of feeds are read.
pub static READS: Lane = Lane::new("rss.reads", Bounds::new(4, 64));
/// Items are shown to rules, and rules compiled.
pub static JUDGEMENTS: Lane = Lane::new("rss.judgements", Bounds::new(4, 64));
