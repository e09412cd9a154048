//! The tables of this area.

pub mod candidates;
pub mod evaluations;
pub mod feeds;
pub mod grabs;
pub mod history;
pub mod holds;
pub mod rules;
pub mod templates;

use serde::Serialize;
use serde::de::DeserializeOwned;

/// Parses stored JSON; damaged JSON becomes the default.
fn parsed<T: DeserializeOwned + Default>(text: &str) -> T {
    serde_json::from_str(text).unwrap_or_default()
}

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

/// Replaces NUL, which PostgreSQL's TEXT cannot hold.
fn clean(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}
