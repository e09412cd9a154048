//! File access of this area.

pub mod open;
pub mod read;
