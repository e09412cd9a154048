//! Tables as this room alone reads and writes them.

pub mod directories;
pub mod moves;
