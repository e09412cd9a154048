//! What the routes of this area take and answer.

pub mod answers;
pub mod requests;
