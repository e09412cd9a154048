//! SQL statements of this area.

pub mod indexers;
pub mod sealed;
