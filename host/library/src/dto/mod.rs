//! What is sent and what is answered.

pub mod answers;
pub mod bulk;
pub mod ignored;
pub mod metadata;
pub mod repair;
pub mod requests;
pub mod shows;
pub mod titles;
