//! The program that looks into files, and the jail it is started in. It blocks: to be called off the async threads.

mod jail;
#[cfg(test)]
mod pointed_tests;
pub mod probe;
