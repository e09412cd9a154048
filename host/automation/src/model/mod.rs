//! Rules, triggers, runs: domain types and pure rules about them.

pub mod action;
pub mod answers;
pub mod log;
pub mod memory;
pub mod rule;
pub mod run;
pub mod trigger;
