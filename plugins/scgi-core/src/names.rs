//! Names and paths outside ASCII, as rTorrent tells them.
//!
//! Its XML library refuses a text that is no UTF-8, and one with characters beyond the first 65,536. Releases before 0.16 then write a
//! `?` for each such byte of the whole text, which nobody can undo; later ones write every byte of it that is not ASCII as `%` and two
//! digits, and leave `%` itself as it is. A text that the library takes stands as it is. So a text was escaped if undoing that gives
//! one that the library refuses; any other text really holds its digits, `%41` and `%C3%A9` alike.

/// The text that rTorrent meant. One that cannot be text, for its bytes are no UTF-8, stays escaped.
pub fn decoded(told: &str) -> String {
    if !told.is_ascii() || !told.contains('%') {
        return told.to_owned();
    }
    let mut bytes = Vec::with_capacity(told.len());
    let mut rest = told.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        match escaped(rest) {
            Some(meant) => {
                bytes.push(meant);
                rest = &rest[3..];
            }
            None => {
                bytes.push(byte);
                rest = after;
            }
        }
    }
    match String::from_utf8(bytes) {
        Ok(meant) if meant.chars().any(is_refused) => meant,
        _ => told.to_owned(),
    }
}

/// True if the XML library refuses it in a text.
const fn is_refused(letter: char) -> bool {
    letter as u32 > 0xffff
}

/// The byte that an escape at the beginning of `text` stands for, if that is none of ASCII.
fn escaped(text: &[u8]) -> Option<u8> {
    let [b'%', high, low, ..] = text else { return None };
    let digit = |byte: u8| {
        char::from(byte)
            .to_digit(16)
            .filter(|_| !byte.is_ascii_lowercase())
    };
    let byte = digit(*high)? << 4 | digit(*low)?;
    u8::try_from(byte).ok().filter(|byte| !byte.is_ascii())
}

/// True if the last name of a path is that of a torrent, as far as this release can write either.
pub fn is_same(in_path: &str, name: &str) -> bool {
    in_path == name || (in_path.contains('?') && in_path == marked(name))
}

/// A text as releases write it that mark what they cannot.
fn marked(name: &str) -> String {
    let mut marked = String::with_capacity(name.len());
    for letter in name.chars() {
        if letter.is_ascii() {
            marked.push(letter);
        } else {
            marked.extend(std::iter::repeat_n('?', letter.len_utf8()));
        }
    }
    marked
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_was_escaped_is_undone_and_nothing_else() {
        for (told, meant) in [
            ("%F0%9F%8E%AC film", "\u{1f3ac} film"),
            (
                "/dl/sub %C3%BC/b %F0%9F%8E%AC %C3%A9.bin",
                "/dl/sub ü/b \u{1f3ac} é.bin",
            ),
            ("%F0%9F%8E%AC %41 100% %zz %", "\u{1f3ac} %41 100% %zz %"),
            // The library takes these, so they were told as they are.
            ("a %41.bin", "a %41.bin"),
            ("caf%C3%A9", "caf%C3%A9"),
            ("é %F0%9F%8E%AC", "é %F0%9F%8E%AC"),
            // No text at all.
            ("latin%E9.bin", "latin%E9.bin"),
            ("%f0%9f%8e%ac", "%f0%9f%8e%ac"),
            ("%F0%9F%8E", "%F0%9F%8E"),
            ("", ""),
        ] {
            assert_eq!(decoded(told), meant, "{told}");
        }
    }

    #[test]
    fn a_name_is_known_by_its_marks() {
        assert!(is_same("é", "é") && is_same("??", "é") && is_same("???? x", "\u{1f3ac} x"));
        assert!(!is_same("?", "é") && !is_same("a?", "ab") && !is_same("x", "y"));
    }

    /// Text in the form in which rTorrent writes it.
    fn written(text: &str) -> String {
        if !text.chars().any(is_refused) {
            return text.to_owned();
        }
        let byte = |byte: u8| match byte {
            0x20..=0x7e => char::from(byte).to_string(),
            byte => format!("%{byte:02X}"),
        };
        text.bytes().map(byte).collect()
    }

    proptest! {
        #[test]
        fn what_rtorrent_escapes_comes_back(text in "[ -$&-~éß日\u{1f3ac}\u{1f600}]{0,20}(%41)?") {
            prop_assert_eq!(decoded(&written(&text)), text);
        }
    }
}
