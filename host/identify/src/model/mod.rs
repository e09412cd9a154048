//! Films that share an id, and the proposals for them. Pure.

pub mod repair;
