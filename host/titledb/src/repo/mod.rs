//! The table `titledb_imports`, and the tables of the store.
//!
//! The store is made by this area and not by a migration, so its statements are no constants of `sql!`: a test of this folder
//! prepares each of them on a store of either kind.

pub mod imports;
pub mod load;
pub mod names;
pub mod postings;
pub mod schema;
pub mod search;
pub mod titles;
