//! The probing program, and the sandbox that it runs in. The calls block: they belong outside of the async threads.

mod jail;
#[cfg(test)]
mod pointed_tests;
pub mod probe;
