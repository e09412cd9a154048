//! The trash of the file manager, and places of files, as an area sees them that puts files away and does not touch them
//! itself.

use async_trait::async_trait;
use qm_kernel::{Caller, ErrorKind, Timestamp};
use serde::{Deserialize, Serialize};

use crate::TorrentPayload;

/// State of a file, by which it is recognised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileState {
    pub device: u64,
    pub inode: u64,
    /// Bytes.
    pub size: u64,
    /// Modification: seconds since 1970 and nanoseconds.
    pub modified: (i64, u32),
}

/// The result of a look at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sight {
    File {
        state: FileState,
        /// Names that the file has on its file system.
        links: u64,
        /// Path without links above the file: two equal ones are one name of one file.
        real: String,
    },
    /// Nothing is there.
    Missing,
    /// Outside of the storage roots, or a place that may not be changed; holds the reason.
    Refused(String),
}

/// A file and the torrents whose data it belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Looked {
    pub sight: Sight,
    pub torrents: Vec<TorrentPayload>,
}

/// A file that is in the trash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InTrash {
    pub id: String,
    pub name: String,
    /// Bytes.
    pub size: u64,
    pub deleted_at: Timestamp,
    /// `None`: it stays.
    pub expires_at: Option<Timestamp>,
}

/// Reason for which a file was not put into the trash, or did not get its name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TrashError {
    #[error("the file no longer exists")]
    Missing,
    #[error("the file is not the one that was looked at: it was changed or replaced")]
    Changed,
    #[error("another file has that name")]
    Taken,
    /// A sentence that names the thing and the way out.
    #[error("{message}")]
    Failed { kind: ErrorKind, message: String },
}

/// Offered by the file manager. Paths are absolute, as people are shown them, and may be anywhere below the storage roots.
#[async_trait]
pub trait FileTrash: Send + Sync {
    /// Looks at files, one answer for each path.
    async fn look(&self, paths: Vec<String>) -> Result<Vec<Looked>, TrashError>;

    /// Puts a file into the trash if it is still in this state; audited and published as a delete by `caller`. Returns the
    /// id of its record there.
    async fn put(&self, path: &str, state: FileState, caller: Caller<'_>) -> Result<String, TrashError>;

    /// Gives a file another name up to its extension, and with it the files beside it that are named after it: those that
    /// go on with `.` or `-`. Nothing is replaced: a file beside it whose new name is taken keeps its own. Audited and
    /// published as renames by `caller`. Returns old and new paths, those of the file itself first.
    async fn rename(
        &self,
        path: &str,
        stem: &str,
        caller: Caller<'_>,
    ) -> Result<Vec<(String, String)>, TrashError>;

    /// Moves a file to another path if it is still in this state; missing folders above it are made, and nothing is replaced.
    /// A last name that is the file's own, as people are shown it, is kept by its bytes. Audited and published as a move by
    /// `caller`. At every moment the file is whole at its old path or at its new one; after an error it is at its old one.
    async fn move_file(
        &self,
        path: &str,
        state: FileState,
        to: &str,
        caller: Caller<'_>,
    ) -> Result<(), TrashError>;

    /// Puts a folder into the trash with all that is in it, if it is still the one with this device and inode; audited and
    /// published as a delete by `caller`. Returns the id of its record there.
    async fn put_folder(
        &self,
        path: &str,
        identity: (u64, u64),
        caller: Caller<'_>,
    ) -> Result<String, TrashError>;

    /// Those of the records whose files are still in the trash and have not expired.
    async fn list(&self, ids: &[String]) -> Result<Vec<InTrash>, TrashError>;
}
