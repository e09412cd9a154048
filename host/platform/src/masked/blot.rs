//! Masking of secrets in foreign texts: error sentences, addresses, headers. Pure.
//!
//! In doubt a text is masked. A text is read once, from begin to end.

use super::{REDACTED, is_secret};

/// Headers whose values are masked completely.
const HEADERS: &[&str] = &["authorization", "proxyauthorization", "cookie", "setcookie"];
/// Number of bytes searched before a separator for the name of the value after it.
const MAX_NAME: usize = 128;

/// A sentence without its secrets: `key=value`, `key: value` and `"key":"value"` whose key names a secret,
/// authentication headers, the word after `Bearer`, and the name and password in an address.
pub fn sentence(text: &str) -> String {
    blot(text, true)
}

/// User data, e.g. a file name: only secrets in addresses and after `Bearer` are masked.
pub fn addresses(text: &str) -> String {
    blot(text, false)
}

/// Byte range of a value to mask.
type Span = (usize, usize);

fn blot(text: &str, in_sentences: bool) -> String {
    let mut clean = String::with_capacity(text.len());
    // The text before `done` has been copied to `clean`.
    let (mut done, mut at) = (0, 0);
    while let Some(found) = text[at..].find(['=', ':', ' ']).map(|offset| at + offset) {
        at = found + 1;
        let span = match text.as_bytes()[found] {
            b' ' => after_scheme(text, done, found),
            b':' if text[found..].starts_with("://") => userinfo(text, found + 3),
            b':' if !in_sentences => None,
            _ => value(text, done, found, in_sentences),
        };
        if let Some((begin, end)) = span.filter(|(begin, end)| begin < end && *begin >= done) {
            clean.push_str(&text[done..begin]);
            clean.push_str(REDACTED);
            (done, at) = (end, end);
        }
    }
    clean.push_str(&text[done..]);
    clean
}

/// Name and password of an address; `begin` is the position after the scheme.
fn userinfo(text: &str, begin: usize) -> Option<Span> {
    let authority = &text[begin..];
    let end = authority
        .find(|c: char| c.is_whitespace() || matches!(c, '/' | '?' | '#' | '"' | '\'' | '<' | '>'))
        .unwrap_or(authority.len());
    let at = authority[..end].rfind('@')?;
    Some((begin, begin + at))
}

/// The word after `Bearer `.
fn after_scheme(text: &str, done: usize, space: usize) -> Option<Span> {
    if !name_before(text, done, space).eq_ignore_ascii_case("bearer") {
        return None;
    }
    let begin = space + leading(&text[space..], |c| c == ' ');
    Some((begin, begin + leading(&text[begin..], |c| !is_end(c))))
}

/// The value after the separator at `found`, if its name marks a secret.
fn value(text: &str, done: usize, found: usize, in_sentences: bool) -> Option<Span> {
    let name = name_before(text, done, found);
    if name.is_empty() || !is_secret(name) {
        return None;
    }
    let before_name = text[..name.as_ptr() as usize - text.as_ptr() as usize]
        .chars()
        .next_back();
    let in_query = matches!(before_name, Some('?' | '&'));
    if !in_sentences && !in_query {
        return None;
    }
    let mut begin = found + 1;
    begin += leading(&text[begin..], |c| matches!(c, ' ' | '\t'));
    let header: String = name.chars().filter(char::is_ascii_alphabetic).collect();
    let quotes = leading(&text[begin..], |c| matches!(c, '"' | '\'' | '`' | '\\'));
    let quote = text[begin..begin + quotes].chars().next_back();
    begin += quotes;
    let rest = &text[begin..];
    let length = if let Some(quote) = quote.filter(|quote| *quote != '\\') {
        // In a quoted text within a quoted text the closing quote has a backslash too.
        quoted(rest, quote, quotes > 1)
    } else if HEADERS.iter().any(|known| header.eq_ignore_ascii_case(known)) || rest.starts_with(['[', '{']) {
        leading(rest, |c| !matches!(c, '\r' | '\n'))
    } else if in_query {
        leading(rest, |c| !is_end(c) && !matches!(c, '&' | '#'))
    } else {
        leading(rest, |c| !is_end(c))
    };
    Some((begin, begin + length))
}

/// Number of bytes before the closing quote, or of the whole text when there is none.
fn quoted(text: &str, quote: char, escaped: bool) -> usize {
    let mut before = ' ';
    for (at, c) in text.char_indices() {
        if c == quote && (escaped || before != '\\') {
            return at - usize::from(before == '\\');
        }
        before = if before == '\\' { ' ' } else { c };
    }
    text.len()
}

/// The name that ends before `end`, without quotes and spaces between; it begins at `from` or later.
fn name_before(text: &str, from: usize, end: usize) -> &str {
    let from = from.max(text.ceil_char_boundary(end.saturating_sub(MAX_NAME)));
    let before = text[from..end].trim_end_matches([' ', '\t', '"', '\'', '`', '\\']);
    let begin = before
        .char_indices()
        .rev()
        .take_while(|(_, c)| c.is_alphanumeric() || matches!(c, '_' | '-' | '.'))
        .last()
        .map_or(before.len(), |(at, _)| at);
    &before[begin..]
}

fn is_end(c: char) -> bool {
    c.is_whitespace() || matches!(c, '"' | '\'' | '`' | '<' | '>')
}

/// Number of bytes of the leading characters that fit.
fn leading(text: &str, fits: impl Fn(char) -> bool) -> usize {
    text.find(|c| !fits(c)).unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_lose_their_secrets_and_keep_the_rest() {
        for (given, kept) in [
            ("GET /x?y failed", "GET /x?y failed"),
            ("it was 12:30:15, ok: 3 of 4", "it was 12:30:15, ok: 3 of 4"),
            (
                "login password=hunter2 refused",
                "login password=[redacted] refused",
            ),
            ("password = hunter2 refused", "password = [redacted] refused"),
            ("token: abc", "token: [redacted]"),
            ("token:abc\nrest", "token:[redacted]\nrest"),
            (
                "token=a secret: b, x=1 passwd=c",
                "token=[redacted] secret: [redacted] x=1 passwd=[redacted]",
            ),
            ("token=a=b rest", "token=[redacted] rest"),
            (
                "GET https://h/api?apikey=k1&x=2&token=k2#top failed",
                "GET https://h/api?apikey=[redacted]&x=2&token=[redacted]#top failed",
            ),
            (
                "url=https://user:p:a@ss@h:8080/x?sid=1 is gone",
                "url=https://[redacted]@h:8080/x?sid=1 is gone",
            ),
            ("ftp://token@h", "ftp://[redacted]@h"),
            (
                "http://h/a@b and mail to a@b: c",
                "http://h/a@b and mail to a@b: c",
            ),
            (
                "sent Authorization: Basic dXNlcjpw and\nmore",
                "sent Authorization: [redacted]\nmore",
            ),
            ("Cookie: a=1; b=2\r\nHost: h", "Cookie: [redacted]\r\nHost: h"),
            (
                "with Bearer abc.def-g, and more",
                "with Bearer [redacted] and more",
            ),
            ("BEARER  abc", "BEARER  [redacted]"),
            ("a bearer", "a bearer"),
            (
                r#"{"user":"u","apiKey":"k","deep":{"password": "a\"b c","n":1}}"#,
                r#"{"user":"u","apiKey":"[redacted]","deep":{"password": "[redacted]","n":1}}"#,
            ),
            (
                r#"body "{\"token\":\"abc\",\"n\":1}""#,
                r#"body "{\"token\":\"[redacted]\",\"n\":1}""#,
            ),
            (r#"{"tokens":["a","b"],"n":1}"#, r#"{"tokens":[redacted]"#),
            ("token=", "token="),
            ("token=\"unclosed end", "token=\"[redacted]"),
            ("=:= :// é=ü", "=:= :// é=ü"),
        ] {
            assert_eq!(sentence(given), kept, "{given:?}");
        }
    }

    #[test]
    fn data_loses_what_addresses_hold() {
        for (given, kept) in [
            ("The Secret: A Story (2031)", "The Secret: A Story (2031)"),
            ("token=abc", "token=abc"),
            (
                "https://u:p@h/?apikey=k&x=1",
                "https://[redacted]@h/?apikey=[redacted]&x=1",
            ),
            ("Bearer abc", "Bearer [redacted]"),
        ] {
            assert_eq!(addresses(given), kept, "{given:?}");
        }
    }

    #[test]
    fn a_long_text_is_read_once() {
        let begun = std::time::Instant::now();
        for part in [
            "token=a ",
            "://a",
            "\"token\":\"",
            "bearer ",
            "= ",
            ": : ",
            "token=\\\"",
            "é=",
        ] {
            let clean = sentence(&part.repeat(50_000));
            assert!(!clean.is_empty());
        }
        assert!(
            begun.elapsed() < std::time::Duration::from_mins(1),
            "{:?}",
            begun.elapsed()
        );
    }
}
