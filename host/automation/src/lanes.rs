//! Lanes of the work of this area that blocks: rules are held against lists in memory.
//!
//! Bounds: two passes at once, 16 wait; three previews, 64 wait. One user has three quarters of the places, and half of the
//! queue.

use qm_lanes::{Bounds, Lane};

/// What is due is looked for.
pub static PASSES: Lane = Lane::new("automation.passes", Bounds::new(2, 16));
/// A rule that somebody writes is tried.
pub static PREVIEWS: Lane = Lane::new("automation.previews", Bounds::new(3, 64));
