//! Helpers for the texts of cards.

use jiff::Timestamp as Instant;
use qm_kernel::Timestamp;
use qm_platform::masked;
use serde_json::{Map, Value};

use super::{Reader, shown};
use crate::model::presentation::{Avatar, Fact, Icon, cut};

/// Largest number of characters of a name or a value.
const MAX_WORD: usize = 200;

/// Payload of an event and its reader.
pub struct Words<'a> {
    pub payload: &'a Map<String, Value>,
    /// When it happened.
    pub at: Timestamp,
    pub reader: &'a Reader,
}

impl Words<'_> {
    /// A text field on one line, cut to a limit; a number becomes its digits.
    pub fn text(&self, name: &str) -> Option<String> {
        let text = match shown(self.payload, name)? {
            Value::String(text) => clean(text),
            Value::Number(number) => number.to_string(),
            _ => return None,
        };
        Some(text).filter(|text| !text.is_empty())
    }

    /// A whole number field, 0 or more.
    pub fn number(&self, name: &str) -> Option<u64> {
        match shown(self.payload, name)? {
            Value::Number(number) => number
                .as_u64()
                .or_else(|| number.as_f64().map(|number| number.max(0.0) as u64)),
            Value::String(text) => text.trim().parse().ok(),
            _ => None,
        }
    }

    /// A percentage field, 0 to 100.
    pub fn percent(&self, name: &str) -> Option<u8> {
        self.number(name).map(|number| number.min(100) as u8)
    }

    /// The first of these fields that the event has.
    pub fn first(&self, names: &[&str]) -> Option<String> {
        names.iter().find_map(|name| self.text(name))
    }

    /// Time of the event in the reader's time zone.
    pub fn time(&self) -> Fact {
        fact(Icon::Clock, "Time", self.clock())
    }

    fn clock(&self) -> String {
        let local = |instant: Timestamp| {
            let instant = Instant::from_millisecond(instant.ms()).unwrap_or(Instant::UNIX_EPOCH);
            instant.to_zoned(self.reader.zone.clone())
        };
        let (then, now) = (local(self.at), local(self.reader.now));
        if then.date() == now.date() {
            then.strftime("Today, %-I:%M %p").to_string()
        } else {
            then.strftime("%b %-d, %Y, %-I:%M %p").to_string()
        }
    }
}

pub fn fact(icon: Icon, label: &str, value: impl Into<String>) -> Fact {
    Fact {
        icon,
        label: label.to_owned(),
        value: value.into(),
    }
}

/// One line without invisible characters, cut to a limit. Bidirectional control marks would let a name
/// display a different text.
fn clean(text: &str) -> String {
    // Cut first, because a name may be as long as a message.
    let start: String = text.chars().take(4 * MAX_WORD).collect();
    let line: String = start
        .chars()
        .filter(|letter| !matches!(letter, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}'))
        .map(|letter| if letter.is_control() { ' ' } else { letter })
        .collect();
    // A client's error may hold a tracker address, and thus a passkey.
    cut(masked::links(line.trim()).as_str(), MAX_WORD)
}

/// Avatar for a user of this name.
pub fn avatar(name: &str) -> Avatar {
    Avatar {
        initials: initials(name),
        hue: hue(name),
        label: name.to_owned(),
    }
}

/// First letters of the first and the last word.
fn initials(name: &str) -> String {
    let mut words = name.split_whitespace();
    let first = words.next().and_then(|word| word.chars().next());
    let last = words.next_back().and_then(|word| word.chars().next());
    let letters: String = first
        .into_iter()
        .chain(last)
        .flat_map(char::to_uppercase)
        .collect();
    if letters.is_empty() {
        "?".to_owned()
    } else {
        letters
    }
}

/// Hue from the FNV-1a hash of the characters, in degrees.
fn hue(name: &str) -> u32 {
    let hash = name.chars().fold(2_166_136_261_u32, |hash, letter| {
        (hash ^ u32::from(letter)).wrapping_mul(16_777_619)
    });
    hash % 360
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn initials_are_those_of_the_first_and_the_last_word() {
        for (name, letters) in [
            ("ada", "A"),
            ("Ada Lovelace", "AL"),
            ("Ada King of Lovelace", "AL"),
            ("  élise  ", "É"),
            ("ß", "SS"),
            ("", "?"),
            ("   ", "?"),
        ] {
            assert_eq!(initials(name), letters, "{name:?}");
        }
    }

    /// Published test values of FNV-1a, 32 bits.
    #[test]
    fn the_hue_is_that_of_the_published_hash() {
        for (name, hash) in [("", 0x811c_9dc5_u32), ("a", 0xe40c_292c), ("foobar", 0xbf9c_f968)] {
            assert_eq!(hue(name), hash % 360, "{name}");
        }
    }

    #[test]
    fn names_are_one_line_of_what_can_be_seen() {
        assert_eq!(clean(" a\r\nb\u{202e}c\0 "), "a  bc");
        let long = clean(&"x".repeat(1_000_000));
        assert_eq!((long.chars().count(), long.ends_with('…')), (200, true));
    }
}
