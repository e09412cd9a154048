//! The area's pure rules: what a file is by its name, what a range asks for, what a ticket proves, which of two releases
//! is the better one, what may be cleaned up.

pub mod cleanup;
pub mod conflict;
pub mod encoding;
pub mod kind;
pub mod range;
pub mod ticket;
