//! Torrent clients and their torrents: which engines are configured, what they list, what users ask of them, and what
//! they have transferred.
//!
//! Invariants: a list is answered from the last snapshot and never by asking a client; what an event tells of is in the
//! database before anybody hears it; a torrent is completed once; the transfer ledger neither loses nor doubles a byte
//! over a crash ([`model::ledger`] says which one case it cannot see); only what the operator entered can be dialled.
//! Deliberately absent: retries and back-off. An engine that failed is simply read again 2 s later.
//!
//! Events: `torrent.completed`, `torrent.failed`, `torrent.renewed`, `torrent.rules_due`.

mod area;
mod dto;
mod error;
mod lanes;
mod model;
mod repo;
mod routes;
mod service;
mod settings;
mod sync;
#[cfg(test)]
mod testing;

pub use area::AREA;
pub use dto::torrent::TorrentEntry;
pub use repo::sealed::EngineSecrets;
use routes::routes;
pub use service::Torrents;
use service::TorrentsDeps;
pub use sync::engine::EngineStatus;
pub use sync::publish::{EVENTS, RulesDue, TorrentCompleted, TorrentFailed};
