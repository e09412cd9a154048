//! Lists of what lies in the media libraries: items, series and shows, as people browse them and as other areas ask for them.
//!
//! It reads, and writes nothing but the audit of an export. Lists of many items are made in memory, as long as stamps in the
//! database say that nothing has changed.
//!
//! Own state: two locks, of the items and of the series that are kept in memory. Neither is held while anything is awaited, nor
//! while the other is taken.

mod dto;
mod model;
pub mod repo;
mod routes;
mod service;

pub use routes::routes;
pub use service::{Catalogue, Shelf, owned_by_ids};
