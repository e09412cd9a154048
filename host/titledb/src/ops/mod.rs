//! What touches files: reading the data set, and keeping the ids of titles in memory.

pub mod ids;
pub mod read;
