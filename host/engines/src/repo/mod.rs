//! The tables of engines: `torrent_engines`, `torrent_snapshots`, `transfer_ledger`, `torrent_archive`, `torrent_intake`,
//! `torrent_departures`. Of `torrent_moves` only what stands in the way of changing an engine is read here; its rows are those of `qm_torrent_data`.

pub mod departures;
pub mod engines;
pub mod intake;
pub mod ledger;
pub mod moves;
pub mod retire;
pub mod sealed;
pub mod snapshots;
