//! What touches the disk. It blocks: to be called off the async threads.

pub mod erase;
mod jail;
#[cfg(test)]
mod pointed_tests;
pub mod probe;
pub mod walk;
pub mod watch;
