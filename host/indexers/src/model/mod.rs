//! What the area knows of indexers, without I/O.

pub mod change;
pub mod config;
pub mod health;
pub mod import;
pub mod indexer;
pub mod listing;
pub mod merge;
pub mod proxy;
pub mod told;
pub mod tries;
