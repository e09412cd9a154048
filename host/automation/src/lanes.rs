//! Lanes for the CPU-bound work of this area: evaluating rules on lists in memory.
//!
//! Bounds: two passes at once, 16 wait; three previews at once, 64 wait. One user may take three quarters of
//! the places and half of the queue.

use qm_lanes::{Bounds, Lane};

/// Searching for due rules.
pub static PASSES: Lane = Lane::new("automation.passes", Bounds::new(2, 16));
/// Previewing a rule for a user.
pub static PREVIEWS: Lane = Lane::new("automation.previews", Bounds::new(3, 64));
