//! Reasons why a torrent was not made.

use qm_confined::FsError;
use qm_lanes::LaneError;
use qm_metainfo::create::CreateError;

/// A torrent that was not made. Paths in messages are those of the API, or relative to the torrent's folder.
#[derive(Debug, thiserror::Error)]
pub enum MakeError {
    #[error("{0} is a symbolic link: remove it, or create a torrent of what it leads to")]
    Link(String),
    /// A FIFO, a socket or a device.
    #[error("{0} is neither a file nor a folder: move it elsewhere, then try again")]
    Special(String),
    /// The path as far as it is text.
    #[error("The name of {0} is not UTF-8, which torrents demand: rename it, then try again")]
    NotUtf8(String),
    #[error("{0} was changed while it was read: wait until nothing writes there, then try again")]
    Changed(String),
    #[error("There are more than {0} folders below {1}: create a torrent of a part of them")]
    TooManyFolders(usize, String),
    #[error("Cancelled")]
    Cancelled,
    #[error(transparent)]
    Disk(#[from] FsError),
    #[error(transparent)]
    Torrent(#[from] CreateError),
    #[error(transparent)]
    Lane(#[from] LaneError),
}
