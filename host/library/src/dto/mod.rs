//! What is sent and what is answered.

pub mod answers;
pub mod bulk;
pub mod requests;
pub mod series;
pub mod shows;
