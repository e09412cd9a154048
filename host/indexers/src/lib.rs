//! Indexers: where releases are searched for, each by the protocol of a plugin.
//!
//! What stands: what an indexer is and how it is stored (with its secrets sealed, its health and what it was asked each day),
//! when one that fails is asked again, the budget of requests, the words for every way to fail, and how many answers become
//! one.
//! Invariants: keys and other secrets are stored encrypted; an answer to an earlier configuration says nothing of a later one;
//! counters are added to in the database, so that no writer loses what another one counted.
//! Not here yet: searching itself, routes, the link to an aggregator, and a server that starts it.
//!
//! Events: none.

pub mod error;
pub mod model;
pub mod repo;
