//! Lanes of this area.
//!
//! Bounds: [`WALKS`]: four folders are walked at once, two of a user; 32 wait. [`PLANS`]: two plans are computed at once, one of
//! a user; 64 wait.

use qm_lanes::{Bounds, Lane};

/// Walks of the folders whose files are to be named.
pub static WALKS: Lane = Lane::new("rename.walks", Bounds::new(4, 32).of_one(2, 16));
/// Computation of plans.
pub static PLANS: Lane = Lane::new("rename.plans", Bounds::new(2, 64).of_one(1, 32));
