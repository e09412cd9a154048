//! Shows and the meaning of their status; no I/O.

pub mod hit;
pub mod report;
pub mod title;
