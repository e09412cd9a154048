//! Tables that only this crate reads and writes.

pub mod enrich;
pub mod repair;
