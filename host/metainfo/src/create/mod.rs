//! Creation of `.torrent` files, v1 (BEP 3) and hybrid (BEP 52 with the padding of BEP 47), from files whose bytes somebody
//! else reads.
//!
//! A [`Plan`] is made of names and sizes alone. It judges them, chooses the size of a piece, and refuses what no client could
//! use before a byte is read. A [`Hasher`] takes the bytes of the files in the order of [`Plan::files`], and gives the file.
//! The same files and options give the same bytes: order and spelling never depend on the disk, and the date is the
//! caller's.
//!
//! Empty files are listed and have no hash; content of 0 bytes is refused, as libtorrent does. Attributes of files
//! (executable, hidden, links) are not written.
//! Bounds: [`MAX_FILES`] files, [`MAX_TORRENT_BYTES`] for the finished file, which holds 20 bytes
//! a piece and 32 more in a hybrid: a hasher keeps these and a few hundred bytes, however large the files are.

mod hasher;
mod merkle;
mod names;
mod options;
mod plan;
mod write;

pub use hasher::{Created, Hasher};
pub use names::MAX_LEVELS;
pub use options::{Format, MAX_ADDRESSES, Options};
pub use plan::{MAX_FILES, Plan, PlannedFile};

use crate::{MAX_TORRENT_BYTES, MetainfoError};

/// The smallest piece: one block of the protocol.
pub const MIN_PIECE_BYTES: u64 = 16 * 1024;
/// The largest piece that clients of every generation accept.
pub const MAX_PIECE_BYTES: u64 = 64 * 1024 * 1024;

/// Reason why no torrent can be made. Each message is a sentence for the person who asked, and quotes no address: those of
/// trackers contain secrets.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CreateError {
    /// A name that clients refuse, or would write in another way.
    #[error("The name of {path} {fault}: rename it, then try again")]
    Name { path: String, fault: &'static str },
    #[error("{0} lies deeper than {MAX_LEVELS} folders: move it up, then try again")]
    TooDeep(String),
    /// The same path, or one that differs in the case of letters only.
    #[error("{first} and {second} are one name to torrent clients, which ignore case: rename one of them")]
    Clash { first: String, second: String },
    #[error(
        "{0} has the name that padding of hybrid torrents uses: rename it, or create a torrent of version 1"
    )]
    Padding(String),
    #[error("There is nothing to share: all files are empty")]
    Empty,
    #[error("There are more than {MAX_FILES} files: share a part of them")]
    TooManyFiles,
    #[error("The files are larger than 2^63 bytes in all")]
    TooMuch,
    #[error("pieceSize: {0} is no power of two from 16384 (16 KiB) to 67108864 (64 MiB)")]
    PieceSize(u64),
    /// Bytes of the finished file, at least.
    #[error(
        "The .torrent file would have {0} bytes, the limit is {MAX_TORRENT_BYTES}: choose larger pieces, or fewer files"
    )]
    TooLarge(u64),
    /// Bytes of padding and of content.
    #[error(
        "A hybrid torrent of these files would contain {padding} bytes of padding for {content} bytes of content: choose \
         smaller pieces, or version 1"
    )]
    TooMuchPadding { padding: u64, content: u64 },
    /// An option, by its name in the API, and its fault.
    #[error("{option}: {fault}")]
    Option { option: String, fault: String },
    /// Bytes given to the hasher beyond those of the plan, or fewer than it has.
    #[error("The files have {expected} bytes in all, and {given} were read: they were changed meanwhile")]
    Length { expected: u64, given: u64 },
    #[error("The torrent was made but cannot be read: {0}")]
    Unreadable(#[from] MetainfoError),
}

#[cfg(test)]
mod tests;
