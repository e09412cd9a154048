//! Links of items: which kind they are, and the info-hash they name.

use data_encoding::BASE32_NOPAD;

use crate::MAX_MAGNET;

/// Parameters of download links that name a torrent by its info-hash. Others of 40 digits are keys of members.
const NAMES_OF_A_HASH: &[&str] = &[
    "hash",
    "infohash",
    "info_hash",
    "info-hash",
    "btih",
    "ih",
    "id",
    "torrent",
    "t",
];

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

/// The info-hash that a download link names: 40 hexadecimal digits by themselves in its path, or in a parameter that is about
/// torrents.
pub fn hash_in(link: &str) -> Option<String> {
    let token = |text: &str| {
        text.split(|c: char| !c.is_ascii_alphanumeric())
            .find(|token| token.len() == 40 && is_hex(token))
            .map(str::to_ascii_lowercase)
    };
    let (_, rest) = link.split_once("://")?;
    let path = rest.split(['?', '#']).next().unwrap_or(rest);
    let path = path.split_once('/').map_or("", |(_, path)| path);
    token(path).or_else(|| {
        parameters(link)
            .filter(|(name, _)| NAMES_OF_A_HASH.contains(&name.to_ascii_lowercase().as_str()))
            .find_map(|(_, value)| token(value))
    })
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

/// Bytes of a size that is written for people, such as `1.4 GiB`; about right.
pub fn size_in_words(text: &str) -> Option<u64> {
    let text = text.trim();
    let end = text.find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | ',' | ' ' | '\u{a0}')))?;
    let (number, unit) = text.split_at(end);
    let number = number.trim().replace(',', ".");
    if number.len() > 16 {
        return None;
    }
    let number: f64 = number.parse().ok()?;
    let (base, rest): (f64, &str) = match unit.trim() {
        unit if unit.len() == 3 && unit.is_ascii() && unit[1..].eq_ignore_ascii_case("ib") => {
            (1024.0, &unit[..1])
        }
        unit if unit.len() == 2 && unit.is_ascii() && unit[1..].eq_ignore_ascii_case("b") => {
            (1000.0, &unit[..1])
        }
        _ => return None,
    };
    let power = "kmgtp".find(&rest.to_ascii_lowercase())?;
    let bytes = number * base.powi(power as i32 + 1);
    (1.0..1e18).contains(&bytes).then_some(bytes as u64)
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
    fn hashes_of_links_are_no_keys() {
        for (link, expected) in [
            (
                format!("http://h/download/{}/x.torrent", HASH.to_uppercase()),
                Some(HASH),
            ),
            (format!("http://h/{HASH}.torrent"), Some(HASH)),
            (format!("http://h/get?a=b&hash={HASH}"), Some(HASH)),
            (format!("http://h/get?passkey={HASH}"), None),
            (format!("http://h/get#{HASH}"), None),
            (format!("http://h/{HASH}0"), None),
            (format!("http://{HASH}/x"), None),
            (format!("magnet:?xt=urn:btih:{HASH}"), None),
        ] {
            assert_eq!(hash_in(&link).as_deref(), expected, "{link}");
        }
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

    #[test]
    fn sizes_for_people() {
        for (text, expected) in [
            ("1.5 GiB", Some(1_610_612_736)),
            ("700MB", Some(700_000_000)),
            ("1,5 kib", Some(1536)),
            ("2\u{a0}TB", Some(2_000_000_000_000)),
            ("12", None),
            ("0 MB", None),
            ("-1 MB", None),
            ("1.2.3 MB", None),
            ("5 bytes", None),
            ("MB", None),
            ("1 ÄB", None),
        ] {
            assert_eq!(size_in_words(text), expected, "{text}");
        }
    }
}
