//! Titles and cards of events. The texts of an event are foreign input (names of torrents, users, films):
//! they are cleaned and cut before use.
//!
//! Text is American English; times are those of the reader's time zone.

mod builders;
mod playback;
mod text;

use jiff::tz::TimeZone;
use qm_kernel::event::DomainEvent;
use qm_platform::notification::{CardBuilder, NotificationSpec};
use serde_json::{Map, Value};

use self::text::Words;
use super::presentation::{Presentation, cut};

/// Largest number of characters of a title.
const MAX_TITLE: usize = 300;
/// Fields that name the subject of an event, the best first.
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

/// Reader of a card.
#[derive(Clone, Debug)]
pub struct Reader {
    pub zone: TimeZone,
    /// True when the reader may know which user watches what, where and how.
    pub sees_people: bool,
    /// Time of the notification.
    pub now: qm_kernel::Timestamp,
}

/// Title and card of an event for one reader.
#[derive(Clone, Debug)]
pub struct Rendered {
    pub title: String,
    /// `None` when the event lacks the fields that a card needs.
    pub card: Option<Presentation>,
}

/// Renders an event for a reader.
pub fn render(def: &NotificationSpec, event: &DomainEvent, reader: &Reader) -> Rendered {
    let none = Map::new();
    let words = Words {
        payload: event.payload.as_object().unwrap_or(&none),
        at: event.occurred_at,
        reader,
    };
    let card = match def.builder {
        CardBuilder::Playback => playback::card(def, &words),
        CardBuilder::Torrent => builders::torrent(def, &words),
        CardBuilder::Storage => builders::storage(def, &words),
        CardBuilder::Provider => builders::provider(def, &words),
        CardBuilder::Security => Some(builders::security(def, &words)),
        CardBuilder::User => builders::user(def, &words),
        CardBuilder::Notice => builders::notice(def, &words),
    };
    let title = match &card {
        Some(card) => cut(&card.summary.text, MAX_TITLE),
        None => cut(&fallback(def, &words), MAX_TITLE),
    };
    Rendered { title, card }
}

/// Title made of the event's key in words and its subject.
fn fallback(def: &NotificationSpec, words: &Words<'_>) -> String {
    let key = humanised(def.key);
    // The title must not name a user whom the reader may not know.
    let hidden = def.builder == CardBuilder::Playback && !words.reader.sees_people;
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

/// True when a field may hold a secret by its name: it is never shown.
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

/// The value of a field, unless it may hold a secret.
fn shown<'a>(payload: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    (!is_secret(name)).then(|| payload.get(name))?
}

#[cfg(test)]
mod tests;
