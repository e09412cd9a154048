//! Tables of files, as this crate reads and writes them.

pub mod probes;
