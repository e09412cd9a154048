//! Lane for the blocking work of this crate.
//!
//! Bounds: four files for [`PROBES`] at once, 16 wait. One user has at most three quarters of the places, and half of the
//! queue.

use qm_lanes::{Bounds, Lane};

/// Lane for opening files for the probing program.
pub static PROBES: Lane = Lane::new("library.probes", Bounds::new(4, 16));
