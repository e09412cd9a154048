//! Lists of items, series and shows of the media libraries, for people and for other areas.
//!
//! It only reads, except for the audit row of an export, and for the groups of duplicates that the area of duplicates stores with
//! items. Lists of many items are made in memory, as long as stamps in the
//! database show that nothing has changed.
//!
//! Own state: two locks, for the caches of items and of series. Nothing is awaited under them, and neither is taken while
//! the other is held.

mod dto;
mod model;
pub mod repo;
mod routes;
mod service;

pub use routes::routes;
pub use service::{Catalogue, Shelf, owned_by_ids};
