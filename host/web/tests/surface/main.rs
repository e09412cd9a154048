//! The whole surface over a real listener: every rule of the contract's conventions as a table.

#![allow(clippy::unwrap_used, clippy::format_push_string, reason = "tests")]

mod access;
mod answers;
mod bodies;
mod derived;
mod described;
mod document;
mod hostile;
mod support;
mod uploads;
