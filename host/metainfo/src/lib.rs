//! Descriptions of torrents, as `.torrent` files, magnet links and info-hashes give them: identity, name, size and files; and
//! the creation of `.torrent` files.
//!
//! Owns: the bencode reader, the rules of v1, v2 and hybrid torrents, and every spelling of an info-hash. Pure: no disk, no
//! network, no clock; paths in a torrent are judged and never opened. Components of plugins use it too.
//! Bounds: 20 MiB a file, 128 levels, 4,000,000 values, 4 KiB a path; 64 KiB a magnet link. Whatever the file, reading it
//! takes no more memory than four times its size and time in proportion to it. No input makes it panic.

pub mod bencode;
mod contents;
pub mod create;
#[cfg(any(test, feature = "testing"))]
pub mod encode;
pub mod info_hash;
mod layout;
pub mod magnet;
mod torrent;

pub use contents::Contents;
pub use magnet::{Magnet, MagnetError};
pub use torrent::{Metainfo, MetainfoError, trimmed};

/// The largest `.torrent` file anybody may hand us, uploaded or fetched.
pub const MAX_TORRENT_BYTES: usize = 20 * 1024 * 1024;
