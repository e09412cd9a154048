//! Rows of media libraries: libraries, items, files, shows and their metadata, as every crate of the area reads and writes
//! them; with the errors of the area, its lanes, and the parts that its jobs share.
//!
//! The crates above it: `qm_probe` probes files, and the area `qm_library` holds the others.

pub mod dto;
mod error;
pub mod lanes;
pub mod model;
pub mod ops;
pub mod repo;
pub mod service;

pub use error::LibraryError;
