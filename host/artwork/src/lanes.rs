//! Lanes of this area.
//!
//! Bounds: [`LOOKS`]: four looks at directories and openings of files at once, three of a user; 256 wait. [`PICTURES`]: one picture is
//! decoded at once, so that memory stays bounded; 256 wait, 128 of a user. [`SENDING`]: pieces of four pictures are read at
//! once; 512 wait. [`STORE`]: two files are written or removed at once; 32 wait.

use qm_lanes::{Bounds, Lane};

/// Looks at directories, and openings of files.
pub static LOOKS: Lane = Lane::new("artwork.looks", Bounds::new(4, 256));
/// Reading, decoding and scaling of pictures.
pub static PICTURES: Lane = Lane::new("artwork.pictures", Bounds::new(1, 256));
/// Reading of what is sent.
pub static SENDING: Lane = Lane::new("artwork.sending", Bounds::new(4, 512));
/// Writing and removal of files.
pub static STORE: Lane = Lane::new("artwork.store", Bounds::new(2, 32));
