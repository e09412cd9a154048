//! Lanes for the blocking work of this crate: reading .torrent files, and choosing from lists.
//!
//! Bounds: three .torrent files are read at once, because the largest takes some tenths of a second and four times its
//! size of memory; 512 wait. Three lists are chosen from at once, 256 wait. One
//! user has at most three quarters of the places, and half of the queue.

use qm_lanes::{Bounds, Lane};

/// The reading of .torrent files.
pub static READS: Lane = Lane::new("torrents.reads", Bounds::new(3, 512));
/// The judging of lists by conditions.
pub static CHOICES: Lane = Lane::new("torrents.choices", Bounds::new(3, 256));
