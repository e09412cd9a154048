//! What touches the disk. It blocks: to be called off the async threads.

pub mod erase;
pub mod walk;
pub mod watch;
