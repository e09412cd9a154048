//! Limits as they are sent and answered.

pub mod share;
pub mod speed;
