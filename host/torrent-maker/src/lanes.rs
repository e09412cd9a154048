//! Lane for reading and hashing.
//!
//! Bounds: [`HASHING`]: two torrents are made at once, one per user, so that a disk that hangs stops only one of them; 16
//! wait.

use qm_lanes::{Bounds, Lane};

/// Making of torrents, from the listing to the last hash.
pub(crate) static HASHING: Lane = Lane::new("torrents.hashing", Bounds::new(2, 16).of_one(1, 8));
