//! Pure rules of this area.

pub mod answer;
pub mod chain;
pub mod merge;
pub mod pick;
