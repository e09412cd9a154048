//! Lane of this area.
//!
//! Bounds: two pieces of [`GROUPS`] are computed at once, 16 wait. There is one detection at a time.

use qm_lanes::{Bounds, Lane};

/// Computation of keys, groups and verdicts.
pub static GROUPS: Lane = Lane::new("duplicates.groups", Bounds::new(2, 16));
