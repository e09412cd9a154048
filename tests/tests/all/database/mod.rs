//! The database: every statement of the program, and the content that a kill leaves behind.

mod crash;
mod statements;
