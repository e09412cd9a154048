//! Lane for looks at paths.
//!
//! Bounds: four paths are looked at at once, 256 wait. One user has at most three quarters of the places, and half of the
//! queue.

use qm_lanes::{Bounds, Lane};

/// The checks of directories that clients are told.
pub static PLACES: Lane = Lane::new("torrents.places", Bounds::new(4, 256));
