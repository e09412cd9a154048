//! Lane for looks at paths.
//!
//! Bounds: four paths are looked at at once, 256 wait. One user has at most three quarters of the places, and half of the
//! queue.

use qm_lanes::{Bounds, Lane};

/// The checks of directories that clients are told.
pub static PLACES: Lane = Lane::new("torrents.places", Bounds::new(4, 256));

/// The looks of a check of an engine's paths, a directory each: a disk that hangs holds up no save path.
pub static CHECKS: Lane = Lane::new("torrents.path_checks", Bounds::new(3, 96).of_one(2, 64));
