//! SQL statements of this area.

pub mod integrations;
pub mod sealed;
