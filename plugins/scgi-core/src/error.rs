//! Why an operation failed, and what rTorrent's faults mean.

/// Every case is an ordinary answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// No connection: refused, unknown name, closed before it had answered.
    Unreachable(String),
    /// Connected, then silent.
    Timeout(String),
    /// The web server in front of rTorrent refuses the credentials.
    Auth(String),
    /// The endpoint is not what the operator granted.
    InvalidConfig(String),
    NotFound(Thing),
    /// A sentence for the user.
    Unsupported(String),
    /// rTorrent understood and refused.
    Rejected(String),
    /// An answer that is not XML-RPC, is cut short or too large.
    Protocol(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Thing {
    Torrent,
    File,
    Tracker,
}

impl Thing {
    pub const fn as_str(self) -> &'static str {
        match self {
            Thing::Torrent => "torrent",
            Thing::File => "file",
            Thing::Tracker => "tracker",
        }
    }
}

impl Error {
    /// Whether the connection failed, as opposed to one request being refused: the next request would fail as well.
    pub const fn is_transport(&self) -> bool {
        matches!(
            self,
            Error::Unreachable(_)
                | Error::Timeout(_)
                | Error::Auth(_)
                | Error::InvalidConfig(_)
                | Error::Protocol(_)
        )
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
            Error::NotFound(thing) => write!(f, "no such {}", thing.as_str()),
        }
    }
}

impl std::error::Error for Error {}

/// An XML-RPC fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    pub code: i64,
    pub text: String,
}

/// "Method 'x' not defined".
const NO_SUCH_METHOD: i64 = -506;

impl Fault {
    /// The hash, or the index behind it, names nothing. Old and new releases word it differently.
    fn is_missing_torrent(&self) -> bool {
        let text = self.text.to_ascii_lowercase();
        text.contains("info-hash") || text.contains("unsupported target type")
    }

    pub fn is_missing_index(&self) -> bool {
        self.text.to_ascii_lowercase().contains("invalid index")
    }

    pub fn is_missing_method(&self) -> bool {
        self.code == NO_SUCH_METHOD
    }

    /// The fault as an error, where an index means a `thing`.
    pub fn about(self, thing: Thing) -> Error {
        if self.is_missing_index() {
            Error::NotFound(thing)
        } else {
            self.into()
        }
    }
}

impl From<Fault> for Error {
    fn from(fault: Fault) -> Self {
        if fault.is_missing_torrent() {
            Error::NotFound(Thing::Torrent)
        } else if fault.is_missing_method() {
            Error::Unsupported(format!(
                "This version of rTorrent cannot do that ({})",
                fault.text
            ))
        } else {
            Error::Rejected(format!("XML-RPC fault {}: {}", fault.code, fault.text))
        }
    }
}
