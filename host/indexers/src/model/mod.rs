//! What an indexer is, how it fares, and what makes one answer out of many.

pub mod failure;
pub mod health;
pub mod indexer;
pub mod merge;
