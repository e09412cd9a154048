//! Errors of file system operations. One enum for this layer; every message names the thing and, where there is one, the
//! way out.

use qm_kernel::ErrorKind;
use rustix::io::Errno;

/// A refused or failed operation. Paths in messages are those of the API: relative to the root in effect.
#[derive(Debug, thiserror::Error)]
pub enum FsError {
    /// NUL, or a malformed percent-encoded raw path.
    #[error("Invalid path")]
    InvalidPath,
    #[error("Invalid file name")]
    InvalidFileName,
    #[error("Invalid folder name")]
    InvalidFolderName,
    #[error("No file manager root is available: check FILE_MANAGER_ROOTS")]
    NoRoot,
    #[error("Path is outside the allowed roots")]
    Outside,
    /// A symbolic link leads out of the roots.
    #[error("Resolved path escapes the allowed roots")]
    Escapes,
    /// A root, an ancestor of one, a system directory, the trash directory.
    #[error("{0} is protected: it cannot be deleted, renamed or moved")]
    Protected(String),
    #[error("{0} is a system directory")]
    SystemDirectory(String),
    /// A trash directory or one of our temporaries, or something in it.
    #[error("{0} is reserved for the server: choose another place")]
    Reserved(String),
    #[error("Item is already in the trash")]
    InTrash,
    #[error("{0} does not exist")]
    NotFound(String),
    #[error("A file or folder with that name already exists")]
    Exists,
    #[error("Destination already exists")]
    DestinationExists,
    #[error("A folder cannot replace a file, nor a file a folder: {0}")]
    MixedKinds(String),
    #[error("{0} is a folder that is not empty: empty or delete it first")]
    NotEmpty(String),
    #[error("Cannot move or copy an item into itself")]
    IntoItself,
    /// Overwriting would delete the source together with the entry that it replaces.
    #[error("The destination contains the item itself: choose another folder")]
    ContainsSource,
    #[error("Not a directory")]
    NotADirectory(String),
    #[error("{0} is a folder")]
    IsADirectory(String),
    /// A FIFO, a socket or a device: its content is never opened.
    #[error(
        "{0} is neither a file nor a folder: it can be renamed, moved within its file system or deleted, not read or copied"
    )]
    Special(String),
    #[error("Too many symbolic links in {0}")]
    TooManyLinks(String),
    #[error("The name is too long for the file system: {0}")]
    NameTooLong(String),
    #[error("Too many folders would have to be created for {0}: create some of them first")]
    TooManyMissing(String),
    #[error("Permission denied: {0} (the server's user may not do this)")]
    Denied(String),
    #[error("The file system is read-only: {0}")]
    ReadOnly(String),
    #[error("No space left on the device: free some space, then repeat ({0})")]
    NoSpace(String),
    #[error("The file is larger than the file system allows: {0}")]
    FileTooLarge(String),
    /// A mount point, or a file in use by the system.
    #[error("{0} is in use by the system (a mount point?)")]
    InUse(String),
    /// Another program changed what was being worked on.
    #[error("{0} was changed by another program meanwhile: try again")]
    Changed(String),
    /// The copy of a verified transfer differs from its source, which was kept.
    #[error("The copy of {0} does not match its source: the source was kept; check the disk")]
    Mismatch(String),
    /// A move across file systems: complete but for the removal of the source.
    #[error("{path} was copied, but the original could not be removed: {source}")]
    SourceKept { path: String, source: Box<FsError> },
    /// A link or a file under the trash directory's name.
    #[error(
        "The trash of {0} cannot be used: its `.quartermaster-trash` is not a plain folder; remove it and try again"
    )]
    TrashUnusable(String),
    #[error("Cancelled")]
    Cancelled,
    /// The place of its temporaries could not be noted in the database.
    #[error("The database does not answer, and nothing was changed at {0}: try again later")]
    NotNoted(String),
    /// All workers of this kind are taken: a slow or hung mount.
    #[error("The file system is busy or does not answer: try again later")]
    Busy,
    /// Another server on the database may be active by now.
    #[error("Another server may be active by now, so nothing was changed: try again in some seconds")]
    Standby,
    /// `EIO`: the disk, or what stands for it, cannot do it.
    #[error("The disk reports an error at {0}: nothing was changed there; check the disk, then try again")]
    Disk(String),
    #[error("Input/output error at {path}: {source}")]
    Io { path: String, source: std::io::Error },
}

impl FsError {
    /// Errors of a path that is walked and read, for the document of the answers; `shown` stands for the path.
    pub fn list_for_reading(shown: &str) -> [Self; 14] {
        let path = || shown.to_owned();
        [
            FsError::InvalidPath,
            FsError::NameTooLong(path()),
            FsError::TooManyLinks(path()),
            FsError::NotADirectory(path()),
            FsError::Special(path()),
            FsError::NoRoot,
            FsError::Outside,
            FsError::Escapes,
            FsError::Reserved(path()),
            FsError::Denied(path()),
            FsError::NotFound(path()),
            FsError::Changed(path()),
            FsError::Busy,
            FsError::Disk(path()),
        ]
    }

    /// The error of a system call on `path`.
    pub fn os(errno: Errno, path: impl std::fmt::Display) -> Self {
        let path = path.to_string();
        match errno {
            Errno::NOENT => FsError::NotFound(path),
            Errno::EXIST => FsError::Exists,
            Errno::NOTEMPTY => FsError::NotEmpty(path),
            Errno::NOTDIR => FsError::NotADirectory(path),
            Errno::ISDIR => FsError::IsADirectory(path),
            // A link where none was a moment ago: handles are opened without following.
            Errno::LOOP | Errno::STALE => FsError::Changed(path),
            Errno::NAMETOOLONG => FsError::NameTooLong(path),
            Errno::ACCESS | Errno::PERM => FsError::Denied(path),
            Errno::ROFS => FsError::ReadOnly(path),
            Errno::NOSPC | Errno::DQUOT => FsError::NoSpace(path),
            Errno::FBIG => FsError::FileTooLarge(path),
            Errno::BUSY | Errno::TXTBSY => FsError::InUse(path),
            Errno::IO => FsError::Disk(path),
            Errno::MFILE | Errno::NFILE => FsError::Busy,
            other => FsError::Io {
                path,
                source: other.into(),
            },
        }
    }

    /// The error of a `std` operation on `path`.
    pub fn io(error: std::io::Error, path: impl std::fmt::Display) -> Self {
        match Errno::from_io_error(&error) {
            Some(errno) => FsError::os(errno, path),
            None => FsError::Io {
                path: path.to_string(),
                source: error,
            },
        }
    }

    pub fn kind(&self) -> ErrorKind {
        match self {
            FsError::InvalidPath
            | FsError::InvalidFileName
            | FsError::InvalidFolderName
            | FsError::InTrash
            | FsError::IntoItself
            | FsError::ContainsSource
            | FsError::NotADirectory(_)
            | FsError::IsADirectory(_)
            | FsError::Special(_)
            | FsError::TooManyLinks(_)
            | FsError::NameTooLong(_)
            | FsError::TooManyMissing(_)
            | FsError::NoSpace(_)
            | FsError::FileTooLarge(_) => ErrorKind::BadRequest,
            FsError::NoRoot
            | FsError::Outside
            | FsError::Escapes
            | FsError::Protected(_)
            | FsError::SystemDirectory(_)
            | FsError::Reserved(_)
            | FsError::Denied(_)
            | FsError::ReadOnly(_) => ErrorKind::Forbidden,
            FsError::NotFound(_) => ErrorKind::NotFound,
            FsError::Exists
            | FsError::DestinationExists
            | FsError::MixedKinds(_)
            | FsError::NotEmpty(_)
            | FsError::InUse(_)
            | FsError::Changed(_)
            | FsError::SourceKept { .. }
            | FsError::TrashUnusable(_)
            | FsError::Cancelled => ErrorKind::Conflict,
            FsError::NotNoted(_)
            | FsError::Busy
            | FsError::Standby
            | FsError::Disk(_)
            | FsError::Mismatch(_) => ErrorKind::Unavailable,
            FsError::Io { .. } => ErrorKind::Internal,
        }
    }

    /// Stable value of `code` in an answer; it never changes.
    pub fn code(&self) -> &'static str {
        match self {
            FsError::InvalidPath => "bad_request.path",
            FsError::InvalidFileName => "bad_request.file_name",
            FsError::InvalidFolderName => "bad_request.folder_name",
            FsError::InTrash => "bad_request.in_trash",
            FsError::IntoItself | FsError::ContainsSource => "bad_request.into_itself",
            FsError::NotADirectory(_) => "bad_request.not_a_directory",
            FsError::IsADirectory(_) => "bad_request.is_directory",
            FsError::Special(_) => "bad_request.special_file",
            FsError::TooManyLinks(_) => "bad_request.too_many_links",
            FsError::NameTooLong(_) => "bad_request.name_too_long",
            FsError::TooManyMissing(_) => "bad_request.too_many_missing",
            FsError::NoSpace(_) => "bad_request.no_space",
            FsError::FileTooLarge(_) => "bad_request.file_too_large",
            FsError::NoRoot => "forbidden.no_root",
            FsError::Outside | FsError::Escapes => "forbidden.outside_roots",
            FsError::Protected(_) => "forbidden.protected",
            FsError::SystemDirectory(_) => "forbidden.system_directory",
            FsError::Reserved(_) => "forbidden.reserved",
            FsError::Denied(_) => "forbidden.denied",
            FsError::ReadOnly(_) => "forbidden.read_only",
            FsError::NotFound(_) => "not_found.item",
            FsError::Exists | FsError::DestinationExists => "conflict.exists",
            FsError::MixedKinds(_) => "conflict.mixed_kinds",
            FsError::NotEmpty(_) => "conflict.not_empty",
            FsError::InUse(_) => "conflict.in_use",
            FsError::Changed(_) => "conflict.changed",
            FsError::SourceKept { .. } => "conflict.source_kept",
            FsError::TrashUnusable(_) => "conflict.trash",
            FsError::Cancelled => "conflict.cancelled",
            FsError::NotNoted(_) => "unavailable.database",
            FsError::Busy => "unavailable.file_system",
            FsError::Standby => "unavailable.standby",
            FsError::Disk(_) => "unavailable.disk",
            FsError::Mismatch(_) => "unavailable.mismatch",
            FsError::Io { .. } => ErrorKind::Internal.code(),
        }
    }
}
