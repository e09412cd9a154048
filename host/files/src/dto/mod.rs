//! Requests and answers of the routes.

pub mod answers;
pub mod choices;
pub mod requests;
pub mod reviews;
