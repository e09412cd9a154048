//! What stands in the database: every statement of the program, and what a kill leaves behind.

mod crash;
mod statements;
