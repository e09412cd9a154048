//! Tables of files, as this room reads and writes them.

pub mod probes;
