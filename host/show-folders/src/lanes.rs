//! Lanes of this area.
//!
//! Bounds: two of [`WALKS`] at once, one of a user; 16 wait, 8 of a user. Of [`STEPS`], which the one merge that runs needs, two
//! at once; 16 wait.

use qm_lanes::{Bounds, Lane};

/// Walks of the folders of shows, and plans.
pub static WALKS: Lane = Lane::new("show_folders.walks", Bounds::new(2, 16).of_one(1, 8));
/// Looks before the steps of a merge: walks of people are not in their way.
pub static STEPS: Lane = Lane::new("show_folders.steps", Bounds::new(2, 16));
