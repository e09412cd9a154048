//! Table `titledb_imports`, and the tables of the store.
//!
//! The store is created by this area and not by a migration, so its statements are not declared with `sql!`:
//! a test in this folder prepares each of them on both kinds of stores.

pub mod imports;
pub mod load;
pub mod names;
pub mod postings;
pub mod schema;
pub mod search;
pub mod titles;
