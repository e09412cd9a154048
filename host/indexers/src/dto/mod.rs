//! Requests and answers; never a row, never a domain type.

pub mod answers;
pub mod proxy;
pub mod requests;
