//! Libraries and their health, as they are sent and answered.

pub mod answers;
pub mod ignored;
pub mod requests;
