//! Lanes of this area.
//!
//! Bounds: [`NOTES`]: two notes are read or written at once, one of a user; 64 wait.

use qm_lanes::{Bounds, Lane};

/// Reading and writing of notes.
pub static NOTES: Lane = Lane::new("nfo.notes", Bounds::new(2, 64).of_one(1, 32));
