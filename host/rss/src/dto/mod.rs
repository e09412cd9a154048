//! What is asked for and answered.

pub mod answers;
pub mod requests;
pub mod trials;
