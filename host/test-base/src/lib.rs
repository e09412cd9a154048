//! What the tests of several areas share: a clock in the test's hands, callers and their tokens, events that were told,
//! a torrent client in memory, an indexer on loopback.
//!
//! A dependency of tests alone (and of the `testing` features that measurements use). It knows no area and no database, so that
//! the unit tests of every crate above the words may use it; what needs a whole server is `qm_testkit`.

pub mod aggregator;
pub mod clock;
pub mod engine;
pub mod events;
pub mod indexer;
pub mod people;

pub use clock::{Hands, START_MS, frozen};
pub use engine::{FakeEngine, FakeKinds};
pub use events::Heard;
pub use indexer::FakeIndexer;
pub use people::{NoTokens, RoleTokens, client, principal};
