//! Placeholders in the directories that rules move torrents to: `/data/{label}`. What may stand in one is a table; whoever stores a rule
//! refuses any other, and whoever moves a torrent fills them.
//!
//! A value that fills one is a name that a stranger may have chosen: it becomes one name of a directory, and never a path.

use crate::engine::Torrent;

/// The words that may stand between braces.
pub const PLACEHOLDERS: &[&str] = &["label", "name", "tracker", "hash"];

/// The mark of a parameter, in the schema of an action, whose text may have placeholders.
pub const MARK: &str = "x-placeholders";

/// The name that stands for what a torrent does not have, its label for one.
const NONE: &str = "none";
/// Bytes of a name, below what file systems take.
const LONGEST: usize = 200;

/// The parts of a text: what stands there as it is, and what stands between braces.
enum Part<'a> {
    Plain(&'a str),
    Word(&'a str),
}

fn parts(text: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        let Some((word, behind)) = after.split_once('}') else {
            break;
        };
        parts.push(Part::Plain(before));
        parts.push(Part::Word(word));
        rest = behind;
    }
    parts.push(Part::Plain(rest));
    parts
}

/// A sentence about the first placeholder that is unknown; `None`: all are known.
pub fn unknown(text: &str) -> Option<String> {
    let unknown = parts(text).into_iter().find_map(|part| match part {
        Part::Word(word) if !PLACEHOLDERS.contains(&word) => Some(word.to_owned()),
        Part::Word(_) | Part::Plain(_) => None,
    })?;
    let known: Vec<String> = PLACEHOLDERS.iter().map(|word| format!("{{{word}}}")).collect();
    let known = known.join(", ");
    Some(format!(
        "There is no placeholder {{{unknown}}}: there are {known}"
    ))
}

/// The text with its placeholders filled by the values of a torrent.
///
/// # Errors
/// The sentence of [`unknown`].
pub fn filled(text: &str, torrent: &Torrent) -> Result<String, String> {
    if let Some(why) = unknown(text) {
        return Err(why);
    }
    let mut filled = String::with_capacity(text.len());
    for part in parts(text) {
        match part {
            Part::Plain(plain) => filled.push_str(plain),
            Part::Word(word) => filled.push_str(&safe_name(value(word, torrent))),
        }
    }
    Ok(filled)
}

fn value<'a>(word: &str, torrent: &'a Torrent) -> &'a str {
    match word {
        "label" => torrent.label.as_deref().unwrap_or_default(),
        "name" => &torrent.name,
        "tracker" => torrent.tracker_host.as_deref().unwrap_or_default(),
        "hash" => &torrent.hash,
        _ => "",
    }
}

/// One name of a directory: nothing in it divides a path, says another directory, or cannot be read.
fn safe_name(text: &str) -> String {
    let letter = |letter: char| match letter {
        '/' | '\\' | '{' | '}' => '_',
        letter if letter.is_control() => '_',
        letter => letter,
    };
    let mut name: String = text.trim().chars().map(letter).collect();
    if name.starts_with('.') {
        // `.`, `..` and hidden ones.
        name.replace_range(..1, "_");
    }
    let end = name.floor_char_boundary(LONGEST);
    name.truncate(end);
    let name = name.trim_end_matches(['.', ' ']);
    if name.is_empty() {
        NONE.to_owned()
    } else {
        name.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn torrent(label: Option<&str>, name: &str) -> Torrent {
        Torrent {
            label: label.map(str::to_owned),
            name: name.to_owned(),
            ..crate::list::tests::torrent()
        }
    }

    #[test]
    fn known_ones_are_filled_and_unknown_ones_are_refused() {
        let linux = torrent(Some("os"), "Debian");
        for (text, expected) in [
            ("/dl/{label}", "/dl/os"),
            ("/dl/{label}/{name}", "/dl/os/Debian"),
            (
                "/dl/{tracker}-{hash}",
                "/dl/tracker.example-0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b",
            ),
            ("/dl/plain", "/dl/plain"),
            ("/dl/open{", "/dl/open{"),
        ] {
            assert_eq!(filled(text, &linux).as_deref(), Ok(expected), "{text}");
            assert_eq!(unknown(text), None, "{text}");
        }
        for text in [
            "/dl/{Label}",
            "/dl/{}",
            "/dl/{label}/{year}",
            "/dl/{label:x}",
            "/dl/{{label}}",
        ] {
            let why = unknown(text).unwrap_or_default();
            assert!(
                why.ends_with("there are {label}, {name}, {tracker}, {hash}"),
                "{text}: {why}"
            );
            assert_eq!(filled(text, &linux), Err(why), "{text}");
        }
    }

    #[test]
    fn what_fills_one_is_a_single_name() {
        for (label, expected) in [
            (None, "/dl/none"),
            (Some(""), "/dl/none"),
            (Some("  "), "/dl/none"),
            (Some("tv/hd"), "/dl/tv_hd"),
            (Some("../../etc"), "/dl/_._.._etc"),
            (Some(".."), "/dl/_"),
            (Some("a\\b\n\u{0}"), "/dl/a_b__"),
            (Some("{name}"), "/dl/_name_"),
            (Some("...x. "), "/dl/_..x"),
            (Some("\u{e9}t\u{e9}"), "/dl/\u{e9}t\u{e9}"),
        ] {
            assert_eq!(
                filled("/dl/{label}", &torrent(label, "n")).as_deref(),
                Ok(expected),
                "{label:?}"
            );
        }
        let long = "\u{e9}".repeat(500);
        let name = filled("{label}", &torrent(Some(&long), "n")).unwrap_or_default();
        assert_eq!(name.len(), LONGEST);
    }
}
