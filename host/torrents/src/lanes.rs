//! Lanes of the work of this area that blocks: looks at paths, and what is done over memory.
//!
//! Bounds: three files of torrents are read at once, for the largest takes some tenths of a second and four times its size of
//! memory; 512 wait. Three lists are chosen from, 256 wait. Four paths are
//! looked at, 256 wait. One user has three quarters of the places, and half of the queue.

use qm_lanes::{Bounds, Lane};

/// Files of torrents are read.
pub static READS: Lane = Lane::new("torrents.reads", Bounds::new(3, 512));
/// Conditions are asked of lists.
pub static CHOICES: Lane = Lane::new("torrents.choices", Bounds::new(3, 256));
/// Directories that clients are told are looked at.
pub static PLACES: Lane = Lane::new("torrents.places", Bounds::new(4, 256));
