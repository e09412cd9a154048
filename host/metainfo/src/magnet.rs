//! Magnet links: the info-hash, name and trackers of `magnet:?xt=urn:btih:…` (v1) and `urn:btmh:…` (v2).

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use crate::info_hash;

/// Longer links are refused: no client produces them.
pub const MAX_MAGNET_BYTES: usize = 64 * 1024;

/// Why a text is not a usable magnet link; each reads as the message of a 400.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MagnetError {
    #[error("The magnet link is empty.")]
    Empty,
    #[error("The magnet link is longer than 64 KiB.")]
    TooLong,
    #[error(
        "The magnet link does not start with \"magnet:\". To add a torrent by its web address, use the URL field."
    )]
    NotMagnet,
    /// A line break would smuggle a second address into clients that take one a line.
    #[error("The magnet link contains line breaks or control characters.")]
    ControlCharacters,
    #[error("The magnet link's info-hash (urn:btih) must be 40 hex digits or 32 base32 characters.")]
    BadHash,
    #[error("The magnet link's info-hash (urn:btmh) must be 1220 followed by 64 hex digits.")]
    BadMultihash,
    #[error("The magnet link has no info-hash (xt=urn:btih:… or xt=urn:btmh:…).")]
    NoHash,
}

/// Contents of a magnet link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Magnet {
    /// The link to hand to a client: decoded once if it came wholly percent-encoded, and spelt in the one way that every client
    /// reads. Topics in lower case and first, names of parameters in lower case, trackers as `tr`; values are as they came.
    pub uri: String,
    /// The identity clients list it under: the v1 hash if there is one, else the v2 hash cut to 40 digits. Lower case.
    pub hash: String,
    /// A hybrid's other identity, its v2 hash cut to 40 digits: qBittorrent lists hybrids under it since 4.4.
    pub alias: Option<String>,
    /// It has no v1 hash: clients that know only v1 can do nothing with it.
    pub is_v2_only: bool,
    /// `dn`, the name it may be shown under until its metadata arrived.
    pub name: Option<String>,
    /// `tr`, in order.
    pub trackers: Vec<String>,
}

impl Magnet {
    /// Reads a magnet link. v1 wins in a hybrid.
    pub fn parse(text: &str) -> Result<Magnet, MagnetError> {
        let text = text.trim();
        if text.is_empty() {
            return Err(MagnetError::Empty);
        }
        if text.len() > MAX_MAGNET_BYTES {
            return Err(MagnetError::TooLong);
        }
        let uri = if is_magnet(text) {
            text.to_owned()
        } else {
            decode(text)
        };
        if !is_magnet(&uri) {
            return Err(MagnetError::NotMagnet);
        }
        if uri.contains(char::is_control) {
            return Err(MagnetError::ControlCharacters);
        }
        let mut link = Magnet {
            hash: String::new(),
            alias: None,
            is_v2_only: false,
            name: None,
            trackers: Vec::new(),
            uri,
        };
        link.hash = link.read_parameters()?;
        Ok(link)
    }

    /// Fills name and trackers, writes the link anew, returns the info-hash. Parameters are split before they are decoded, so that an
    /// escaped `&xt=` inside a name stays part of the name.
    fn read_parameters(&mut self) -> Result<String, MagnetError> {
        let query = self.uri["magnet:".len()..].trim_start_matches('?').to_owned();
        let (mut v1, mut v2) = (None, None);
        let mut others = String::new();
        for (key, raw) in query.split('&').filter_map(|pair| pair.split_once('=')) {
            let value = decode(raw);
            let key = key.to_ascii_lowercase();
            let mut keep = |key: &str| others.extend(["&", key, "=", raw]);
            match key.as_str() {
                "dn" => {
                    keep("dn");
                    self.name = Some(value.replace('+', " ")).filter(|name| !name.is_empty());
                }
                key if is_numbered(key, "tr") => {
                    keep("tr");
                    self.trackers.push(value);
                }
                key if is_numbered(key, "xt") => {
                    if let Some(hash) = strip_prefix_any_case(&value, "urn:btih:") {
                        keep_first_good(&mut v1, info_hash::read_v1(hash).ok_or(MagnetError::BadHash));
                    } else if let Some(hash) = strip_prefix_any_case(&value, "urn:btmh:") {
                        keep_first_good(&mut v2, read_multihash(hash).ok_or(MagnetError::BadMultihash));
                    }
                }
                key => keep(key),
            }
        }
        self.is_v2_only = v1.is_none();
        let listed = |v2: &String| v2[..40].to_owned();
        let hash = match (&v1, &v2) {
            (Some(v1), _) => v1.clone()?,
            (None, Some(v2)) => v2.as_ref().map(listed).map_err(|error| *error)?,
            (None, None) => return Err(MagnetError::NoHash),
        };
        let (v1, v2) = (v1.and_then(Result::ok), v2.and_then(Result::ok));
        self.alias = v2.as_ref().map(listed).filter(|alias| *alias != hash);
        let topics = v1.map(|v1| format!("xt=urn:btih:{v1}"));
        let topics: Vec<String> = topics
            .into_iter()
            .chain(v2.map(|v2| format!("xt=urn:btmh:1220{v2}")))
            .collect();
        self.uri = format!("magnet:?{}{others}", topics.join("&"));
        Ok(hash)
    }
}

/// `xt`, and `xt.1`, `xt.2` … as links with several values write it.
fn is_numbered(key: &str, name: &str) -> bool {
    key.strip_prefix(name)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

fn keep_first_good<T, E>(slot: &mut Option<Result<T, E>>, found: Result<T, E>) {
    if !matches!(slot, Some(Ok(_))) {
        *slot = Some(found);
    }
}

fn strip_prefix_any_case<'a>(text: &'a str, prefix: &str) -> Option<&'a str> {
    let head = text.get(..prefix.len())?;
    head.eq_ignore_ascii_case(prefix).then(|| &text[prefix.len()..])
}

/// Percent-decodes; a bad escape, or one that gives no UTF-8, leaves the text as it is.
fn decode(text: &str) -> String {
    let escapes_are_good = text
        .split('%')
        .skip(1)
        .all(|rest| rest.len() >= 2 && rest.as_bytes()[..2].iter().all(u8::is_ascii_hexdigit));
    match percent_decode_str(text).decode_utf8() {
        Ok(decoded) if escapes_are_good => decoded.into_owned(),
        _ => text.to_owned(),
    }
}

/// The whole v2 hash, in lower case.
fn read_multihash(hash: &str) -> Option<String> {
    let hash = hash.strip_prefix("1220")?;
    info_hash::is_v2(hash).then(|| hash.to_ascii_lowercase())
}

/// True of a text that begins as a magnet link does; [`Magnet::parse`] reads the rest.
pub fn is_magnet(text: &str) -> bool {
    strip_prefix_any_case(text, "magnet:").is_some()
}

/// Topic (`xt`) of an info-hash of either version, whose v2 hash must be whole.
pub fn topic_of(hash: &str) -> Option<String> {
    let hash = hash.trim();
    if info_hash::is_v2(hash) {
        return Some(format!("urn:btmh:1220{}", hash.to_ascii_lowercase()));
    }
    Some(format!("urn:btih:{}", info_hash::read(hash)?))
}

/// Magnet link of a topic, with a name unless that is empty.
pub fn link_of(topic: &str, name: &str) -> String {
    /// Characters that forms do not encode, and the blank, for which they write `+`.
    const IN_NAMES: &AsciiSet = &NON_ALPHANUMERIC
        .remove(b'*')
        .remove(b'-')
        .remove(b'.')
        .remove(b'_')
        .remove(b' ');
    let mut link = format!("magnet:?xt={topic}");
    if !name.is_empty() {
        let name: String = utf8_percent_encode(name, IN_NAMES).collect();
        link.push_str("&dn=");
        link.push_str(&name.replace(' ', "+"));
    }
    link
}

/// Info-hash that a magnet link of a site names, whatever else is wrong with the link: that of v1, else that of v2.
pub fn info_hash_of(link: &str) -> Option<String> {
    let topics: Vec<String> = parameters(link)
        .filter(|(name, _)| is_numbered(&name.to_ascii_lowercase(), "xt"))
        .map(|(_, value)| value.to_ascii_lowercase().replace("%3a", ":"))
        .collect();
    let of_kind = |kind: &'static str| {
        topics
            .iter()
            .filter_map(move |topic| topic.strip_prefix(kind))
            .map(str::trim)
    };
    of_kind("urn:btih:")
        .find_map(info_hash::read_v1)
        .or_else(|| of_kind("urn:btmh:1220").find_map(info_hash::read_v2))
}

/// Name (`dn`) that a magnet link gives, percent-encoded as it is.
pub fn encoded_name_of(link: &str) -> Option<&str> {
    parameters(link)
        .find_map(|(name, value)| (name.eq_ignore_ascii_case("dn") && !value.is_empty()).then_some(value))
}

fn parameters(link: &str) -> impl Iterator<Item = (&str, &str)> {
    let query = link.split_once('?').map_or("", |(_, query)| query);
    let query = query.split('#').next().unwrap_or(query);
    query.split('&').filter_map(|pair| pair.split_once('='))
}

#[cfg(test)]
mod tests {
    use data_encoding::BASE32_NOPAD;
    use proptest::prelude::*;

    use super::*;

    const HEX: &str = "c12fe1c06bba254a9dc9f519b335aa7c1367a88a";
    /// The same twenty bytes.
    const BASE32: &str = "YEX6DQDLXISUVHOJ6UM3GNNKPQJWPKEK";
    const V2: &str = "caf1e1c30e81cb361b9ee167c4aa64228a7fa4fa9f6105232b28ad099f3a302e";

    fn hash(link: &str) -> Result<String, MagnetError> {
        Magnet::parse(link).map(|magnet| magnet.hash)
    }

    #[test]
    fn every_spelling_of_an_info_hash() {
        for link in [
            format!("magnet:?xt=urn:btih:{HEX}"),
            format!("  magnet:?xt=urn:btih:{HEX}\n"),
            format!("MAGNET:?XT=URN:BTIH:{}", HEX.to_uppercase()),
            format!("magnet:?dn=a&xt=urn:btih:{HEX}&tr=udp%3A%2F%2Ft"),
            format!("magnet:?xt=urn:btih:{BASE32}"),
            format!("magnet:?xt=urn:btih:{}", BASE32.to_lowercase()),
            format!("magnet:?xt=urn%3Abtih%3A{HEX}"),
            format!("magnet%3A%3Fxt%3Durn%3Abtih%3A{HEX}%26dn%3Da"),
            format!("magnet:?dn=100%&xt=urn:btih:{HEX}"),
            format!("magnet:?xt.1=urn:btih:{HEX}&xt.2=urn:btmh:1220{V2}"),
            format!("magnet:?xt=urn:btmh:1220{V2}&xt=urn:btih:{HEX}"),
            format!("magnet:?xt=urn:btih:nonsense&xt=urn:btih:{HEX}"),
        ] {
            assert_eq!(hash(&link).as_deref(), Ok(HEX), "{link}");
        }
        assert_eq!(
            hash(&format!("magnet:?xt=urn:btmh:1220{}", V2.to_uppercase())).as_deref(),
            Ok(&V2[..40])
        );
    }

    #[test]
    fn each_fault_has_its_own_message() {
        let long = format!("magnet:?xt=urn:btih:{HEX}&dn={}", "a".repeat(MAX_MAGNET_BYTES));
        let cases: Vec<(String, MagnetError)> = vec![
            (String::new(), MagnetError::Empty),
            (" \t".to_owned(), MagnetError::Empty),
            ("http://a.example/x.torrent".to_owned(), MagnetError::NotMagnet),
            (HEX.to_owned(), MagnetError::NotMagnet),
            ("magnét:".to_owned(), MagnetError::NotMagnet),
            ("magnet:".to_owned(), MagnetError::NoHash),
            ("magnet:?dn=a".to_owned(), MagnetError::NoHash),
            ("magnet:?xt=urn:sha1:abc".to_owned(), MagnetError::NoHash),
            (format!("magnet:?xt=urn:btih:{}", &HEX[1..]), MagnetError::BadHash),
            (
                format!("magnet:?xt=urn:btih:{}g", &HEX[1..]),
                MagnetError::BadHash,
            ),
            (
                format!("magnet:?xt=urn:btih:{}1", &BASE32[1..]),
                MagnetError::BadHash,
            ),
            (
                format!("magnet:?xt=urn:btih:short&xt=urn:btmh:1220{V2}"),
                MagnetError::BadHash,
            ),
            (
                format!("magnet:?xt=urn:btmh:1220{}", &V2[1..]),
                MagnetError::BadMultihash,
            ),
            (format!("magnet:?xt=urn:btmh:1114{V2}"), MagnetError::BadMultihash),
            (
                format!("magnet:?xt=urn:btih:{HEX}\nhttp://10.0.0.1/"),
                MagnetError::ControlCharacters,
            ),
            (
                format!("magnet%3A%3Fxt%3Durn%3Abtih%3A{HEX}%0Ahttp://10.0.0.1/"),
                MagnetError::ControlCharacters,
            ),
            (long, MagnetError::TooLong),
        ];
        for (link, error) in cases {
            assert_eq!(hash(&link), Err(error), "{}", &link[..link.len().min(100)]);
        }
    }

    #[test]
    fn an_escaped_parameter_in_the_name_stays_in_the_name() {
        let other = "0".repeat(40);
        let magnet = Magnet::parse(&format!(
            "magnet:?dn=a%26xt%3Durn%3Abtih%3A{other}&xt=urn:btih:{HEX}"
        ))
        .expect("valid");
        assert_eq!(magnet.hash, HEX);
        assert_eq!(magnet.name, Some(format!("a&xt=urn:btih:{other}")));
    }

    #[test]
    fn name_and_trackers() {
        let link = format!("magnet:?xt=urn:btih:{HEX}&dn=A+name%21&tr=http%3A%2F%2Fa%2F&tr.1=udp://b:1");
        let magnet = Magnet::parse(&link).expect("valid");
        assert_eq!(magnet.name.as_deref(), Some("A name!"));
        assert_eq!(magnet.trackers, ["http://a/", "udp://b:1"]);
        assert_eq!(magnet.uri, link.replace("tr.1", "tr"));
    }

    #[test]
    fn clients_get_a_link_in_one_spelling() {
        let plain = format!("magnet:?xt=urn:btih:{HEX}");
        let hybrid = format!("{plain}&xt=urn:btmh:1220{V2}");
        for (link, uri) in [
            (plain.clone(), plain.clone()),
            (
                format!("MAGNET:XT=URN:BTIH:{}", HEX.to_uppercase()),
                plain.clone(),
            ),
            (
                format!("magnet%3A%3Fxt%3Durn%253Abtih%253A{BASE32}%26dn%3Da%2526b"),
                format!("{plain}&dn=a%26b"),
            ),
            (
                format!("magnet:?dn=A%20b&xt.1=urn:btmh:1220{V2}&xt.2=urn:btih:{BASE32}&x.pe=a:1"),
                format!("{hybrid}&dn=A%20b&x.pe=a:1"),
            ),
            (
                format!("magnet:?xt=urn:btih:nonsense&TR=udp%3A%2F%2Fb&xt=urn:btih:{HEX}&ws=c&xt=urn:sha1:D"),
                format!("{plain}&tr=udp%3A%2F%2Fb&ws=c"),
            ),
            (
                format!("magnet:?xt=urn%3Abtmh%3A1220{}", V2.to_uppercase()),
                format!("magnet:?xt=urn:btmh:1220{V2}"),
            ),
        ] {
            let magnet = Magnet::parse(&link).expect("valid");
            assert_eq!(magnet.uri, uri, "{link}");
            assert_eq!(
                Magnet::parse(&uri),
                Ok(magnet),
                "a second reading changes nothing"
            );
        }
    }

    const LISTED: &str = "abcdef0123456789abcdef0123456789abcdef01";

    #[test]
    fn hashes_of_magnet_links() {
        let v2 = "a".repeat(64);
        for (magnet, expected) in [
            (
                format!("magnet:?xt=urn:btih:{}&dn=x", LISTED.to_uppercase()),
                Some(LISTED),
            ),
            (format!("MAGNET:?dn=x&XT=urn%3Abtih%3A{LISTED}"), Some(LISTED)),
            (
                "magnet:?xt=urn:btih:VPG66AJDIVTYTK6N54ASGRLHRGV433YB".to_owned(),
                Some(LISTED),
            ),
            (format!("magnet:?xt=urn:btmh:1220{v2}"), Some(&v2[..40])),
            (
                format!("magnet:?xt.1=urn:btmh:1220{v2}&xt.2=urn:btih:{LISTED}"),
                Some(LISTED),
            ),
            (format!("magnet:?dn=urn:btih:{LISTED}"), None),
            ("magnet:?xt=urn:btih:12".to_owned(), None),
            (format!("magnet:?xt=urn:btih:{v2}"), None),
            ("magnet:".to_owned(), None),
        ] {
            assert_eq!(info_hash_of(&magnet).as_deref(), expected, "{magnet}");
        }
    }

    #[test]
    fn an_info_hash_makes_a_magnet_link() {
        let v2 = "AB".repeat(32);
        for (hash, magnet) in [
            (LISTED, format!("magnet:?xt=urn:btih:{LISTED}&dn=Tom+%26+x")),
            (
                &v2,
                format!("magnet:?xt=urn:btmh:1220{}&dn=Tom+%26+x", "ab".repeat(32)),
            ),
        ] {
            let made = link_of(&topic_of(hash).unwrap(), "Tom & x");
            assert_eq!(made, magnet);
            assert_eq!(info_hash_of(&made), info_hash::read(hash));
        }
        assert_eq!(topic_of("12"), None);
    }

    proptest! {
        #[test]
        fn arbitrary_text_never_panics(text in any::<String>()) {
            let _ = Magnet::parse(&text);
        }

        #[test]
        fn near_magnets_never_panic(tail in "(xt|dn|tr|=|&|urn:|bt[im]h:|1220|%[0-9a-f]{0,2}|[a-z2-7é]{0,40}){0,20}") {
            let _ = Magnet::parse(&format!("magnet:?{tail}"));
        }

        #[test]
        fn base32_and_hex_agree(bytes in any::<[u8; 20]>()) {
            let link = format!("magnet:?xt=urn:btih:{}", BASE32_NOPAD.encode(&bytes));
            prop_assert_eq!(hash(&link), Ok(hex::encode(bytes)));
        }
    }
}
