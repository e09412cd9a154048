//! Words and pure rules of this area.

pub mod feed;
pub mod rule;
