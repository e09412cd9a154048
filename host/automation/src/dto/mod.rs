//! What is asked for and what is answered.

pub mod answers;
pub mod requests;
