//! Data types and pure rules of this area.

pub mod change;
pub mod config;
pub mod health;
pub mod import;
pub mod indexer;
pub mod listing;
pub mod merge;
pub mod proxy;
pub mod reports;
pub mod tries;
