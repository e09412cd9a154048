//! Tests of the whole surface over a real listener: the rules of the contract as tables.

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
