//! The SQL of this area.

pub mod integrations;
pub mod sealed;
