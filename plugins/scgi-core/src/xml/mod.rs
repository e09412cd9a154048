//! XML-RPC, as far as rTorrent's old and new libraries speak it.

pub mod lexer;
mod value;
mod write;

pub use value::{Response, Value, parse_response};
pub use write::{Param, call, multicall};

use std::borrow::Cow;

/// The text of an element with its entities resolved. What is no entity stays as it stands; bytes that are not UTF-8
/// (an old torrent's name) are replaced.
pub fn text(raw: &[u8]) -> Cow<'_, str> {
    // The check is much faster than the search for what to replace.
    let text = std::str::from_utf8(raw).map_or_else(|_| String::from_utf8_lossy(raw), Cow::Borrowed);
    if memchr::memchr(b'&', raw).is_none() {
        return text;
    }
    let mut resolved = String::with_capacity(text.len());
    let mut rest = text.as_ref();
    while let Some(at) = rest.find('&') {
        resolved.push_str(&rest[..at]);
        rest = &rest[at..];
        match entity(rest) {
            Some((char, length)) => {
                resolved.push(char);
                rest = &rest[length..];
            }
            None => {
                resolved.push('&');
                rest = &rest[1..];
            }
        }
    }
    resolved.push_str(rest);
    Cow::Owned(resolved)
}

/// The character that `text` begins with as an entity, and how long that entity is.
fn entity(text: &str) -> Option<(char, usize)> {
    let end = text.bytes().take(12).position(|byte| byte == b';')?;
    let name = text.get(1..end)?;
    let char = match name {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        _ => {
            let digits = name.strip_prefix('#')?;
            let code = match digits.strip_prefix(['x', 'X']) {
                Some(hex) => u32::from_str_radix(hex, 16).ok()?,
                None => digits.parse().ok()?,
            };
            char::from_u32(code)?
        }
    };
    Some((char, end + 1))
}

#[cfg(test)]
mod tests {
    use super::text;

    #[test]
    fn entities() {
        let cases = [
            ("plain", "plain"),
            ("a &amp; b", "a & b"),
            ("&lt;&gt;&quot;&apos;", "<>\"'"),
            ("&#65;&#x42;&#x1F600;", "AB\u{1F600}"),
            ("&amp;amp;", "&amp;"),
            ("&nbsp; & &; &#xZZ; &#1114112;", "&nbsp; & &; &#xZZ; &#1114112;"),
            ("&", "&"),
            ("&amp", "&amp"),
            ("é&amp;é", "é&é"),
            ("&aaaaaaaaaaé;", "&aaaaaaaaaaé;"),
        ];
        for (raw, expected) in cases {
            assert_eq!(text(raw.as_bytes()), expected);
        }
        assert_eq!(text(b"caf\xe9"), "caf\u{fffd}");
    }
}
