//! Data types and pure rules of this area.

pub mod bundle;
pub mod candidate;
pub mod evaluation;
pub mod feed;
pub mod grab;
pub mod history;
pub mod live;
pub mod rule;
