//! Lane for looking a path up.
//!
//! Bounds: [`LOOKS`]: four at once, two of a user; 32 wait. Hashing has a lane of its own in `qm_torrent_maker`.

use qm_lanes::{Bounds, Lane};

/// Looks at the file or folder of a wish.
pub static LOOKS: Lane = Lane::new("created_torrents.looks", Bounds::new(4, 32).of_one(2, 16));
