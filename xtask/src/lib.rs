//! Facts about the workspace that both the tasks and the tests of the architecture read.

pub mod crates;
