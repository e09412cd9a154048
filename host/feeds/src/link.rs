//! Links of items: which kind they are, and the magnet links in texts.

use qm_metainfo::magnet::info_hash_of;
use url::Url;

use crate::{MAX_MAGNET, MAX_URL};

pub fn is_web(text: &str) -> bool {
    begins(text, "http://") || begins(text, "https://")
}

fn begins(text: &str, start: &str) -> bool {
    text.get(..start.len())
        .is_some_and(|head| head.eq_ignore_ascii_case(start))
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
                if info_hash_of(&magnet).is_some() {
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
