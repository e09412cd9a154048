//! The tables that this crate alone writes: `torrent_categories`, `torrent_tags`; and the search in `torrent_snapshots`.

pub mod search;
pub mod taxonomy;
