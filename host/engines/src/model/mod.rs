//! Types and rules that need no database, client or socket, each with its tests.

pub mod abilities;
pub mod departures;
pub mod edges;
pub mod engine;
pub mod intake;
pub mod ledger;
pub mod mappings;
pub mod names;
pub mod paths;
pub mod silence;
pub mod stored;
pub mod turns;
pub mod unshared;
pub mod userinfo;
