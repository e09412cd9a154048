//! Parts shared by the tests of several areas: a clock that the test sets, callers and their tokens, events that were
//! published, a torrent client in memory, an indexer and an aggregator on loopback, a client of routes.
//!
//! A dependency of tests alone (and of the `testing` features that measurements use). It knows no area and no database,
//! so the unit tests of every crate above the base crates may use it. Tests of a whole server use `qm_testkit`.

pub mod aggregator;
pub mod blank;
pub mod clock;
pub mod engine;
pub mod events;
pub mod indexer;
pub mod people;
pub mod routes;

pub use clock::{Hands, START_MS, frozen};
pub use engine::{FakeEngine, FakeKinds};
pub use events::Heard;
pub use indexer::FakeIndexer;
pub use people::{NoTokens, RoleTokens, client, principal};
pub use routes::{Answer, Visitor};
