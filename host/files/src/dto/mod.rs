//! What the routes take and what they answer.

pub mod answers;
pub mod choices;
pub mod requests;
pub mod reviews;
