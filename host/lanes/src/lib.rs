//! Lanes for work that blocks: disks, hashes, decompression, sorting. A lane has threads of its own, so that one that hangs
//! for ever (the mount of a server that is gone) takes nothing from another one, nor from the runtime, nor keeps the process
//! from its end. Nothing here joins a thread.
//!
//! A lane is a `static` of the area whose work it does, with constants for its [`Bounds`]:
//!
//! ```
//! use qm_lanes::{Bounds, Lane};
//!
//! static SORTING: Lane = Lane::new("shelf.sorting", Bounds::new(4, 64));
//!
//! # async fn sort(mut numbers: Vec<u32>) -> Result<Vec<u32>, qm_lanes::LaneError> {
//! SORTING
//!     .run(move |_| {
//!         numbers.sort_unstable();
//!         numbers
//!     })
//!     .await
//! # }
//! ```
//!
//! Work that may take long looks at its [`Cancel`] now and then: it is set when nobody waits for the work any more, when
//! whoever began it says so, and when the process ends.
//! Places are shared out by who the work is for ([`on_behalf`]): whoever has many at work or waiting leaves places for
//! others, and of those who wait whoever has least at work comes first. What the service does for itself has no share.
//!
//! Bounds: of each lane its [`Bounds`], and [`HOUSE`] that wait for the service itself; a thread ends when it had nothing
//! to do for [`IDLE`].

mod cancel;
mod lane;
mod places;
mod poison;
mod who;
mod work;

pub use cancel::Cancel;
pub use lane::{Bounds, Count, Lane, LaneError, counts, end};
pub use poison::IgnorePoison;
pub use who::{Who, for_whom, on_behalf};
pub use work::Work;

use std::time::Duration;

/// Queue length per lane for the service itself, whose loops and jobs are few.
pub const HOUSE: usize = 1024;
/// Idle time after which a thread ends.
pub const IDLE: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests;
