//! Errors of this area, and their meaning for the caller.

use std::sync::Arc;

use qm_engines::TorrentsError;
use qm_engines::model::abilities::Ability;
use qm_jobs::JobsError;
use qm_kernel::ErrorKind;
use qm_platform::ActingError;
use qm_ports::action::ActionError;
use qm_ports::carry::CarryError;
use qm_ports::engine::EngineError;
use qm_web::ApiError;

use crate::model::MOST;
use crate::model::params::Fault;
use crate::model::results::Failure;

#[derive(Debug, thiserror::Error)]
pub enum CommandsError {
    #[error(transparent)]
    Torrents(TorrentsError),
    /// A value of the request that is none which is possible.
    #[error("{0}")]
    Value(String),
    /// The name of a file or folder.
    #[error("{0}")]
    Name(String),
    /// Names of torrents.
    #[error(
        "Other torrents use the data too: {0}. Its files keep their names: remove those torrents first, and keep their data"
    )]
    SharedNames(String),
    /// A path below the torrent's directory.
    #[error(
        "There is something at {0:?} already, which would be lost: choose another name, or move that away first"
    )]
    NameTaken(String),
    #[error("The torrent has no folder {0:?}: `GET /api/torrents/{{hash}}/files` has the paths of its files")]
    NoSuchFolder(String),
    #[error(
        "{MOST} torrents at most are changed by one request, and these are {0}: ask for fewer, an engine at a time for one"
    )]
    TooManyTorrents(usize),
    #[error(
        "{0} orders about many torrents of yours are being carried out: wait until one is done, or cancel its job"
    )]
    TooManyOfYours(usize),
    #[error("Too many orders about many torrents are being carried out: try again in a moment")]
    TooManyBulks,
    #[error("There is no such order about many torrents: it is kept for a while, until the server restarts")]
    NoSuchBulk,
    #[error("It was cancelled before its turn came")]
    Cancelled,
    #[error("Missing permission: {0}")]
    MissingPermission(&'static str),
    /// More bytes than a .torrent file may have.
    #[error("The .torrent file that {0} handed out is too large")]
    ExportTooLarge(String),
    #[error(transparent)]
    Acting(#[from] ActingError),
    #[error(transparent)]
    Carry(#[from] CarryError),
    #[error(transparent)]
    Hands(#[from] ActionError),
    #[error(transparent)]
    Jobs(#[from] JobsError),
}

impl From<TorrentsError> for CommandsError {
    fn from(error: TorrentsError) -> Self {
        CommandsError::Torrents(error)
    }
}

impl From<Fault> for CommandsError {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Value(text) => CommandsError::Value(text),
            Fault::Name(text) => CommandsError::Name(text),
        }
    }
}

impl CommandsError {
    /// Error of `engine` at a command that needs `ability`.
    pub fn of_engine(engine: &str, ability: Option<&'static Ability>, error: EngineError) -> Self {
        CommandsError::Torrents(match (error, ability) {
            // The kind can, and this version of the client cannot.
            (EngineError::Unsupported(_), Some(ability)) => TorrentsError::Lacks {
                engine: engine.to_owned(),
                ability,
            },
            (error, _) => TorrentsError::blame_engine(engine)(error),
        })
    }

    pub fn kind(&self) -> ErrorKind {
        match self {
            CommandsError::Torrents(error) => error.kind(),
            CommandsError::Value(_) | CommandsError::Name(_) | CommandsError::TooManyTorrents(_) => {
                ErrorKind::BadRequest
            }
            CommandsError::NoSuchFolder(_) | CommandsError::NoSuchBulk => ErrorKind::NotFound,
            CommandsError::SharedNames(_)
            | CommandsError::NameTaken(_)
            | CommandsError::TooManyOfYours(_)
            | CommandsError::Cancelled => ErrorKind::Conflict,
            CommandsError::TooManyBulks => ErrorKind::Unavailable,
            CommandsError::MissingPermission(_) => ErrorKind::Forbidden,
            CommandsError::ExportTooLarge(_) => ErrorKind::Upstream,
            CommandsError::Acting(error) => error.kind(),
            CommandsError::Carry(error) => error.kind,
            CommandsError::Hands(error) => error.kind(),
            CommandsError::Jobs(error) => error.kind(),
        }
    }

    /// Value of `code` in the answer; never changes.
    pub fn code(&self) -> &'static str {
        match self {
            CommandsError::Torrents(error) => error.code(),
            CommandsError::Value(_) => "bad_request.rules",
            CommandsError::Name(_) => "bad_request.file_name",
            CommandsError::SharedNames(_) => "conflict.shared_data",
            CommandsError::NameTaken(_) => "conflict.exists",
            CommandsError::NoSuchFolder(_) => "not_found.folder",
            CommandsError::TooManyTorrents(_) => "bad_request.too_many_torrents",
            CommandsError::TooManyOfYours(_) => "conflict.too_many_bulks",
            CommandsError::TooManyBulks => "unavailable.bulks",
            CommandsError::NoSuchBulk => "not_found.bulk",
            CommandsError::Cancelled => "conflict.cancelled",
            CommandsError::MissingPermission(_) => "forbidden.permission",
            CommandsError::ExportTooLarge(_) => "upstream.engine_protocol",
            CommandsError::Acting(error) => error.code(),
            CommandsError::Carry(error) => error.code,
            CommandsError::Hands(error) => error.kind().code(),
            CommandsError::Jobs(error) => error.code(),
        }
    }

    /// The error as a result of one of many torrents.
    pub fn as_failure(&self) -> Failure {
        Failure {
            code: self.code(),
            text: Arc::from(self.to_string()),
        }
    }

    /// True if the engine itself is gone, so that the rest need not be tried.
    pub const fn is_transport(&self) -> bool {
        matches!(
            self,
            CommandsError::Torrents(TorrentsError::Engine { source, .. }) if source.is_transport()
        )
    }
}

impl From<CommandsError> for ApiError {
    fn from(error: CommandsError) -> Self {
        match error {
            CommandsError::Torrents(error) => error.into(),
            CommandsError::Value(text) => ApiError::validation(vec![text]),
            error => ApiError::new(error.kind(), error.to_string())
                .with_code(error.code())
                .with_source(error),
        }
    }
}
