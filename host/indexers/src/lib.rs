//! Indexers: the sites that list releases, as an administrator configures them, and what they find all together.
//!
//! How a site is spoken to is the affair of the plugin that speaks its protocol; this area keeps who is asked, with which key,
//! how often, and how that went. A search asks all enabled indexers at once, each within its own time limit and its own budget
//! of requests; one that fails is told in the result and holds up no other, and after some failures in a row it rests.
//! Invariants: an API key is stored encrypted, never shown, and in no error; an indexer that said when to come back is not
//! asked before; who changes one is judged in the transaction of the change; "nothing found" and "nobody could look" are told
//! apart.
//! Indexers of an aggregator are taken over as rows that follow it where nobody has touched them; its key goes to its own URL
//! alone.
//! Deliberately absent: results that are kept, a search by itself (that is acquisition's), pages beyond the first.
//!
//! Bounds: [`model::indexer::MAX_INDEXERS`] indexers, [`service::AT_ONCE`] of them asked at a time for one search.
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
pub use error::IndexerAreaError;
pub use routes::routes;
pub use service::{Indexers, IndexersDeps};
