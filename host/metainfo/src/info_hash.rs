//! Info-hashes as clients, links, feeds and people write them. All that is read becomes 40 hexadecimal digits, lower case.

use data_encoding::BASE32_NOPAD;

/// True of 40 hexadecimal digits, in any case.
pub fn is_info_hash(text: &str) -> bool {
    text.len() == 40 && is_hex(text)
}

/// Reads an info-hash of either version, with blanks around it or without.
pub fn read(text: &str) -> Option<String> {
    let text = text.trim();
    read_v1(text).or_else(|| read_v2(text))
}

/// Reads a SHA-1: 40 hexadecimal digits, or 32 characters of base 32.
pub fn read_v1(text: &str) -> Option<String> {
    match text.len() {
        40 if is_hex(text) => Some(text.to_ascii_lowercase()),
        32 => BASE32_NOPAD
            .decode(text.to_ascii_uppercase().as_bytes())
            .ok()
            .map(hex::encode),
        _ => None,
    }
}

/// Reads a SHA-256, 64 hexadecimal digits: the first 40 are what clients list a torrent under.
pub fn read_v2(text: &str) -> Option<String> {
    is_v2(text).then(|| text[..40].to_ascii_lowercase())
}

pub(crate) fn is_v2(text: &str) -> bool {
    text.len() == 64 && is_hex(text)
}

fn is_hex(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEX: &str = "c12fe1c06bba254a9dc9f519b335aa7c1367a88a";
    const BASE32: &str = "YEX6DQDLXISUVHOJ6UM3GNNKPQJWPKEK";
    const V2: &str = "caf1e1c30e81cb361b9ee167c4aa64228a7fa4fa9f6105232b28ad099f3a302e";

    #[test]
    fn hashes_of_both_versions_are_read() {
        for (text, v1, v2) in [
            (HEX, Some(HEX), None),
            (&HEX.to_uppercase(), Some(HEX), None),
            (BASE32, Some(HEX), None),
            (&BASE32.to_lowercase(), Some(HEX), None),
            (V2, None, Some(&V2[..40])),
            (&V2.to_uppercase(), None, Some(&V2[..40])),
            ("", None, None),
            (&HEX[1..], None, None),
            (&BASE32.replace('Y', "1"), None, None),
            (&V2.replace('c', "g"), None, None),
            (&"\u{e4}".repeat(20), None, None),
        ] {
            assert_eq!(read_v1(text).as_deref(), v1, "{text}");
            assert_eq!(read_v2(text).as_deref(), v2, "{text}");
            assert_eq!(read(&format!(" {text}\n")).as_deref(), v1.or(v2), "{text}");
        }
    }

    #[test]
    fn an_info_hash_is_forty_digits() {
        assert!(is_info_hash(HEX) && is_info_hash(&HEX.to_uppercase()));
        for text in ["", BASE32, V2, &HEX[1..], &format!("{}g", &HEX[1..])] {
            assert!(!is_info_hash(text), "{text}");
        }
    }
}
