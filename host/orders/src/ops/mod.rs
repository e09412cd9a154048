//! Deletion of files of libraries. It blocks: to be called off the async threads.

pub mod erase;
