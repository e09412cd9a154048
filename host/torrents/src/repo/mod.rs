//! The tables of this area: `torrent_engines`, `torrent_snapshots`, `transfer_ledger`, `torrent_archive`, `torrent_intake`,
//! `torrent_categories`, `torrent_tags`, `torrent_moves`, `torrent_removals`.

pub mod engines;
pub mod intake;
pub mod ledger;
pub mod moves;
pub mod removals;
pub mod retire;
pub mod sealed;
pub mod search;
pub mod snapshots;
pub mod taxonomy;
