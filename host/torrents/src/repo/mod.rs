//! The tables of this area: `torrent_engines`, `torrent_snapshots`, `transfer_ledger`, `torrent_archive`.

pub mod engines;
pub mod ledger;
pub mod snapshots;
