//! What touches files: reading the data set.

pub mod open;
pub mod read;
