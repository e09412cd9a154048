//! Paths of libraries on the disk. It blocks: to be called off the async threads.

pub mod guard;
pub mod reach;
