//! Why an indexer brought nothing, for people and for programs.

use qm_ports::indexer::IndexerError;

/// Bytes of a message that is kept.
const MAX_MESSAGE: usize = 500;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// A word that never changes.
    pub code: &'static str,
    /// One line, without the indexer's name.
    pub message: String,
    /// Seconds after which it wants to be asked again, when it says so.
    pub retry_after: Option<u32>,
    /// The indexer failed, and not this house: it rests after several in a row.
    pub counts: bool,
}

impl Failure {
    /// It was not asked.
    pub fn unasked(code: &'static str, message: String) -> Self {
        Self {
            code,
            message,
            retry_after: None,
            counts: false,
        }
    }
}

impl From<IndexerError> for Failure {
    fn from(error: IndexerError) -> Self {
        let (code, counts) = match &error {
            IndexerError::Unreachable(_) => ("indexer.unreachable", true),
            IndexerError::Timeout(_) => ("indexer.timeout", true),
            IndexerError::Auth(_) => ("indexer.auth", true),
            IndexerError::Throttled { .. } => ("indexer.throttled", true),
            IndexerError::LoginPage(_) => ("indexer.login_page", true),
            IndexerError::Captcha(_) => ("indexer.captcha", true),
            IndexerError::Unparsable(_) => ("indexer.unparsable", true),
            IndexerError::Api { .. } => ("indexer.api_error", true),
            IndexerError::Status { .. } => ("indexer.http_status", true),
            IndexerError::TooLarge(_) => ("indexer.too_large", true),
            IndexerError::Redirected(_) => ("indexer.redirected", true),
            IndexerError::InvalidConfig(_) => ("indexer.invalid_config", false),
            IndexerError::Unsupported(_) => ("indexer.unsupported", false),
            IndexerError::Denied(_) => ("indexer.denied", false),
            IndexerError::Busy => ("indexer.busy", false),
            IndexerError::Missing(_) => ("indexer.plugin_missing", false),
            IndexerError::Plugin(_) => ("indexer.plugin_failed", true),
        };
        let retry_after = match &error {
            IndexerError::Throttled { seconds, .. } => *seconds,
            _ => None,
        };
        Self {
            code,
            message: one_line(&error.to_string()),
            retry_after,
            counts,
        }
    }
}

/// As it is kept and shown: one line, no longer than fits.
fn one_line(text: &str) -> String {
    let line: String = text
        .chars()
        .map(|letter| if letter.is_control() { ' ' } else { letter })
        .collect();
    line[..line.floor_char_boundary(MAX_MESSAGE)].to_owned()
}
