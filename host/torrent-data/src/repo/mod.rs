//! The tables of orders that take data: `torrent_moves`, `torrent_removals`; and the directories of categories.

pub mod categories;
pub mod moves;
pub mod removals;
