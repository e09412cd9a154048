//! Errors of the file manager, with the kind and the code that each has for the caller.

use qm_db::DbError;
use qm_jobs::JobsError;
use qm_kernel::ErrorKind;
use qm_platform::ActingError;
use qm_web::ApiError;

use qm_confined::FsError;

#[derive(Debug, thiserror::Error)]
pub enum FilesError {
    #[error(transparent)]
    Fs(#[from] FsError),
    /// Refused Default Root Path; holds the reason.
    #[error("{0}")]
    Root(String),
    #[error("A path is required")]
    NoPath,
    /// The item to delete does not exist.
    #[error("Item not found")]
    NoSuchItem,
    #[error("Cannot preview a directory")]
    PreviewsDirectory,
    #[error("Cannot download a directory")]
    DownloadsDirectory,
    #[error("Cannot stream a directory")]
    StreamsDirectory,
    #[error("Invalid or expired media ticket")]
    BadTicket,
    #[error("Ticket does not authorise this path")]
    OtherPath,
    /// The path's file is not the one it had when the ticket was issued.
    #[error("Ticket does not authorise this file: another one has its place now; ask for a new ticket")]
    OtherFile,
    /// The permission of a ticket's user could not be looked up; holds the reason, for the log.
    #[error("Whether the ticket's user may still see files is not known: try again later")]
    HolderUnknown(String),
    #[error("Missing permission(s): {0}")]
    MissingPermission(&'static str),
    #[error("Stopping the source torrent requires torrents.delete")]
    MayNotStopTorrent,
    #[error("Deleting the source payload requires torrents.delete_data")]
    MayNotDeletePayload,
    /// Other torrents use the data of those to be deleted; holds the message that names them.
    #[error("{0}")]
    SharedData(String),
    #[error("destination is required for {0}")]
    NoDestination(&'static str),
    /// Destination of a conflict report or of a resolution.
    #[error("Destination is not a directory")]
    DestinationNoDirectory,
    #[error("targetPath is required to replace")]
    NoTarget,
    #[error("targetPath is not a file of the destination")]
    StrayTarget,
    #[error("No free name is left for {0}")]
    NoFreeName(String),
    #[error("Cleanup target must be a directory")]
    CleansNoDirectory,
    #[error("The path is not inside the folder to clean up")]
    OutsideCleanup,
    #[error("{0} holds too many entries to look through: choose a folder below it")]
    TooLarge(String),
    #[error("Trash item not found")]
    NoSuchTrashItem,
    #[error("The root this item was deleted from is no longer a root")]
    RootGone,
    #[error("The trash of {0} is not there: check that its disk is mounted")]
    TrashAbsent(String),
    #[error("The item's original place is outside its root")]
    OriginalOutside,
    #[error("An item already exists at the original location")]
    OriginalTaken,
    #[error("Operation not found")]
    NoSuchOperation,
    #[error("Too many file operations are running: try again later")]
    TooManyOperations,
    /// The caller's token allows it, but they no longer may.
    #[error(transparent)]
    Acting(#[from] ActingError),
    /// An operation could not be stored, or found.
    #[error(transparent)]
    Job(#[from] JobsError),
    #[error(transparent)]
    Database(#[from] DbError),
}

impl FilesError {
    fn kind(&self) -> ErrorKind {
        match self {
            FilesError::Fs(error) => error.kind(),
            FilesError::Root(_)
            | FilesError::NoPath
            | FilesError::PreviewsDirectory
            | FilesError::DownloadsDirectory
            | FilesError::StreamsDirectory
            | FilesError::NoDestination(_)
            | FilesError::DestinationNoDirectory
            | FilesError::NoTarget
            | FilesError::StrayTarget
            | FilesError::CleansNoDirectory
            | FilesError::OutsideCleanup
            | FilesError::TooLarge(_)
            | FilesError::RootGone
            | FilesError::OriginalOutside => ErrorKind::BadRequest,
            FilesError::BadTicket => ErrorKind::Unauthorized,
            FilesError::OtherPath
            | FilesError::OtherFile
            | FilesError::MissingPermission(_)
            | FilesError::MayNotStopTorrent
            | FilesError::MayNotDeletePayload => ErrorKind::Forbidden,
            FilesError::NoSuchItem | FilesError::NoSuchTrashItem | FilesError::NoSuchOperation => {
                ErrorKind::NotFound
            }
            FilesError::NoFreeName(_)
            | FilesError::OriginalTaken
            | FilesError::SharedData(_)
            | FilesError::TrashAbsent(_) => ErrorKind::Conflict,
            FilesError::TooManyOperations | FilesError::HolderUnknown(_) => ErrorKind::Unavailable,
            FilesError::Acting(error) => error.kind(),
            FilesError::Job(error) => error.kind(),
            FilesError::Database(error) => error.kind(),
        }
    }

    /// Stable value of `code` in the answer; it never changes.
    pub fn code(&self) -> &'static str {
        match self {
            FilesError::Fs(error) => error.code(),
            FilesError::Root(_) => "bad_request.root",
            FilesError::NoPath => "bad_request.path",
            FilesError::PreviewsDirectory | FilesError::DownloadsDirectory | FilesError::StreamsDirectory => {
                "bad_request.is_directory"
            }
            FilesError::NoDestination(_) => "bad_request.no_destination",
            FilesError::DestinationNoDirectory | FilesError::CleansNoDirectory => {
                "bad_request.not_a_directory"
            }
            FilesError::NoTarget => "bad_request.no_target",
            FilesError::StrayTarget => "bad_request.stray_target",
            FilesError::OutsideCleanup => "bad_request.outside_cleanup",
            FilesError::TooLarge(_) => "bad_request.too_large",
            FilesError::RootGone => "bad_request.root_gone",
            FilesError::OriginalOutside => "bad_request.original_outside",
            FilesError::BadTicket => "unauthorized.ticket",
            FilesError::OtherPath => "forbidden.ticket_path",
            FilesError::OtherFile => "forbidden.ticket_file",
            FilesError::MissingPermission(_)
            | FilesError::MayNotStopTorrent
            | FilesError::MayNotDeletePayload => "forbidden.permission",
            FilesError::NoSuchItem => "not_found.item",
            FilesError::NoSuchTrashItem => "not_found.trash_item",
            FilesError::NoSuchOperation => "not_found.operation",
            FilesError::NoFreeName(_) => "conflict.no_free_name",
            FilesError::OriginalTaken => "conflict.exists",
            FilesError::SharedData(_) => "conflict.shared_data",
            FilesError::TrashAbsent(_) => "conflict.trash_absent",
            FilesError::TooManyOperations => "unavailable.operations",
            FilesError::HolderUnknown(_) => "unavailable.holder",
            FilesError::Acting(error) => error.code(),
            FilesError::Job(error) => error.code(),
            FilesError::Database(error) => error.kind().code(),
        }
    }

    /// Text for an answer, an audit row or a message; an internal error shows no details.
    pub fn public(&self) -> String {
        match self.kind() {
            ErrorKind::Internal => "Internal server error".to_owned(),
            _ => self.to_string(),
        }
    }
}

impl From<FilesError> for ApiError {
    fn from(error: FilesError) -> Self {
        ApiError::new(error.kind(), error.to_string())
            .with_code(error.code())
            .with_source(error)
    }
}
