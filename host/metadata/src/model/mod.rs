//! The rules of this area, without I/O.

pub mod answer;
pub mod chain;
pub mod merge;
pub mod pick;
