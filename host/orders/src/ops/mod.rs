//! Deletion of files of libraries. The calls block: they belong outside of the async threads.

pub mod erase;
