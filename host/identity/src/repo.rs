//! The statements of identity. Each function is one statement or a few in the caller's transaction.

pub mod addresses;
pub mod api_keys;
pub mod roles;
pub mod sealed;
pub mod session_ends;
pub mod tokens;
pub mod users;
