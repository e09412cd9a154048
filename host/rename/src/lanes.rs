//! Lanes of this area.
//!
//! Bounds: [`WALKS`]: four folders are walked at once, two of a user; 32 wait. [`PLANS`]: two plans are computed at once, one of
//! a user; 64 wait. [`MOVES`]: steps of four runs at once, of two of a user; 64 wait. [`LOOKS`]: looks before steps, and repairs.

use qm_lanes::{Bounds, Lane};

/// Walks of the folders whose files are to be named.
pub static WALKS: Lane = Lane::new("rename.walks", Bounds::new(4, 32).of_one(2, 16));
/// Computation of plans.
pub static PLANS: Lane = Lane::new("rename.plans", Bounds::new(2, 64).of_one(1, 32));
/// Steps of runs.
pub static MOVES: Lane = Lane::new("rename.moves", Bounds::new(4, 64).of_one(2, 32));
/// Looks before the steps of runs, and repairs after a crash.
pub static LOOKS: Lane = Lane::new("rename.looks", Bounds::new(4, 64).of_one(2, 32));
