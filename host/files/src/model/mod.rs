//! The area's pure rules: what a file is by its name, which of two releases is the better one, what may be cleaned up.

pub mod cleanup;
pub mod conflict;
pub mod kind;
