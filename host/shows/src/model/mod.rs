//! What a show is and what its status means; no I/O.

pub mod hit;
pub mod report;
pub mod title;
