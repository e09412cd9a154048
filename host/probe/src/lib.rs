//! Properties of the files of media libraries: resolution, codecs, length. A sandboxed program reads them, which sees one
//! file only.
//!
//! Own state: [`Probing`] keeps the reason for which no file is probed, behind its only lock; nothing is awaited under it.

mod lanes;
pub mod model;
mod ops;
pub mod repo;
mod service;
#[cfg(any(test, feature = "testing"))]
pub mod testing;

pub use ops::probe::{Expected, Prober, fingerprint_of};
pub use service::{Probing, ProbingDeps};
