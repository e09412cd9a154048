//! What the area knows of indexers, without I/O.

pub mod change;
pub mod config;
pub mod health;
pub mod indexer;
pub mod merge;
