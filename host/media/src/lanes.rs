//! Lanes for the blocking work of this area. Work on disks has other lanes than computing in memory, so neither waits for
//! the other.
//!
//! Bounds: eight [`LOOKS`] at single paths, 128 wait; four [`WALKS`] of trees, 32 wait; four [`CHANGES`] that delete, 64
//! wait; two trees for [`WATCHES`], 64 wait; eight pieces of [`COMPUTE`], 256 wait. One user has at most three quarters of
//! the places, and half of the queue.

use qm_lanes::{Bounds, Lane};

/// Lane for looks at a few paths.
pub static LOOKS: Lane = Lane::new("library.looks", Bounds::new(8, 128));
/// Lane for walks of directory trees.
pub static WALKS: Lane = Lane::new("library.walks", Bounds::new(4, 32));
/// Lane for deletions of files.
pub static CHANGES: Lane = Lane::new("library.changes", Bounds::new(4, 64));
/// Lane for setting watches on directories.
pub static WATCHES: Lane = Lane::new("library.watches", Bounds::new(2, 64));
/// Lane for computing: reading names; sorting, counting and grouping in memory.
pub static COMPUTE: Lane = Lane::new("library.compute", Bounds::new(8, 256));
