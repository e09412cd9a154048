//! Lanes of the work of this area that blocks. What touches a disk never stands in the way of what sorts in memory.
//!
//! Bounds: eight [`LOOKS`] at single paths, 128 wait; four [`WALKS`] of trees, 32 wait; four [`CHANGES`] that delete, 64
//! wait; two trees are gone through for [`WATCHES`], 64 wait; eight pieces of
//! [`COMPUTE`], 256 wait. One user has three quarters of the places, and half of the queue.

use qm_lanes::{Bounds, Lane};

/// A few paths are looked at.
pub static LOOKS: Lane = Lane::new("library.looks", Bounds::new(8, 128));
/// Trees are walked.
pub static WALKS: Lane = Lane::new("library.walks", Bounds::new(4, 32));
/// Files are deleted.
pub static CHANGES: Lane = Lane::new("library.changes", Bounds::new(4, 64));
/// Directories are watched.
pub static WATCHES: Lane = Lane::new("library.watches", Bounds::new(2, 64));
/// Names are read; what is in memory is sorted, counted, grouped.
pub static COMPUTE: Lane = Lane::new("library.compute", Bounds::new(8, 256));
