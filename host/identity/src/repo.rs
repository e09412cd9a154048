//! The statements of identity. Each function is one statement or a few in the caller's transaction.

pub mod roles;
pub mod tokens;
pub mod users;
