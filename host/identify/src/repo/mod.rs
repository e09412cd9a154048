//! Tables as this room alone reads and writes them.

pub mod enrich;
pub mod repair;
