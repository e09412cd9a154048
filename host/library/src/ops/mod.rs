//! What touches the disk. It blocks: to be called off the async threads.

pub mod erase;
pub mod guard;
mod jail;
#[cfg(test)]
mod pointed_tests;
pub mod probe;
pub mod reach;
pub mod walk;
pub mod watch;
