//! Which series a `tvshow.nfo` says a folder holds.
//!
//! Strangers write these files. One is read as far as it goes: of one that is torn, or no XML at all, what stands in whole elements
//! before is taken. No entity is replaced but those of XML itself. Bounds: [`MOST`] bytes, elements [`DEPTH`] deep.

use qm_titles::is_titledb_id;
use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

/// Name of the files.
pub const NAME: &[u8] = b"tvshow.nfo";
/// A file of more bytes is passed over.
pub const MOST: u64 = 512 << 10;
const DEPTH: usize = 64;
/// Bytes of an id that are looked at.
const MAX_ID: usize = 64;

/// An id of the data set in this text: `uniqueid` of the type `imdb`, else `imdbid`, right in the root element.
pub fn series_id(text: &[u8]) -> Option<String> {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let mut reader = Reader::from_reader(text);
    let config = reader.config_mut();
    config.check_end_names = false;
    config.allow_unmatched_ends = true;
    config.allow_dangling_amp = true;
    let mut found = Found::default();
    let mut depth = 0_usize;
    loop {
        match reader.read_event() {
            Ok(Event::Start(start)) => {
                if depth == 0 && !start.local_name().as_ref().eq_ignore_ascii_case(b"tvshow") {
                    return None;
                }
                // An element within an id is no part of it.
                found.open = if depth == 1 { Source::of(&start) } else { None };
                found.text.clear();
                depth += 1;
                if depth > DEPTH {
                    break;
                }
            }
            Ok(Event::End(_)) => {
                depth = depth.saturating_sub(1);
                found.close();
                if depth == 0 {
                    break;
                }
            }
            Ok(Event::Text(text)) => found.take(&text),
            Ok(Event::CData(text)) => found.take(&text),
            Ok(Event::Eof) | Err(_) => break,
            Ok(_) => {}
        }
    }
    found.unique.or(found.named)
}

/// Where an id stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Source {
    Unique,
    Named,
}

impl Source {
    fn of(start: &BytesStart<'_>) -> Option<Self> {
        let name = start.local_name();
        if name.as_ref().eq_ignore_ascii_case(b"imdbid") {
            return Some(Self::Named);
        }
        if !name.as_ref().eq_ignore_ascii_case(b"uniqueid") {
            return None;
        }
        let mut attributes = start.html_attributes();
        let mut attributes = attributes.with_checks(false).flatten();
        let kind = attributes.find(|attribute| attribute.key.as_ref().eq_ignore_ascii_case(b"type"))?;
        kind.value
            .trim_ascii()
            .eq_ignore_ascii_case(b"imdb")
            .then_some(Self::Unique)
    }
}

/// The first of each.
#[derive(Default)]
struct Found {
    open: Option<Source>,
    text: Vec<u8>,
    unique: Option<String>,
    named: Option<String>,
}

impl Found {
    fn take(&mut self, text: &[u8]) {
        if self.open.is_some() {
            let room = MAX_ID.saturating_sub(self.text.len());
            self.text.extend_from_slice(&text[..text.len().min(room)]);
        }
    }

    fn close(&mut self) {
        let slot = match self.open.take() {
            Some(Source::Unique) => &mut self.unique,
            Some(Source::Named) => &mut self.named,
            None => return,
        };
        if slot.is_none() {
            *slot = id(&self.text);
        }
    }
}

/// An id as people write it: `tt` in any case, or its digits alone.
fn id(text: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(text).ok()?.trim().to_ascii_lowercase();
    let is_bare = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let id = if is_bare { format!("tt{text}") } else { text };
    is_titledb_id(&id).then_some(id)
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
            ("https://www.imdb.com/title/tt0306414/", None),
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
