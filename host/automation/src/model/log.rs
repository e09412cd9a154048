//! Log of a rule's runs.

use qm_kernel::Timestamp;
use serde_json::{Map, Value};

/// A log line. Consecutive failures of the same rule, torrent and reason share one line.
#[derive(Clone, Debug, PartialEq)]
pub struct LogLine {
    pub id: String,
    pub rule_id: String,
    /// `success` or `failed`
    pub status: String,
    pub context: Map<String, Value>,
    pub message: Option<String>,
    pub attempts: i64,
    pub last_at: Timestamp,
    pub created_at: Timestamp,
}

impl LogLine {
    /// The context for display: with the number of attempts and the time of the last one, if there were
    /// several.
    pub fn shown(mut self) -> Self {
        if self.attempts > 1 {
            self.context.insert("attempts".to_owned(), self.attempts.into());
            self.context
                .insert("lastAt".to_owned(), self.last_at.to_string().into());
        }
        self
    }
}

/// Largest number of characters of a message.
const MAX_MESSAGE: usize = 2000;

/// A message for storage: limited, and without characters that a database refuses.
pub fn message(text: &str) -> String {
    let mut kept: String = text.chars().take(MAX_MESSAGE).collect();
    if kept.len() < text.len() {
        kept.push('…');
    }
    kept.replace('\0', "\u{fffd}")
}
