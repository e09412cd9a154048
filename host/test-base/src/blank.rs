//! Torrents that nothing has happened to, told apart by their numbers alone; the data of all of them is at one place.

use std::sync::Arc;

use qm_ports::engine::Torrent;

use crate::engine::resting;

/// The info-hash that is this number.
pub fn hash(number: u8) -> Arc<str> {
    format!("{number:040x}").into()
}

/// A torrent with this number in its hash and its name.
pub fn torrent(number: u8) -> Torrent {
    resting(&hash(number), format!("torrent {number}"))
}
