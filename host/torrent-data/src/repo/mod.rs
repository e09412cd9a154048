//! The tables of orders that take data: `torrent_moves`, `torrent_removals`.

pub mod moves;
pub mod removals;
