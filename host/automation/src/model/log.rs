//! What a rule's runs told.

use qm_kernel::Timestamp;
use serde_json::{Map, Value};

/// A line of a rule's log. Failures of the same kind, of one rule and torrent, one after the other, are one line.
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
    /// The context as people see it: with the number of attempts, and when the last one was, where there were several.
    pub fn shown(mut self) -> Self {
        if self.attempts > 1 {
            self.context.insert("attempts".to_owned(), self.attempts.into());
            self.context
                .insert("lastAt".to_owned(), self.last_at.to_string().into());
        }
        self
    }
}

/// Characters of a message.
const MAX_MESSAGE: usize = 2000;

/// A message as it is stored: bounded, and without what no database keeps.
pub fn message(text: &str) -> String {
    let mut kept: String = text.chars().take(MAX_MESSAGE).collect();
    if kept.len() < text.len() {
        kept.push('…');
    }
    kept.replace('\0', "\u{fffd}")
}
