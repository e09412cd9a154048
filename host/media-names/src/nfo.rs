//! Ids in `.nfo` files beside films and in the folders of shows: `tvshow.nfo`, `movie.nfo`, one of a film's own name.
//!
//! Strangers write these files. One is read as far as possible: from one that is cut off, or not XML at all, complete
//! elements before the fault are taken. Only the entities of XML itself are replaced. Bounds: [`MOST`] bytes, elements
//! [`DEPTH`] deep.

use std::borrow::Cow;
use std::sync::LazyLock;

use encoding_rs::{Encoding, UTF_8, WINDOWS_1252};
use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};
use regex::Regex;

use crate::naming::tag::Ids;

/// Name of the file of a show.
pub const NAME: &[u8] = b"tvshow.nfo";
/// Largest size in bytes; a larger file is skipped.
pub const MOST: u64 = 512 << 10;
const DEPTH: usize = 64;
/// Most bytes of an id that are read.
const MAX_ID: usize = 64;

/// True if a file of this name may give the ids of a film beside it.
pub fn is_note(name: &[u8]) -> bool {
    name.len() > 4 && name[name.len() - 4..].eq_ignore_ascii_case(b".nfo")
}

/// Id of a series in the data set, from this text.
pub fn series_id(text: &[u8]) -> Option<String> {
    ids(text, b"tvshow").titledb
}

/// Ids of a film, from this text.
pub fn film_ids(text: &[u8]) -> Ids {
    ids(text, b"movie")
}

/// Ids right in the root element with the name `root`: `uniqueid` of a type, else an element of a provider, else `id`; else,
/// in a text that is not XML or after the XML, an address of a provider's page.
fn ids(text: &[u8], root: &[u8]) -> Ids {
    let text = plain(text);
    let mut reader = Reader::from_reader(&*text);
    let config = reader.config_mut();
    config.check_end_names = false;
    config.allow_unmatched_ends = true;
    config.allow_dangling_amp = true;
    let mut found = Found::default();
    let mut depth = 0_usize;
    let mut has_root = false;
    let mut end = 0;
    loop {
        match reader.read_event() {
            Ok(Event::Start(start)) => {
                if depth == 0 && !start.local_name().as_ref().eq_ignore_ascii_case(root) {
                    return Ids::default();
                }
                has_root = true;
                // An element within an id is no part of it.
                found.open = if depth == 1 {
                    Source::from_element(&start)
                } else {
                    None
                };
                found.text.clear();
                depth += 1;
                if depth > DEPTH {
                    break;
                }
            }
            Ok(Event::End(_)) => {
                depth = depth.saturating_sub(1);
                found.close();
                if depth == 0 && has_root {
                    end = usize::try_from(reader.buffer_position()).unwrap_or(text.len());
                    break;
                }
            }
            Ok(Event::Text(text)) => found.take(&text),
            Ok(Event::CData(text)) => found.take(&text),
            Ok(Event::Eof) | Err(_) => break,
            Ok(_) => {}
        }
    }
    // Within an element an address may be that of anything.
    let rest = text.get(end..).filter(|_| !has_root || end > 0);
    let by_address = rest.map(addressed).unwrap_or_default();
    found.unique.or(found.named).or(found.bare).or(by_address)
}

/// Text in UTF-8, without a byte order mark.
pub(crate) fn plain(text: &[u8]) -> Cow<'_, [u8]> {
    let wide = |text: &[u8], unit: fn([u8; 2]) -> u16| {
        let units = text.chunks_exact(2).map(|pair| unit([pair[0], pair[1]]));
        let letters = char::decode_utf16(units).map(|letter| letter.unwrap_or(char::REPLACEMENT_CHARACTER));
        Cow::Owned(letters.collect::<String>().into_bytes())
    };
    match text {
        [0xff, 0xfe, rest @ ..] => wide(rest, u16::from_le_bytes),
        [0xfe, 0xff, rest @ ..] => wide(rest, u16::from_be_bytes),
        [b'<', 0, _, 0, ..] => wide(text, u16::from_le_bytes),
        [0, b'<', 0, _, ..] => wide(text, u16::from_be_bytes),
        _ => {
            let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
            match other_encoding(text) {
                Some(encoding) => {
                    let (text, _) = encoding.decode_without_bom_handling(text);
                    Cow::Owned(text.into_owned().into_bytes())
                }
                None => Cow::Borrowed(text),
            }
        }
    }
}

/// Encoding of a text that is not UTF-8: the one that it names, else that of old programs. `None`: it is UTF-8, maybe with faults.
fn other_encoding(text: &[u8]) -> Option<&'static Encoding> {
    let (mut good, mut bad) = (0_usize, 0_usize);
    for chunk in text.utf8_chunks() {
        let is_wide = |letter: &char| !letter.is_ascii();
        good += chunk.valid().chars().filter(is_wide).count();
        bad += usize::from(!chunk.invalid().is_empty());
    }
    (bad > good).then(|| declared_encoding(text).unwrap_or(WINDOWS_1252))
}

/// Encoding that the declaration of an XML text names, if its letters include those of ASCII.
fn declared_encoding(text: &[u8]) -> Option<&'static Encoding> {
    const HEAD: usize = 200;
    let head = text[..text.len().min(HEAD)].trim_ascii_start();
    let head = head.strip_prefix(b"<?xml")?;
    let end = head.windows(2).position(|pair| pair == b"?>")?;
    let at = head[..end].windows(8).position(|word| word == b"encoding")?;
    let rest = head[at + 8..end].trim_ascii_start().strip_prefix(b"=")?;
    let rest = rest.trim_ascii_start();
    let quote = rest.first().filter(|quote| matches!(quote, b'"' | b'\''))?;
    let name = rest[1..].split(|byte| byte == quote).next()?;
    let encoding = Encoding::for_label(name)?;
    (encoding != UTF_8 && encoding.is_ascii_compatible()).then_some(encoding)
}

/// Ids by addresses of pages in a text.
fn addressed(text: &[u8]) -> Ids {
    static ADDRESS: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(
            r"(?i)\b(?:(imdb)\.com/(?:[a-z]{2}/)?title/(tt[0-9]{5,10})|(themoviedb)\.org/(?:movie|tv)/([0-9]{1,10})|(thetvdb)\.com/(?:[a-z/]*[?&](?:series)?id=|(?:dereferrer/)?(?:series|movies?)/)([0-9]{1,10}))(?:[^0-9]|$)",
        )
        .ok()
    });
    let mut ids = Ids::default();
    let text = String::from_utf8_lossy(text);
    for found in ADDRESS.iter().flat_map(|address| address.captures_iter(&text)) {
        for at in [1, 3, 5] {
            if let (Some(provider), Some(value)) = (found.get(at), found.get(at + 1)) {
                ids.take(&provider.as_str().to_ascii_lowercase(), value.as_str());
            }
        }
    }
    ids
}

/// Element of an id, and its provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    Unique(&'static str),
    Named(&'static str),
    /// `id`, whose provider is not known.
    Bare,
}

impl Source {
    fn from_element(start: &BytesStart<'_>) -> Option<Self> {
        const PROVIDERS: [&str; 3] = ["imdb", "tmdb", "tvdb"];
        let name = start.local_name().as_ref().to_ascii_lowercase();
        if name == b"id" {
            return Some(Self::Bare);
        }
        if name != b"uniqueid" {
            let is_of = |provider: &&&str| {
                let rest = name.strip_prefix(provider.as_bytes());
                rest.is_some_and(|rest| rest == b"id" || rest == b"_id")
            };
            return PROVIDERS.iter().find(is_of).map(|provider| Self::Named(provider));
        }
        let mut attributes = start.html_attributes();
        let mut attributes = attributes.with_checks(false).flatten();
        let kind = attributes.find(|attribute| attribute.key.as_ref().eq_ignore_ascii_case(b"type"))?;
        let kind = kind.value.trim_ascii().to_ascii_lowercase();
        let is_of = |provider: &&&str| kind == provider.as_bytes();
        PROVIDERS
            .iter()
            .find(is_of)
            .map(|provider| Self::Unique(provider))
    }
}

/// The first id of each source.
#[derive(Default)]
struct Found {
    open: Option<Source>,
    text: Vec<u8>,
    unique: Ids,
    named: Ids,
    bare: Ids,
}

impl Found {
    fn take(&mut self, text: &[u8]) {
        if self.open.is_some() {
            let room = MAX_ID.saturating_sub(self.text.len());
            self.text.extend_from_slice(&text[..text.len().min(room)]);
        }
    }

    fn close(&mut self) {
        let Some(source) = self.open.take() else { return };
        let text = String::from_utf8_lossy(&self.text).trim().to_ascii_lowercase();
        match source {
            Source::Unique(provider) => self.unique.take(provider, &text),
            Source::Named(provider) => self.named.take(provider, &text),
            Source::Bare if text.starts_with("tt") => self.bare.take("imdb", &text),
            Source::Bare => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn ids_are_found_where_they_belong() {
        let whole = |inner: &str| format!("\u{feff}<?xml version=\"1.0\"?>\n<tvshow>{inner}</tvshow>");
        for (inner, expected) in [
            (r#"<uniqueid type="imdb">tt0306414</uniqueid>"#, Some("tt0306414")),
            (
                r#"<title>A &amp; B</title><uniqueid default="true" type='IMDB'> TT0306414 </uniqueid>"#,
                Some("tt0306414"),
            ),
            ("<imdbid>0306414</imdbid>", Some("tt0306414")),
            ("<imdbid><![CDATA[tt0306414]]></imdbid>", Some("tt0306414")),
            (
                r#"<imdbid>tt0000001</imdbid><uniqueid type="tmdb">1438</uniqueid><uniqueid type="imdb">tt0306414</uniqueid>"#,
                Some("tt0306414"),
            ),
            (
                r#"<uniqueid type="imdb">soon</uniqueid><uniqueid type="imdb">tt0306414</uniqueid>"#,
                Some("tt0306414"),
            ),
            (
                "<actor><name>Jo</name><imdbid>tt0000002</imdbid></actor><imdbid>tt0306414</imdbid>",
                Some("tt0306414"),
            ),
            ("<imdb_id>tt0306414</imdb_id>", Some("tt0306414")),
            ("<id>tt0306414</id>", Some("tt0306414")),
            ("<id>79126</id>", None),
            ("<actor><imdbid>nm0000002</imdbid></actor>", None),
            (r#"<uniqueid type="tvdb">79126</uniqueid>"#, None),
            ("<uniqueid>tt0306414</uniqueid>", None),
            ("<imdbid>nm0000001</imdbid>", None),
            ("<imdbid>tt030<b>6414</b></imdbid>", None),
            ("<imdbid/>", None),
            ("<imdbid>&a;tt0306414</imdbid>", Some("tt0306414")),
        ] {
            assert_eq!(series_id(whole(inner).as_bytes()).as_deref(), expected, "{inner}");
        }
    }

    #[test]
    fn what_is_torn_or_something_else_is_read_as_far_as_it_goes() {
        let deep = format!("<tvshow>{}<imdbid>tt0306414</imdbid>", "<a>".repeat(1000));
        let bomb = "<!DOCTYPE x [<!ENTITY a \"tt0306414\">]><tvshow><imdbid>&a;</imdbid></tvshow>";
        for (text, expected) in [
            ("<tvshow><imdbid>tt0306414</imdbid><plot>It be", Some("tt0306414")),
            ("<tvshow><imdbid>tt0306414", None),
            ("<movie><imdbid>tt0306414</imdbid></movie>", None),
            ("https://www.imdb.com/title/tt0306414/", Some("tt0306414")),
            ("A text.\nwww.imdb.com/title/tt0306414?ref=1", Some("tt0306414")),
            (
                "<tvshow><title>A</title></tvshow>\nhttps://www.imdb.com/title/tt0306414/",
                Some("tt0306414"),
            ),
            (
                "<tvshow><plot>https://www.imdb.com/title/tt0306414/</plot></tvshow>",
                None,
            ),
            (
                "<tvshow><imdbid>tt0306414</imdbid></tvshow>\nhttps://example.org",
                Some("tt0306414"),
            ),
            ("", None),
            ("<", None),
            ("</tvshow>", None),
            (&deep, None),
            (bomb, None),
        ] {
            assert_eq!(series_id(text.as_bytes()).as_deref(), expected, "{text:.60}");
        }
        assert_eq!(series_id(b"\xff\xfe<\0t\0v\0"), None);
        let text = "<?xml version=\"1.0\" encoding=\"UTF-16\"?><tvshow><imdbid>tt0306414</imdbid></tvshow>";
        let little: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let big: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
        for wide in [
            [&b"\xff\xfe"[..], &little].concat(),
            little,
            [&b"\xfe\xff"[..], &big].concat(),
            big,
        ] {
            assert_eq!(series_id(&wide).as_deref(), Some("tt0306414"));
        }
    }

    #[test]
    fn films_have_ids_of_several_providers() {
        let ids = |text: &str| film_ids(text.as_bytes());
        let all = ids(
            "<movie><uniqueid type=\"tmdb\">12</uniqueid><imdb_id>tt1234567</imdb_id><tvdbid>34</tvdbid></movie>",
        );
        let said = (
            all.titledb.as_deref(),
            all.provider_a.as_deref(),
            all.provider_b.as_deref(),
        );
        assert_eq!(said, (Some("tt1234567"), Some("12"), Some("34")));
        assert_eq!(
            ids("https://www.themoviedb.org/movie/603-words")
                .provider_a
                .as_deref(),
            Some("603")
        );
        assert!(ids("<tvshow><imdbid>tt1234567</imdbid></tvshow>").is_empty());
        assert!(is_note(b"Film.NFO") && is_note(b"movie.nfo") && !is_note(b".nfo") && !is_note(b"a.mkv"));
    }

    proptest! {
        #[test]
        fn no_text_is_too_odd(text in proptest::collection::vec(any::<u8>(), 0..400), cut in 0..60_usize) {
            series_id(&text);
            let good = b"<tvshow><uniqueid type=\"imdb\">tt0306414</uniqueid></tvshow>";
            series_id(&[&good[..cut.min(good.len())], &text].concat());
        }
    }
}
