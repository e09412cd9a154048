//! Changes of tables that tests make.

pub mod testing;
