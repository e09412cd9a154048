//! The part of the area that needs no database, client or socket: pure types and rules, each with its tests.

pub mod activity;
pub mod answers;
pub mod edges;
pub mod engine;
pub mod intake;
pub mod ledger;
pub mod limits;
pub mod names;
pub mod paths;
pub mod places;
pub mod query;
pub mod stored;
pub mod unshared;
pub mod userinfo;
