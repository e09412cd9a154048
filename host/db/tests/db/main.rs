//! Tests of qm-db from outside, as an area uses it, on both databases.

#![allow(clippy::unwrap_used, reason = "the whole crate is tests")]

mod backup;
mod changes;
mod crash;
mod node;
mod opening;
mod outbox;
mod rows;
mod schema;
mod transactions;
