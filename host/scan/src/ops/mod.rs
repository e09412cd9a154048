//! Walks through the directories of libraries, and watches of them. They block: to be called off the async threads.

pub mod walk;
pub mod watch;
