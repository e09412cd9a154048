//! Errors of an operation, and the meaning of rTorrent's faults.

pub use engine_model::{Error, Subject};

/// True when the connection failed, not just one request: the next request would fail as well.
pub const fn is_transport(error: &Error) -> bool {
    matches!(
        error,
        Error::Unreachable(_)
            | Error::Timeout(_)
            | Error::Auth(_)
            | Error::InvalidConfig(_)
            | Error::Protocol(_)
    )
}

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

    /// "Invalid index." up to 0.9.8, "invalid parameters: index not found" since 0.16.
    pub fn is_missing_index(&self) -> bool {
        let text = self.text.to_ascii_lowercase();
        text.contains("invalid index") || text.contains("index not found")
    }

    pub fn is_missing_method(&self) -> bool {
        self.code == NO_SUCH_METHOD
    }

    /// The fault as an error, where an index means a `subject`.
    pub fn about(self, subject: Subject) -> Error {
        if self.is_missing_index() {
            Error::NotFound(subject)
        } else {
            self.into()
        }
    }
}

impl From<Fault> for Error {
    fn from(fault: Fault) -> Self {
        if fault.is_missing_torrent() {
            Error::NotFound(Subject::Torrent)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_mean_the_same_however_they_are_worded() {
        let fault = |text: &str| Fault {
            code: -503,
            text: text.to_owned(),
        };
        // 0.9.8, then 0.16.
        for text in ["Invalid index.", "invalid parameters: index not found"] {
            let error = fault(text).about(Subject::File);
            assert_eq!(error, Error::NotFound(Subject::File), "{text}");
        }
        for text in [
            "Could not find info-hash.",
            "invalid parameters: info-hash not found",
            "Unsupported target type found.",
        ] {
            let error = fault(text).about(Subject::File);
            assert_eq!(error, Error::NotFound(Subject::Torrent), "{text}");
        }
        let other = Error::from(fault("Bad magnet."));
        assert!(matches!(other, Error::Rejected(_)), "{other:?}");
    }
}
