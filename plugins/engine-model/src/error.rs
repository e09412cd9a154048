//! Errors of a call: the cases of the plugin contract's `plugin-error`.

/// Every case is an ordinary answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// No connection: refused, unknown name, closed before it had answered.
    Unreachable(String),
    /// Connected, then silent.
    Timeout(String),
    /// The client, or a web server in front of it, refuses the credentials.
    Auth(String),
    /// The endpoint is not the one that the operator granted.
    InvalidConfig(String),
    NotFound(Subject),
    /// A sentence for the user.
    Unsupported(String),
    /// The client understood and refused.
    Rejected(String),
    /// An answer that is not in the client's protocol, is cut short or too large.
    Protocol(String),
}

/// Object that does not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    Torrent,
    File,
    Tracker,
    Category,
}

impl Subject {
    pub const fn as_str(self) -> &'static str {
        match self {
            Subject::Torrent => "torrent",
            Subject::File => "file",
            Subject::Tracker => "tracker",
            Subject::Category => "category",
        }
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Error::Unreachable(text)
            | Error::Timeout(text)
            | Error::Auth(text)
            | Error::InvalidConfig(text)
            | Error::Unsupported(text)
            | Error::Rejected(text)
            | Error::Protocol(text) => f.write_str(text),
            Error::NotFound(subject) => write!(f, "no such {}", subject.as_str()),
        }
    }
}

impl std::error::Error for Error {}
