//! What touches files: reading the data set.

pub mod read;
