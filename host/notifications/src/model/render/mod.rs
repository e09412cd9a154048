//! Cards and titles of events. What an event says comes from outside (names of torrents, of users, of films): it is cleaned
//! and cut before anything is made of it.
//!
//! Text is American English; times are those of the reader's time zone.

mod builders;
mod playback;
mod text;

use jiff::tz::TimeZone;
use qm_kernel::event::DomainEvent;
use serde_json::{Map, Value};

use self::text::Words;
use super::catalogue::{Builder, EventDef};
use super::presentation::{Presentation, cut};

/// Characters of a title.
const MAX_TITLE: usize = 300;
/// The fields that say what an event is about, the best first.
const TELLING: [&str; 9] = [
    "mediaTitle",
    "torrentName",
    "workflowName",
    "providerName",
    "serverName",
    "displayName",
    "username",
    "keyName",
    "path",
];

/// Who reads a card.
#[derive(Clone, Debug)]
pub struct Reader {
    pub zone: TimeZone,
    /// They may know who watches what, where and how.
    pub sees_people: bool,
    /// When they are told.
    pub now: qm_kernel::Timestamp,
}

/// An event as a reader is told of it.
#[derive(Clone, Debug)]
pub struct Rendered {
    pub title: String,
    /// None where the event does not say what a card needs.
    pub card: Option<Presentation>,
}

/// Tells a reader of an event.
pub fn render(def: &EventDef, event: &DomainEvent, reader: &Reader) -> Rendered {
    let none = Map::new();
    let words = Words {
        payload: event.payload.as_object().unwrap_or(&none),
        at: event.occurred_at,
        reader,
    };
    let card = match def.builder {
        Builder::Playback => playback::card(def, &words),
        Builder::Torrent => builders::torrent(def, &words),
        Builder::Storage => builders::storage(def, &words),
        Builder::Provider => builders::provider(def, &words),
        Builder::Security => Some(builders::security(def, &words)),
        Builder::User => builders::user(def, &words),
        Builder::Notice => builders::notice(def, &words),
    };
    let title = match &card {
        Some(card) => cut(&card.summary.text, MAX_TITLE),
        None => cut(&fallback(def, &words), MAX_TITLE),
    };
    Rendered { title, card }
}

/// The event's key in words, and what it is about.
fn fallback(def: &EventDef, words: &Words<'_>) -> String {
    let key = humanised(def.key);
    // Where the reader may not know who it was, neither does the title say so.
    let hidden = def.builder == Builder::Playback && !words.reader.sees_people;
    let mut telling = TELLING
        .into_iter()
        .filter(|name| !(hidden && matches!(*name, "displayName" | "username")));
    match telling.find_map(|name| words.text(name)) {
        Some(about) => format!("{key}: {about}"),
        None => key,
    }
}

/// `torrent.completed` as `Torrent completed`.
fn humanised(key: &str) -> String {
    let words = key.replace(['.', '_'], " ");
    let mut letters = words.chars();
    match letters.next() {
        Some(first) => first.to_uppercase().chain(letters).collect(),
        None => words,
    }
}

/// Whether a field may hold a secret, whatever it is called: it is never shown.
fn is_secret(name: &str) -> bool {
    const PARTS: [&str; 7] = [
        "token",
        "secret",
        "password",
        "apikey",
        "webhook",
        "chatid",
        "ipaddress",
    ];
    let name: String = name
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .map(|letter| letter.to_ascii_lowercase())
        .collect();
    PARTS.iter().any(|part| name.contains(part))
}

/// The value of a field that may be shown.
fn shown<'a>(payload: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    (!is_secret(name)).then(|| payload.get(name))?
}

#[cfg(test)]
mod tests;
