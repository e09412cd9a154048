//! Films that share an id, and what is proposed for them. Pure.

pub mod repair;
