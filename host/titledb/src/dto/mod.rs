//! What clients send and get.

pub mod answers;
pub mod requests;
