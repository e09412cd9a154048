//! Detection of answers that a site, or a proxy before it, gives instead of a feed.

use memchr::memmem;
use qm_loose_xml::{Element, Node, clip};

use crate::FeedError;
use crate::text::{address, line, readable_line, unescape};
use crate::xml::Walk;

/// Bytes of a page that are looked at.
const LOOKED_AT: usize = 64 << 10;
/// Bytes at the beginning that decide if the text is a web page.
const HEAD: usize = 4096;
const MAX_NAME: usize = 100;

const CHALLENGE: &[&str] = &[
    "captcha",
    "cf-chl",
    "cf_chl",
    "challenge-platform",
    "challenge-form",
    "just a moment...",
    "checking your browser",
    "ddos-guard",
    "ddos protection by",
    "attention required!",
    "verify you are human",
    "verifying you are human",
    "are you a robot",
    "are you human",
    "enable javascript and cookies to continue",
    "anubis_challenge",
];
const PASSWORD: &[&str] = &["type=\"password\"", "type='password'", "type=password"];
const SIGN_IN: &[&str] = &[
    "login",
    "log in",
    "log-in",
    "sign in",
    "signin",
    "authentication required",
    "anmelden",
    "connexion",
    "iniciar sesi",
    "вход",
    "авторизация",
];

/// Error for an answer that is not a feed; `None` when it may be one, as far as its beginning shows.
pub fn instead_of_feed(bytes: &[u8], content_type: Option<&str>) -> Option<FeedError> {
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Some(FeedError::Nothing);
    }
    if is_torrent(bytes) {
        return Some(FeedError::Torrent);
    }
    if is_binary(bytes) {
        return Some(FeedError::Binary);
    }
    let head = &bytes[..bytes.len().min(LOOKED_AT)];
    let (text, _) = crate::charset::decode(head, content_type);
    of_text(&text)
}

/// Sentence about an answer that came instead of a .torrent file. It repeats no text of a page.
pub fn instead_of_torrent(bytes: &[u8]) -> String {
    let what = match instead_of_feed(bytes, None) {
        Some(FeedError::Nothing) => "nothing at all",
        Some(FeedError::LoginPage { .. }) => "a page on which people sign in",
        Some(FeedError::Challenge { .. }) => {
            "a page that wants to see a person (a captcha or a browser check)"
        }
        Some(FeedError::WebPage { .. }) => "a web page",
        Some(FeedError::Json) => "JSON",
        Some(FeedError::PlainText(_)) => "a text",
        Some(FeedError::Binary | FeedError::Torrent) => "other data",
        Some(_) | None => "an XML document",
    };
    format!("the site answered {what} where a .torrent file was expected")
}

/// Same as [`instead_of_feed`], for a text.
pub fn of_text(text: &str) -> Option<FeedError> {
    let begins = text.trim_start_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
    if begins.is_empty() {
        return Some(FeedError::Nothing);
    }
    if begins.starts_with(['{', '[']) && !has_root(clip(text, HEAD)) {
        return Some(FeedError::Json);
    }
    if is_page(text) {
        return Some(page(text));
    }
    if !begins.contains('<') {
        return Some(FeedError::PlainText(readable_line(text, 200)));
    }
    None
}

/// A bencoded dictionary that has an `info`.
fn is_torrent(bytes: &[u8]) -> bool {
    let digits = bytes
        .iter()
        .skip(1)
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    bytes.first() == Some(&b'd')
        && (1..4).contains(&digits)
        && bytes.get(digits + 1) == Some(&b':')
        && memmem::find(bytes, b"4:infod").is_some()
}

/// Data whose beginning no text has. UTF-16 has a mark or a `<` there.
fn is_binary(bytes: &[u8]) -> bool {
    const MAGIC: &[&[u8]] = &[
        b"\x1f\x8b",
        b"PK\x03\x04",
        b"\x89PNG",
        b"\xff\xd8\xff",
        b"GIF8",
        b"%PDF",
        b"BZh",
        b"\xfd7zXZ",
        b"\x28\xb5\x2f\xfd",
        b"Rar!",
        b"\x7fELF",
    ];
    let head = &bytes[..bytes.len().min(512)];
    let is_wide = matches!(
        head,
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] | [b'<', 0, ..] | [0, b'<', ..]
    );
    let odd = |byte: &&u8| matches!(byte, 0..=8 | 14..=26 | 28..=31);
    MAGIC.iter().any(|magic| bytes.starts_with(magic))
        || !is_wide && head.iter().filter(odd).count() * 10 > head.len()
}

fn lower(text: &str, most: usize) -> String {
    clip(text, most).to_ascii_lowercase()
}

/// True when the text has the root element of a feed, or an XML declaration.
fn has_root(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    ["<rss", "<feed", "<rdf", "<channel", "<?xml"]
        .iter()
        .any(|root| text.contains(root))
}

/// True when a text is a web page rather than a feed.
fn is_page(text: &str) -> bool {
    let head = lower(text, HEAD);
    let find = |names: &[&str]| names.iter().filter_map(|name| head.find(name)).min();
    let begins = head.trim_start();
    let bare = ["<head>", "<body", "<title"]
        .iter()
        .any(|tag| begins.starts_with(tag));
    let Some(page) = find(&["<html", "<!doctype html"]).or(bare.then_some(0)) else {
        return false;
    };
    find(&[
        "<rss",
        "<feed",
        "<rdf",
        "<channel",
        "<item",
        "<error",
        "<atom:feed",
    ])
    .is_none_or(|document| document > page)
}

fn page(text: &str) -> FeedError {
    let low = lower(text, LOOKED_AT);
    let title = title(text, &low);
    let any = |words: &[&str]| words.iter().any(|word| low.contains(word));
    let asks_to_sign_in = || {
        let title = title.as_deref().unwrap_or_default().to_lowercase();
        SIGN_IN.iter().any(|word| title.contains(word))
    };
    if any(PASSWORD) {
        FeedError::LoginPage { title }
    } else if any(CHALLENGE) {
        FeedError::Challenge { title }
    } else if asks_to_sign_in() {
        FeedError::LoginPage { title }
    } else {
        FeedError::WebPage {
            title,
            feed: named_feed(text, &low),
        }
    }
}

/// The title of a page, one line. `low` is its beginning in lower case, byte for byte.
fn title(text: &str, low: &str) -> Option<String> {
    let start = low.find("<title")?;
    let start = start + low[start..].find('>')? + 1;
    let end = start + low[start..].find('<')?;
    let title = readable_line(&unescape(text.get(start..end)?), MAX_NAME);
    (!title.is_empty()).then_some(title)
}

/// The feed that a page names in its head, without a query, which may hold a key.
fn named_feed(text: &str, low: &str) -> Option<String> {
    let mut from = 0;
    for _ in 0..64 {
        let start = from + low[from..].find("<link")?;
        let end = start + low[start..].find('>')?;
        from = end;
        let tag = &low[start..end];
        if tag.contains("application/rss+xml") || tag.contains("application/atom+xml") {
            let at = start + tag.find("href=")? + "href=".len();
            let value = text.get(at..end)?;
            let quote = value.chars().next()?;
            let value = match quote {
                '"' | '\'' => value[1..].split(quote).next()?,
                _ => value.split_whitespace().next()?,
            };
            let value = address(value);
            let plain = value.split(['?', '#']).next()?;
            let plain = readable_line(clip(plain, 200), 200);
            return (!plain.is_empty() && !plain.contains('@')).then_some(plain);
        }
    }
    None
}

/// The error of an `<error>` document.
pub fn error_of_attributes(element: &Element) -> FeedError {
    let part = |name: &str, most: usize| readable_line(element.attribute(name).unwrap_or_default(), most);
    let or = |text: String, other: &str| if text.is_empty() { other.to_owned() } else { text };
    FeedError::Told {
        code: or(part("code", 40), "without a code"),
        description: or(part("description", 300), "no description"),
    }
}

/// Same as [`error_of_attributes`], for an error given in child elements or text: `<error><code>…`.
pub fn nested_error(walk: &mut Walk<'_>, element: &Element) -> FeedError {
    if element.attribute("code").is_some() || element.attribute("description").is_some() {
        return error_of_attributes(element);
    }
    let level = walk.depth();
    let mut name = String::new();
    let (mut code, mut description) = (String::new(), String::new());
    while let Some(node) = walk.next() {
        match node {
            Node::Open(element) => name = element.name,
            Node::Text(text) => {
                let into = if name == "code" {
                    &mut code
                } else {
                    &mut description
                };
                let room = 1024_usize.saturating_sub(into.len());
                into.push_str(clip(&text, room));
            }
            Node::Close if walk.depth() < level => break,
            Node::Close => name.clear(),
        }
    }
    let (code, description) = (
        readable_line(&line(&code, 40), 40),
        readable_line(&description, 300),
    );
    FeedError::Told {
        code: if code.is_empty() {
            "without a code".to_owned()
        } else {
            code
        },
        description: if description.is_empty() {
            "no description".to_owned()
        } else {
            description
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_instead_of_a_torrent_is_called_what_it_is() {
        for (body, what) in [
            ("", "nothing at all"),
            (
                "<html><form>Login <input type=\"password\"></form></html>",
                "people sign in",
            ),
            ("<html><title>Just a moment...</title></html>", "see a person"),
            ("<!DOCTYPE html><html><body>404</body></html>", "a web page"),
            ("{\"error\":1}", "JSON"),
            ("Download limit reached", "a text"),
            ("PK\u{3}\u{4}abc", "other data"),
            ("<rss><channel/></rss>", "an XML document"),
        ] {
            let told = instead_of_torrent(body.as_bytes());
            assert!(told.contains(what), "{body}: {told}");
        }
    }
}
