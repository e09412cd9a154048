//! Domain types and pure rules of this area.

pub mod action;
pub mod answers;
pub mod guard;
pub mod log;
pub mod memory;
pub mod moment;
pub mod rule;
pub mod run;
pub mod trigger;
