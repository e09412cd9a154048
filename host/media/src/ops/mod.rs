//! Access to library paths on the disk. The calls block: they belong outside of the async threads.

pub mod guard;
pub mod reach;
