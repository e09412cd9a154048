//! Torrents as an area of the service, made of several crates: lists, searches and details of torrents, adding them, what
//! users ask of them, categories and tags, and the dashboard.
//!
//! `qm_torrent_lists` has lists in memory, `qm_engines` the clients and the loops that read them, `qm_torrent_data` what is
//! known of data, moves and removals. A crate uses only those of lower tiers; this one makes them, has the routes of all, runs
//! their loops, and offers their ports to other areas. Tests of several crates together are here.
//!
//! Invariants: a list is answered from the last snapshot and never by asking a client; a client hears of no path that was not
//! judged right before, and of no command that takes data but by `qm_torrent_data`.
//!
//! Own state: the merged list of all engines behind one lock, and the turns of those who add or tag, behind another. Nothing
//! is awaited under either; a turn, once taken, may be held while a client is asked.

mod area;
mod dto;
mod lanes;
mod model;
mod repo;
mod routes;
mod service;
#[cfg(test)]
mod testing;

pub use area::AREA;
use routes::routes;
pub use service::Torrents;
use service::TorrentsDeps;
