//! Creation of a torrent from a file or folder in the roots. The rules of the format are those of
//! [`qm_metainfo::create`]; this crate finds the files and reads them.
//!
//! [`make_torrent`] takes a path that `qm_confined` has checked, lists what lies below it, and hashes it in a lane of its
//! own. Everything is opened through handles below that path and by one name at a time, so nothing leads elsewhere.
//!
//! * The torrent has the name that the file or folder really has on the disk: a client finds it under that name in the
//!   folder above ([`ConfinedPath::absolute`](qm_confined::ConfinedPath::absolute)).
//! * All regular files are taken, also hidden and empty ones. Folders without files are left out, and so are the trash and
//!   everything else that belongs to the server. A link, a FIFO, a socket or a device is refused by name, because a torrent
//!   without it would not be what was asked for.
//! * A file that changes while it is read, or between the listing and its turn, ends the work with an error that names it.
//! * Nothing is written to the disk, whether the work ends well, badly or early.
//!
//! Bounds: [`qm_metainfo::create::MAX_FILES`] files and as many folders,
//! [`qm_metainfo::create::MAX_LEVELS`] folders deep, which is also the number of handles;
//! [`qm_metainfo::MAX_TORRENT_BYTES`] for all paths together and for the finished file; [`BLOCK_BYTES`] of content in
//! memory.

mod error;
mod lanes;
mod list;
mod make;

pub use error::MakeError;
pub use make::{BLOCK_BYTES, Progress, make_torrent};

#[cfg(test)]
mod tests;
