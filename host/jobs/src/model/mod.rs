//! Jobs, their states, and rules that need no database.

pub mod cron;
pub mod event;
pub mod job;
pub mod outcome;
pub mod pace;
pub mod redact;
pub mod retry;
pub mod schedule;
pub mod sight;
pub mod status;
pub mod view;
