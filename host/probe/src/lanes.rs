//! Lane of the work of this room that blocks.
//!
//! Bounds: four files are opened for [`PROBES`], 16 wait. One user has three quarters of the places, and half of the queue.

use qm_lanes::{Bounds, Lane};

/// Files are opened for the program that looks into them.
pub static PROBES: Lane = Lane::new("library.probes", Bounds::new(4, 16));
