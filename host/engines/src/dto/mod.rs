//! Requests about engines, what is answered, and realtime messages.

pub mod engines;
pub mod messages;
pub mod paths;
