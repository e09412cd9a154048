//! Lanes of the work of this area that blocks: all of it is over what is in memory.
//!
//! Bounds: three files of torrents are read at once, for the largest takes some tenths of a second and four times its size of
//! memory; 512 wait. Three lists are chosen from, 256 wait. One user has two of the places, and half of the queue.

use qm_lanes::{Bounds, Lane};

/// Files of torrents are read.
pub static READS: Lane = Lane::new("torrents.reads", Bounds::new(3, 512));
/// Conditions are asked of lists.
pub static CHOICES: Lane = Lane::new("torrents.choices", Bounds::new(3, 256));
