//! Tables that only this crate reads and writes.

pub mod directories;
pub mod moves;
