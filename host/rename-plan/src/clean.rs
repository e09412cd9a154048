//! Names that every usual file system takes, and that media servers read.

use unicode_normalization::UnicodeNormalization as _;

/// Names that Windows keeps for devices, whatever ending they have.
const DEVICES: &[&str] = &["con", "prn", "aux", "nul", "conin$", "conout$"];

/// Text of a value for a place in a path: no separator and no letter that a file system refuses; composed letters.
pub(crate) fn value(text: &str) -> String {
    let spaced: String = text.nfc().filter_map(letter).collect();
    collapse(&spaced)
}

/// Letter as names have it; `None`: it is left out.
fn letter(letter: char) -> Option<char> {
    match letter {
        '\\' | '/' | ':' | '*' | '?' | '"' | '<' | '>' | '|' => Some(' '),
        letter if letter.is_whitespace() || letter.is_control() => Some(' '),
        // What is not seen and turns or hides other letters, and what stands for bytes that are no text.
        '\u{200b}'
        | '\u{200e}'
        | '\u{200f}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2060}'
        | '\u{2066}'..='\u{2069}'
        | '\u{feff}'
        | '\u{fffd}' => None,
        // Braces would be tokens.
        '{' | '}' => None,
        letter => Some(letter),
    }
}

/// Text with single spaces, and none at its ends.
fn collapse(text: &str) -> String {
    let words: Vec<&str> = text.split(' ').filter(|word| !word.is_empty()).collect();
    words.join(" ")
}

/// Name of a folder, or of a file without its ending; `None`: nothing is left of it. Braces stay: they are not of a value.
pub(crate) fn segment(text: &str) -> Option<String> {
    let kept: String = text
        .nfc()
        .filter_map(|one| {
            if matches!(one, '{' | '}') {
                Some(one)
            } else {
                letter(one)
            }
        })
        .collect();
    let mut name = collapse(&kept);
    // Until nothing changes: what is removed may leave something else without its text.
    loop {
        let before = name.len();
        for empty in ["()", "[]", "( )", "[ ]"] {
            name = name.replace(empty, " ");
        }
        name = collapse(&name);
        while name.contains(" - - ") {
            name = name.replace(" - - ", " - ");
        }
        // A dot in front hides it; spaces and dots behind are lost on some systems.
        let shown = name.trim_start_matches(['.', ' ']);
        let shown = shown
            .strip_prefix("- ")
            .unwrap_or(shown)
            .trim_end_matches(['.', ' ']);
        name = shown.strip_suffix(" -").unwrap_or(shown).to_owned();
        if matches!(&*name, "-" | "–") {
            name.clear();
        }
        if name.len() == before {
            break;
        }
    }
    if name.is_empty() {
        return None;
    }
    if is_device(&name) {
        // Behind the word itself: it is kept with any ending.
        let word = name.split('.').next().unwrap_or(&name).trim_end().len();
        name.insert(word, '_');
    }
    Some(name)
}

/// True for a name that Windows keeps for a device.
fn is_device(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or(name).trim_end().to_lowercase();
    let is_port = |port: &str| {
        let number = stem.strip_prefix(port);
        number.is_some_and(|number| {
            let mut letters = number.chars();
            let is_digit = letters
                .next()
                .is_some_and(|digit| digit.is_ascii_digit() || "¹²³".contains(digit));
            is_digit && letters.next().is_none()
        })
    };
    DEVICES.contains(&&*stem) || is_port("com") || is_port("lpt")
}

/// Form of a path that is equal for two paths that one file system may take for the same.
pub(crate) fn folded_path(path: &str) -> String {
    // Twice: a capital letter may become two that compose.
    let lower: String = path.nfc().flat_map(char::to_lowercase).collect();
    lower.nfc().collect()
}

/// The first bytes of a text, cut at a word if there is one.
pub(crate) fn shorten(text: &str, most: usize) -> &str {
    if text.len() <= most {
        return text;
    }
    let cut = &text[..text.floor_char_boundary(most)];
    let is_word = text[cut.len()..].starts_with(' ');
    let end = if is_word {
        cut.len()
    } else {
        cut.rfind(' ').unwrap_or(cut.len())
    };
    cut[..end].trim_end_matches([' ', '.', ',', '-', '–', '\'', '’', '&'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_ones_that_every_system_takes() {
        for (text, expected) in [
            ("Mission: Impossible", Some("Mission Impossible")),
            ("AC/DC", Some("AC DC")),
            ("What? \"Now\" <1>|2*", Some("What Now 1 2")),
            ("Title ()", Some("Title")),
            ("Title [ ]", Some("Title")),
            ("Title - ", Some("Title")),
            ("Title - - More", Some("Title - More")),
            ("Title - () - ", Some("Title")),
            ("Title...", Some("Title")),
            ("Title. . ", Some("Title")),
            ("...And Then", Some("And Then")),
            (".hidden", Some("hidden")),
            ("Cafe\u{301}", Some("Café")),
            ("a\u{202e}b\u{200b}c\u{fffd}", Some("abc")),
            ("  a\t\nb  ", Some("a b")),
            ("CON", Some("CON_")),
            ("nul.2020", Some("nul_.2020")),
            ("com1", Some("com1_")),
            ("LPT³", Some("LPT³_")),
            ("Con Air", Some("Con Air")),
            ("COM10", Some("COM10")),
            ("🎬 Film 👨\u{200d}👩", Some("🎬 Film 👨\u{200d}👩")),
            ("..", None),
            (" . ", None),
            ("-", None),
            ("", None),
            ("()", None),
        ] {
            let name = segment(text);
            assert_eq!(name.as_deref(), expected, "{text:?}");
            if let Some(name) = name {
                assert_eq!(segment(&name).as_deref(), Some(&*name), "{text:?} again");
            }
        }
        assert_eq!(value("{a}/{b}"), "a b");
    }

    #[test]
    fn paths_are_compared_as_disks_do() {
        assert_eq!(folded_path("A/CAFE\u{301}"), folded_path("a/café"));
        assert_ne!(folded_path("a/b"), folded_path("a/c"));
    }

    #[test]
    fn long_texts_end_at_a_word() {
        assert_eq!(shorten("one two three", 9), "one two");
        assert_eq!(shorten("one two three", 7), "one two");
        assert_eq!(shorten("ééééé", 5), "éé");
        assert_eq!(shorten("short", 9), "short");
    }
}
