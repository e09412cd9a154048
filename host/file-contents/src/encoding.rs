//! The encoding of a text file: the one it probably is in, and its characters.

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};

/// The encodings a preview knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    Utf8,
    /// Code page 437, the encoding of many NFO files; browsers do not know it.
    Cp437,
    Latin1,
    Utf16Le,
    Utf16Be,
    /// Another one that browsers know; it is only detected.
    Other(&'static encoding_rs::Encoding),
}

/// Bytes that are looked at for a NUL.
const SNIFFED: usize = 8192;
/// Fewest bytes beyond ASCII by which a language can be guessed.
const MIN_EVIDENCE: usize = 8;

impl Encoding {
    /// Encodings that a request may name.
    const NAMED: [Encoding; 5] = [
        Encoding::Utf8,
        Encoding::Cp437,
        Encoding::Latin1,
        Encoding::Utf16Le,
        Encoding::Utf16Be,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Encoding::Utf8 => "utf-8",
            Encoding::Cp437 => "cp437",
            Encoding::Latin1 => "latin1",
            Encoding::Utf16Le => "utf-16le",
            Encoding::Utf16Be => "utf-16be",
            Encoding::Other(encoding) => encoding.name(),
        }
    }

    pub fn from_name(name: &str) -> Option<Encoding> {
        Encoding::NAMED
            .into_iter()
            .find(|encoding| encoding.as_str() == name)
    }

    /// Encoding that `bytes` are most likely written in, as a browser guesses it. `nfo`: they are the block graphics of a
    /// release note until proven otherwise.
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
        // Frames and blocks of code page 437 are letters in other encodings: outside of a release note only those count that
        // drawings are mostly made of.
        let is_drawn = |byte: u8| {
            if nfo {
                matches!(byte, 0xb0..=0xdf)
            } else {
                matches!(byte, 0xb0..=0xb3 | 0xba | 0xc4 | 0xcd | 0xdb..=0xdf)
            }
        };
        let drawn = bytes.iter().filter(|byte| is_drawn(**byte)).count();
        let share = drawn as f64 / high.max(1) as f64;
        if share >= if nfo { 0.25 } else { 0.5 } {
            return Encoding::Cp437;
        }
        if high < MIN_EVIDENCE {
            return Encoding::Latin1;
        }
        let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
        // The bytes may be the beginning of a longer text.
        detector.feed(bytes, false);
        match detector.guess(None, Utf8Detection::Deny) {
            like if like == WINDOWS_1252 => Encoding::Latin1,
            like => Encoding::Other(like),
        }
    }

    /// Text of `bytes`, without a byte order mark; bytes that cannot be decoded become U+FFFD.
    pub fn decode(self, bytes: &[u8]) -> String {
        let text = match self {
            Encoding::Cp437 => return cp437(bytes),
            Encoding::Latin1 => return encoding_rs::mem::decode_latin1(bytes).into_owned(),
            Encoding::Utf8 => UTF_8.decode_with_bom_removal(bytes).0,
            Encoding::Utf16Le => UTF_16LE.decode_with_bom_removal(bytes).0,
            Encoding::Utf16Be => UTF_16BE.decode_with_bom_removal(bytes).0,
            Encoding::Other(encoding) => encoding.decode_without_bom_handling(bytes).0,
        };
        text.into_owned()
    }
}

/// True when `bytes` are not text: a NUL near their beginning, and no byte order mark of UTF-16.
pub fn is_binary(bytes: &[u8]) -> bool {
    let utf16 = matches!(
        byte_order_mark(bytes),
        Some(Encoding::Utf16Le | Encoding::Utf16Be)
    );
    !utf16 && bytes[..bytes.len().min(SNIFFED)].contains(&0)
}

fn byte_order_mark(bytes: &[u8]) -> Option<Encoding> {
    let (encoding, _) = encoding_rs::Encoding::for_bom(bytes)?;
    Some(match encoding {
        wide if wide == UTF_16LE => Encoding::Utf16Le,
        wide if wide == UTF_16BE => Encoding::Utf16Be,
        _ => Encoding::Utf8,
    })
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
    fn other_languages_are_guessed_as_browsers_do() {
        let cyrillic = "Тихая гавань, сезон первый: серия вторая";
        let japanese = "静かな港の物語、第一話です";
        let chinese = "安静的港湾，第一季第二集，中文字幕";
        let korean = "고요한 항구, 첫 번째 시즌 두 번째 이야기";
        for (encoding, text) in [
            (encoding_rs::WINDOWS_1251, cyrillic),
            (encoding_rs::WINDOWS_1251, "ТИХАЯ ГАВАНЬ, СЕЗОН ПЕРВЫЙ"),
            (encoding_rs::KOI8_U, cyrillic),
            (encoding_rs::SHIFT_JIS, japanese),
            (encoding_rs::EUC_JP, japanese),
            (encoding_rs::GBK, chinese),
            (encoding_rs::EUC_KR, korean),
        ] {
            let (bytes, _, _) = encoding.encode(text);
            let detected = Encoding::detect(&bytes, false);
            assert_eq!(detected, Encoding::Other(encoding), "{text}");
            assert_eq!(detected.decode(&bytes), text);
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
        for encoding in Encoding::NAMED {
            assert_eq!(Encoding::from_name(encoding.as_str()), Some(encoding));
        }
        assert_eq!(Encoding::from_name("UTF-8"), None);
    }
}
