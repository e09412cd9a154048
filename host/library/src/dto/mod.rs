//! What is sent and what is answered.

pub mod answers;
pub mod bulk;
pub mod ignored;
pub mod requests;
