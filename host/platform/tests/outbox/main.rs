//! Durable consumers from outside, as an area uses them: killed at every step, and with many writers.

#![allow(clippy::unwrap_used, reason = "the whole crate is tests")]

mod crowd;
mod kill;
mod world;
