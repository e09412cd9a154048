//! Indexers: the sites that list releases, as an administrator configures them, and what they find all together.
//!
//! Each protocol is implemented by a plugin; this area stores the configured indexers, their API keys, their
//! request limits and their health. A search asks all enabled indexers at once, each within its own time
//! limit and request budget. A failed one is reported in the result and delays no other; after several
//! failures in a row it is left out for a while. Invariants: an API key is stored encrypted, never shown, and
//! in no error; an indexer that asked for a pause is not asked before its end; the permissions of a user who
//! changes one are checked in the transaction of the change; "nothing found" and "no indexer answered" are
//! different results. Indexers of an aggregator are imported as rows that follow it as long as users do not
//! change them; the aggregator's key is sent to its own URL only. Deliberately absent: stored results,
//! automatic searches (those belong to acquisition), pages beyond the first.
//!
//! Bounds: [`model::indexer::MAX_INDEXERS`] indexers, of which [`service::AT_ONCE`] are asked at a time for
//! one search.
//!
//! Events: none.

mod area;
mod dto;
mod error;
pub mod model;
mod repo;
mod routes;
pub mod service;
pub mod settings;
#[cfg(test)]
mod testing;

pub use area::AREA;
use routes::routes;
use service::{Indexers, IndexersDeps};
