//! Walks through the directories of libraries, and watches on them. The calls block: they belong outside of the async
//! threads.

pub mod walk;
pub mod watch;
