//! Durable consumers from outside, as an area has them: killed at every step, and crowded.

#![allow(clippy::unwrap_used, reason = "the whole crate is tests")]

mod crowd;
mod kill;
mod world;
