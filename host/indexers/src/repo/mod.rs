//! The tables `indexers` and `indexer_days`.

pub mod indexers;
pub mod sealed;
#[cfg(test)]
mod tests;
