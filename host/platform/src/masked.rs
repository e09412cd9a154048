//! Masking of secrets in texts and addresses for users without the managing permission: names and passwords,
//! keys, passkeys. Pure.
//!
//! All areas share one table of names. In doubt a text is masked.

mod blot;

use qm_kernel::secret::MASK;
use serde_json::Value;
use url::form_urlencoded::{byte_serialize, parse};

pub use blot::{addresses, sentence};

/// Replacement of a secret in a text.
pub const REDACTED: &str = "[redacted]";

/// Parts of names that mark secrets, compared without case and separators.
const SECRET: &[&str] = &[
    "pass",
    "secret",
    "token",
    "apikey",
    "authorization",
    "auth",
    "credential",
    "cookie",
    "session",
    "bearer",
    "privatekey",
    "encryptionkey",
    "accesskey",
    "salt",
    "hash",
    "otp",
    "totp",
    "mfa",
    "pin",
    "signature",
];

/// True when a name marks a secret.
pub fn is_secret(name: &str) -> bool {
    let bare: String = name
        .chars()
        .filter(|c| c.is_alphanumeric())
        .flat_map(char::to_lowercase)
        .collect();
    SECRET.iter().any(|part| bare.contains(part))
}

/// Query parameters that hold keys beside the names in the table; compared as a whole.
const KEYS: &[&str] = &["key", "rsskey", "rss", "sid", "passkey", "pid", "k", "r"];
/// Shortest word that counts as a passkey because of its form.
const SHORTEST: usize = 20;
/// The same limit beside `announce`, where passkeys stand.
const SHORTEST_BESIDE: usize = 6;
/// Bytes of a text that is parsed as JSON: as many as all actions of a rule take.
const LONGEST_DOCUMENT: usize = 64 * 1024;

/// Masked copy of an address or magnet link.
pub fn url(text: &str) -> String {
    masked(text, 0)
}

/// Copy of a text with every address in it masked, e.g. a client's error about its tracker.
pub fn links(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let scheme = rest[..at]
            .char_indices()
            .rev()
            .find(|(_, letter)| !letter.is_ascii_alphanumeric() && !"+-.".contains(*letter))
            .map_or(0, |(before, letter)| before + letter.len_utf8());
        clean.push_str(&rest[..scheme]);
        let address = &rest[scheme..];
        let end = address
            .find(|letter: char| {
                letter.is_whitespace() || matches!(letter, '"' | '\'' | '<' | '>' | '`' | ')' | ']')
            })
            .unwrap_or(address.len());
        clean.push_str(&url(&address[..end]));
        rest = &address[end..];
    }
    clean.push_str(rest);
    clean
}

/// Masked copy of the addresses and secrets in a JSON value.
pub fn value(value: &Value) -> Value {
    match value {
        Value::Object(members) => members
            .iter()
            .map(|(name, value)| {
                let value = if is_secret(name) && !value.is_boolean() && !value.is_null() {
                    MASK.into()
                } else if name == "headers" {
                    header_values(value)
                } else {
                    self::value(value)
                };
                (name.clone(), value)
            })
            .collect(),
        Value::Array(items) => items.iter().map(self::value).collect(),
        Value::String(text) if text.trim_start().starts_with(['{', '[']) => document(text).into(),
        Value::String(text) if is_address(text) => url(text).into(),
        Value::String(text) => addresses(text).into(),
        other => other.clone(),
    }
}

/// Masked copy of a text that may be a JSON object or array, e.g. the template of a body. It stays as it is written when nothing
/// in it is masked; one that is too long to be parsed is masked as a whole.
fn document(text: &str) -> String {
    if text.len() > LONGEST_DOCUMENT {
        return MASK.to_owned();
    }
    match serde_json::from_str::<Value>(text) {
        Ok(parsed) => {
            let shown = value(&parsed);
            if shown == parsed {
                text.to_owned()
            } else {
                shown.to_string()
            }
        }
        Err(_) => addresses(text),
    }
}

/// Names of headers stay and all values are masked, because any of them may prove an identity.
fn header_values(headers: &Value) -> Value {
    match headers {
        Value::Object(members) => members
            .keys()
            .map(|name| (name.clone(), Value::from(MASK)))
            .collect(),
        Value::Array(items) => items.iter().map(header_values).collect(),
        Value::Null => Value::Null,
        _ => MASK.into(),
    }
}

fn is_address(text: &str) -> bool {
    let text = text.trim_start();
    let is_magnet = text
        .get(..7)
        .is_some_and(|scheme| scheme.eq_ignore_ascii_case("magnet:"));
    is_magnet
        || text
            .split_once("://")
            .is_some_and(|(scheme, _)| is_scheme(scheme))
}

fn is_scheme(text: &str) -> bool {
    let fits = |letter: char| letter.is_ascii_alphanumeric() || "+-.".contains(letter);
    !text.is_empty() && text.chars().all(fits)
}

/// Masks an address, and addresses in its query one level deep.
fn masked(text: &str, depth: usize) -> String {
    let (before_fragment, fragment) = cut(text, '#');
    let (address, query) = cut(before_fragment, '?');
    let mut all = place(address);
    if let Some(query) = query {
        all.push('?');
        all.push_str(&pairs(query, depth));
    }
    if let Some(fragment) = fragment {
        all.push('#');
        all.push_str(&pairs(fragment, depth));
    }
    all
}

fn cut(text: &str, at: char) -> (&str, Option<&str>) {
    text.split_once(at)
        .map_or((text, None), |(before, after)| (before, Some(after)))
}

/// Authority and path, masked.
fn place(address: &str) -> String {
    let Some((scheme, rest)) = address.split_once("://") else {
        return address.to_owned();
    };
    let end = rest.find(['/', '\\']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let authority = match authority.rsplit_once('@') {
        Some((_, host)) => format!("{MASK}@{host}"),
        None => authority.to_owned(),
    };
    let segments: Vec<&str> = path.split('/').collect();
    let is_beside = |at: usize| {
        let near = |at: usize| segments.get(at).is_some_and(|near| near.starts_with("announce"));
        near(at + 1) || at.checked_sub(1).is_some_and(near)
    };
    let shown: Vec<&str> = segments
        .iter()
        .enumerate()
        .map(|(at, segment)| {
            let word = segment.split('.').next().unwrap_or_default();
            let is_passkey = is_token(word)
                || (is_beside(at)
                    && word.len() >= SHORTEST_BESIDE
                    && word.contains(|c: char| c.is_ascii_digit()));
            if is_passkey { MASK } else { segment }
        })
        .collect();
    format!("{scheme}://{authority}{}", shown.join("/"))
}

fn pairs(query: &str, depth: usize) -> String {
    let shown: Vec<String> = query.split('&').map(|pair| pair_of(pair, depth)).collect();
    shown.join("&")
}

fn pair_of(pair: &str, depth: usize) -> String {
    let Some((name, value)) = pair.split_once('=') else {
        return if is_token(pair) {
            MASK.to_owned()
        } else {
            pair.to_owned()
        };
    };
    let decoded = decoded(value);
    let bare = self::decoded(name).to_lowercase();
    // The info-hash is no secret, and a magnet link needs it.
    let is_hash = decoded.starts_with("urn:") || bare.replace(['_', '-'], "").contains("infohash");
    if value.is_empty() || is_hash {
        pair.to_owned()
    } else if is_secret(&bare) || KEYS.contains(&bare.as_str()) || is_token(&decoded) {
        format!("{name}={MASK}")
    } else if is_address(&decoded) && depth == 0 {
        let inner = masked(&decoded, depth + 1);
        if inner == decoded {
            pair.to_owned()
        } else {
            let inner: String = byte_serialize(inner.as_bytes()).collect();
            format!("{name}={inner}")
        }
    } else {
        pair.to_owned()
    }
}

fn decoded(value: &str) -> String {
    // The whole value: characters that would end it are encoded first.
    let whole = format!("v={}", value.replace('&', "%26"));
    parse(whole.as_bytes())
        .next()
        .map_or_else(String::new, |(_, value)| value.into_owned())
}

/// True for a word that looks machine-made: hexadecimal, or letters and digits mixed without separators.
fn is_token(word: &str) -> bool {
    let is_hex = |word: &str| word.chars().all(|c| c.is_ascii_hexdigit());
    let joined: String = word.chars().filter(|c| *c != '-').collect();
    if joined.len() >= SHORTEST && is_hex(&joined) {
        return true;
    }
    word.split(['-', '_', '~', '=', '%', '+', ' ']).any(|part| {
        let count = |fits: fn(&char) -> bool| part.chars().filter(fits).count();
        let (digits, letters) = (count(char::is_ascii_digit), count(char::is_ascii_alphabetic));
        part.len() >= SHORTEST && digits + letters == part.len() && digits >= 2 && letters >= 2
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const HEX: &str = "0123456789abcdef0123456789abcdef";

    #[test]
    fn addresses_within_a_text_are_masked() {
        for (text, shown) in [
            (
                format!("Tracker: [Could not reach https://t.example/{HEX}/announce] (again)"),
                format!("Tracker: [Could not reach https://t.example/{MASK}/announce] (again)"),
            ),
            (
                "é http://u:p@t.example/a \"udp://t.example:1/x?passkey=abcdef1\"".to_owned(),
                format!("é http://{MASK}@t.example/a \"udp://t.example:1/x?passkey={MASK}\""),
            ),
            (
                "no address: 12:30, a//b".to_owned(),
                "no address: 12:30, a//b".to_owned(),
            ),
            ("://".to_owned(), "://".to_owned()),
            (String::new(), String::new()),
        ] {
            assert_eq!(links(&text), shown, "{text}");
        }
    }

    #[test]
    fn names_passwords_keys_and_passkeys_are_masked() {
        for (given, shown) in [
            ("http://jo:pw@h:8080/rss?x=1", "http://•@h:8080/rss?x=1"),
            ("https://jo@h", "https://•@h"),
            ("http://h/rss?passkey=abc&x=1", "http://h/rss?passkey=•&x=1"),
            (
                "http://h/rss?x=1&API_Key=abc#token=d",
                "http://h/rss?x=1&API_Key=•#token=•",
            ),
            ("http://h/rss?r=abc", "http://h/rss?r=•"),
            ("https://t/HEX/announce", "https://t/•/announce"),
            ("udp://t:6969/announce/HEX", "udp://t:6969/announce/•"),
            ("https://t/announce.php?pid=HEX", "https://t/announce.php?pid=•"),
            ("https://t/a1b2c3d4/announce", "https://t/•/announce"),
            ("https://t/dl/HEX.torrent", "https://t/dl/•"),
            ("https://t/get/AbC012dEf345GhI678jKl", "https://t/get/•"),
            ("https://t/x?id=AbC012dEf345GhI678jKl", "https://t/x?id=•"),
            (
                "https://t/0a1b2c3d-0a1b-0a1b-0a1b-0a1b2c3d4e5f/x",
                "https://t/•/x",
            ),
            (
                "magnet:?xt=urn:btih:HEX&tr=http%3A%2F%2Ft%2FHEX%2Fannounce&dn=A",
                "magnet:?xt=urn:btih:HEX&tr=http%3A%2F%2Ft%2F%E2%80%A2%2Fannounce&dn=A",
            ),
        ] {
            let given = given.replace("HEX", HEX);
            let shown = shown.replace("HEX", HEX).replace('•', MASK);
            let bullets = "%E2%80%A2";
            assert_eq!(url(&given).replace(&bullets.repeat(8), bullets), shown, "{given}");
        }
    }

    #[test]
    fn the_rest_stays() {
        for text in [
            "http://tracker.example:6969/announce",
            "udp://tracker.example:80",
            "https://h/rss/all?cat=5040&page=2",
            "https://h/The-Good-Show-S01E02-1080p-WEB-x264-GROUP/details",
            "https://h/d/some.show.s01e02.torrent",
            "magnet:?xt=urn:btih:0123456789abcdef0123456789abcdef01234567&dn=x&tr=udp%3A%2F%2Ft%3A1",
            "http://[::1]:80/a@b",
            "",
            "no address",
        ] {
            assert_eq!(url(text), text);
        }
    }

    #[test]
    fn parameters_lose_headers_secrets_and_what_addresses_hold() {
        let given = json!({
            "url": "https://jo:pw@h/hook?token=t", "headers": {"Authorization": "Bearer x", "X-Any": "y"}, "apiKey": "k",
            "list": ["see http://a:b@h/"], "deleteData": true, "count": 3, "path": "/data/x", "retryAuth": false,
        });
        let mask = MASK;
        assert_eq!(
            value(&given),
            json!({
                "url": format!("https://{mask}@h/hook?token={mask}"), "headers": {"Authorization": mask, "X-Any": mask},
                "apiKey": mask, "list": [format!("see http://{REDACTED}@h/")], "deleteData": true, "count": 3,
                "path": "/data/x", "retryAuth": false,
            })
        );
    }

    #[test]
    fn a_text_of_json_loses_what_the_value_would() {
        let mask = MASK;
        let inner = json!({ "apiKey": "k" }).to_string();
        for (text, shown) in [
            (
                json!({ "token": "t", "text": "x" }).to_string(),
                json!({ "token": mask, "text": "x" }).to_string(),
            ),
            (
                "\n [{\"a\": {\"password\": \"p\"}}]".to_owned(),
                json!([{ "a": { "password": mask } }]).to_string(),
            ),
            (
                json!({ "inner": inner }).to_string(),
                json!({ "inner": json!({ "apiKey": mask }).to_string() }).to_string(),
            ),
            // Nothing to mask, or no JSON.
            (
                "{\"n\": 1.50,  \"text\": \"{name}\"}".to_owned(),
                "{\"n\": 1.50,  \"text\": \"{name}\"}".to_owned(),
            ),
            (
                "[a] see http://a:b@h/".to_owned(),
                format!("[a] see http://{REDACTED}@h/"),
            ),
            (
                format!("[{}]", "1,".repeat(LONGEST_DOCUMENT / 2)),
                mask.to_owned(),
            ),
        ] {
            assert_eq!(
                value(&json!({ "bodyTemplate": text })),
                json!({ "bodyTemplate": shown }),
                "{text:.80}"
            );
        }
    }
}
