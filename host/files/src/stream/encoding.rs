//! The encoding of a text file: what it probably is, and its characters.

/// The encodings a preview knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    Utf8,
    Cp437,
    Latin1,
    Utf16Le,
    Utf16Be,
}

/// Bytes that are looked at for a NUL.
const SNIFFED: usize = 8192;

impl Encoding {
    const ALL: [Encoding; 5] = [
        Encoding::Utf8,
        Encoding::Cp437,
        Encoding::Latin1,
        Encoding::Utf16Le,
        Encoding::Utf16Be,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Encoding::Utf8 => "utf-8",
            Encoding::Cp437 => "cp437",
            Encoding::Latin1 => "latin1",
            Encoding::Utf16Le => "utf-16le",
            Encoding::Utf16Be => "utf-16be",
        }
    }

    pub fn from_name(name: &str) -> Option<Encoding> {
        Encoding::ALL
            .into_iter()
            .find(|encoding| encoding.as_str() == name)
    }

    /// What `bytes` are most likely written in. `nfo`: they are the block graphics of a release note until proven
    /// otherwise.
    pub fn detect(bytes: &[u8], nfo: bool) -> Encoding {
        if let Some(encoding) = byte_order_mark(bytes) {
            return encoding;
        }
        match std::str::from_utf8(bytes) {
            Ok(_) => return Encoding::Utf8,
            // A sequence that the end of the sample cut in two.
            Err(error) if error.error_len().is_none() => return Encoding::Utf8,
            Err(_) => {}
        }
        let high = bytes.iter().filter(|byte| **byte >= 0x80).count();
        let blocks = bytes.iter().filter(|byte| (0xb0..=0xdf).contains(*byte)).count();
        let share = blocks as f64 / high.max(1) as f64;
        if share >= if nfo { 0.25 } else { 0.5 } {
            Encoding::Cp437
        } else {
            Encoding::Latin1
        }
    }

    /// The text of `bytes`, without a byte order mark; what cannot be read is U+FFFD.
    pub fn decode(self, bytes: &[u8]) -> String {
        match self {
            Encoding::Utf8 => {
                let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
                String::from_utf8_lossy(bytes).into_owned()
            }
            Encoding::Cp437 => cp437(bytes),
            Encoding::Latin1 => bytes.iter().map(|byte| char::from(*byte)).collect(),
            Encoding::Utf16Le => utf16(bytes, u16::from_le_bytes),
            Encoding::Utf16Be => utf16(bytes, u16::from_be_bytes),
        }
    }
}

/// Whether `bytes` are no text: a NUL near their beginning, unless they say that they are UTF-16.
pub fn is_binary(bytes: &[u8]) -> bool {
    let utf16 = matches!(
        byte_order_mark(bytes),
        Some(Encoding::Utf16Le | Encoding::Utf16Be)
    );
    !utf16 && bytes[..bytes.len().min(SNIFFED)].contains(&0)
}

fn byte_order_mark(bytes: &[u8]) -> Option<Encoding> {
    match bytes {
        [0xff, 0xfe, ..] => Some(Encoding::Utf16Le),
        [0xfe, 0xff, ..] => Some(Encoding::Utf16Be),
        [0xef, 0xbb, 0xbf, ..] => Some(Encoding::Utf8),
        _ => None,
    }
}

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> String {
    let (pairs, rest) = bytes.as_chunks::<2>();
    let units = pairs.iter().map(|pair| unit(*pair));
    let mut text: String = char::decode_utf16(units)
        .map(|char| char.unwrap_or(char::REPLACEMENT_CHARACTER))
        .collect();
    if !rest.is_empty() {
        text.push(char::REPLACEMENT_CHARACTER);
    }
    match text.strip_prefix('\u{feff}') {
        Some(rest) => rest.to_owned(),
        None => text,
    }
}

/// The upper half of code page 437; the lower half is ASCII.
const CP437: &str = "ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜ¢£¥₧ƒáíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀\
αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u{a0}";

fn cp437(bytes: &[u8]) -> String {
    let upper: Vec<char> = CP437.chars().collect();
    // The table has a character for every one of the 128 bytes; a test counts them.
    let decode = |byte: &u8| match byte.checked_sub(0x80) {
        None => char::from(*byte),
        Some(index) => *upper
            .get(usize::from(index))
            .unwrap_or(&char::REPLACEMENT_CHARACTER),
    };
    bytes.iter().map(decode).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn detection() {
        let umlauts = b"M\xfcller und S\xf6hne \xe4\xf6\xfc";
        let blocks = b"\xdb\xdb\xb2\xb1\xb0 note \xdf\xdc\xdc";
        let few_blocks = b"\xb0\xfc\xf6\xe4";
        for (bytes, nfo, expected) in [
            (&b""[..], false, Encoding::Utf8),
            (b"plain", false, Encoding::Utf8),
            ("f\u{fc}r".as_bytes(), false, Encoding::Utf8),
            (b"cut \xe2\x82", false, Encoding::Utf8),
            (b"\xef\xbb\xbfx\xff", false, Encoding::Utf8),
            (b"\xff\xfeh\0", false, Encoding::Utf16Le),
            (b"\xfe\xff\0h", false, Encoding::Utf16Be),
            (umlauts, false, Encoding::Latin1),
            (blocks, false, Encoding::Cp437),
            (few_blocks, false, Encoding::Latin1),
            (few_blocks, true, Encoding::Cp437),
        ] {
            assert_eq!(Encoding::detect(bytes, nfo), expected, "{bytes:x?}");
        }
    }

    #[test]
    fn decoding() {
        assert_eq!(CP437.chars().count(), 128);
        for (encoding, bytes, text) in [
            (Encoding::Utf8, &b"\xef\xbb\xbfhi\xff"[..], "hi\u{fffd}"),
            (Encoding::Cp437, b"\x80\xb0\xdb\xe1\xff", "Ç░█ß\u{a0}"),
            (Encoding::Latin1, b"\xfc\x80", "\u{fc}\u{80}"),
            (Encoding::Utf16Le, b"\xff\xfeh\0i\0\0", "hi\u{fffd}"),
            (Encoding::Utf16Be, b"\xfe\xff\0h\xd8\0", "h\u{fffd}"),
        ] {
            assert_eq!(encoding.decode(bytes), text, "{encoding:?}");
        }
    }

    #[test]
    fn a_nul_near_the_beginning_is_no_text() {
        assert!(is_binary(b"a\0b"));
        assert!(!is_binary(b"\xff\xfea\0"));
        assert!(!is_binary(b""));
        let mut late = vec![b'a'; SNIFFED];
        late.push(0);
        assert!(!is_binary(&late));
    }

    #[test]
    fn names_are_known_by_themselves_only() {
        for encoding in Encoding::ALL {
            assert_eq!(Encoding::from_name(encoding.as_str()), Some(encoding));
        }
        assert_eq!(Encoding::from_name("UTF-8"), None);
    }
}
