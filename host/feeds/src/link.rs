//! Links of items: which kind they are, and the info-hash they name.

use data_encoding::BASE32_NOPAD;
use url::{Url, form_urlencoded};

use crate::{MAX_MAGNET, MAX_URL};

pub fn is_magnet(text: &str) -> bool {
    begins(text, "magnet:")
}

pub fn is_web(text: &str) -> bool {
    begins(text, "http://") || begins(text, "https://")
}

fn begins(text: &str, start: &str) -> bool {
    text.get(..start.len())
        .is_some_and(|head| head.eq_ignore_ascii_case(start))
}

/// A text that is an info-hash: 40 hexadecimal digits, 32 characters of base 32, or the 64 digits of v2, of which the first 40
/// are it. Lower case.
pub fn info_hash(text: &str) -> Option<String> {
    let text = text.trim();
    match text.len() {
        40 | 64 if is_hex(text) => Some(text[..40].to_ascii_lowercase()),
        32 => {
            let hash = BASE32_NOPAD.decode(text.to_ascii_uppercase().as_bytes()).ok()?;
            Some(hex::encode(hash))
        }
        _ => None,
    }
}

/// The topic of a magnet link for what is an info-hash.
pub fn topic(text: &str) -> Option<String> {
    let text = text.trim();
    match text.len() {
        64 if is_hex(text) => Some(format!("urn:btmh:1220{}", text.to_ascii_lowercase())),
        _ => Some(format!("urn:btih:{}", info_hash(text)?)),
    }
}

/// A magnet link of a topic, with a name unless that is empty.
pub fn magnet_of(topic: &str, name: &str) -> String {
    let mut magnet = format!("magnet:?xt={topic}");
    if !name.is_empty() {
        magnet.push_str("&dn=");
        magnet.extend(form_urlencoded::byte_serialize(name.as_bytes()));
    }
    magnet
}

/// The web address that a relative link means.
pub fn resolved(link: &str, base: Option<&Url>) -> Option<String> {
    let is_relative = !link.is_empty() && !link.starts_with('#') && !link.contains(char::is_whitespace);
    let found = base
        .filter(|_| is_relative && link.len() <= MAX_URL)?
        .join(link)
        .ok()?;
    matches!(found.scheme(), "http" | "https").then(|| found.into())
}

fn is_hex(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// The info-hash of a magnet link: that of v1, else that of v2.
pub fn btih(magnet: &str) -> Option<String> {
    let topics: Vec<String> = parameters(magnet)
        .filter(|(name, _)| {
            let name = name.to_ascii_lowercase();
            name == "xt" || name.starts_with("xt.")
        })
        .map(|(_, value)| value.to_ascii_lowercase().replace("%3a", ":"))
        .collect();
    let v1 = topics.iter().filter_map(|topic| topic.strip_prefix("urn:btih:"));
    let v1 = v1.filter(|hash| hash.len() != 64).find_map(info_hash);
    v1.or_else(|| {
        let v2 = topics
            .iter()
            .filter_map(|topic| topic.strip_prefix("urn:btmh:1220"));
        v2.filter(|hash| hash.len() == 64).find_map(info_hash)
    })
}

/// The name that a magnet link gives, percent-encoded as it is.
pub fn name_of(magnet: &str) -> Option<&str> {
    parameters(magnet)
        .find_map(|(name, value)| (name.eq_ignore_ascii_case("dn") && !value.is_empty()).then_some(value))
}

fn parameters(link: &str) -> impl Iterator<Item = (&str, &str)> {
    let query = link.split_once('?').map_or("", |(_, query)| query);
    let query = query.split('#').next().unwrap_or(query);
    query.split('&').filter_map(|pair| pair.split_once('='))
}

/// The first magnet link in a text, or in the HTML that it is.
pub fn magnet_in(text: &str) -> Option<String> {
    let mut rest = text;
    while let Some(at) = memchr::memchr2(b'm', b'M', rest.as_bytes()) {
        rest = &rest[at..];
        if begins(rest, "magnet:?xt") {
            let end = rest.find(|c: char| {
                c.is_whitespace() || c.is_control() || matches!(c, '"' | '\'' | '<' | '>' | '`')
            });
            let (magnet, behind) = rest.split_at(end.unwrap_or(rest.len()));
            rest = behind;
            if magnet.len() <= MAX_MAGNET {
                let magnet = crate::text::address(magnet);
                if btih(&magnet).is_some() {
                    return Some(magnet);
                }
            }
            continue;
        }
        rest = &rest[1..];
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const HASH: &str = "abcdef0123456789abcdef0123456789abcdef01";

    #[test]
    fn hashes_of_magnet_links() {
        let v2 = "a".repeat(64);
        for (magnet, expected) in [
            (
                format!("magnet:?xt=urn:btih:{}&dn=x", HASH.to_uppercase()),
                Some(HASH),
            ),
            (format!("MAGNET:?dn=x&XT=urn%3Abtih%3A{HASH}"), Some(HASH)),
            (
                "magnet:?xt=urn:btih:VPG66AJDIVTYTK6N54ASGRLHRGV433YB".to_owned(),
                Some(HASH),
            ),
            (format!("magnet:?xt=urn:btmh:1220{v2}"), Some(&v2[..40])),
            (
                format!("magnet:?xt.1=urn:btmh:1220{v2}&xt.2=urn:btih:{HASH}"),
                Some(HASH),
            ),
            (format!("magnet:?dn=urn:btih:{HASH}"), None),
            ("magnet:?xt=urn:btih:12".to_owned(), None),
            (format!("magnet:?xt=urn:btih:{v2}"), None),
            ("magnet:".to_owned(), None),
        ] {
            assert_eq!(btih(&magnet).as_deref(), expected, "{magnet}");
        }
    }

    #[test]
    fn an_info_hash_makes_a_magnet_link() {
        let v2 = "AB".repeat(32);
        for (hash, magnet) in [
            (HASH, format!("magnet:?xt=urn:btih:{HASH}&dn=Tom+%26+x")),
            (
                &v2,
                format!("magnet:?xt=urn:btmh:1220{}&dn=Tom+%26+x", "ab".repeat(32)),
            ),
        ] {
            let made = magnet_of(&topic(hash).unwrap(), "Tom & x");
            assert_eq!(made, magnet);
            assert_eq!(btih(&made), info_hash(hash));
        }
        assert_eq!(topic("12"), None);
    }

    #[test]
    fn magnets_are_found_in_texts() {
        let magnet = format!("magnet:?xt=urn:btih:{HASH}&dn=x");
        for text in [
            format!("<a href=\"{}\">get</a>", magnet.replace('&', "&amp;")),
            format!("my magnet: see {magnet} there"),
            format!("magnet:?xt=urn:btih:short '{magnet}'"),
            magnet.clone(),
        ] {
            assert_eq!(magnet_in(&text).as_deref(), Some(magnet.as_str()), "{text}");
        }
        assert_eq!(magnet_in("magnet:?xt=urn:tree:x"), None);
        assert_eq!(magnet_in(&"m".repeat(100_000)), None);
    }
}
