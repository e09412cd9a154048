//! Decoding of bytes to text, by the encoding of the byte order mark, the header, the declaration, or the one the bytes look like.

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};

/// Bytes in which a document names its encoding.
const HEAD: usize = 512;
/// Letters beyond ASCII that do not come about by chance as UTF-8 in a text of another encoding.
const CERTAIN: usize = 4;

/// Text of a document, and a warning about its encoding. Bytes that cannot be decoded become U+FFFD.
pub fn decode(body: &[u8], content_type: Option<&str>) -> (String, Option<String>) {
    if let Some((encoding, mark)) = Encoding::for_bom(body) {
        return lossy(encoding, &body[mark..]);
    }
    if let Some(encoding) = wide(body) {
        return lossy(encoding, body);
    }
    let names = [content_type.and_then(in_header), in_document(body)];
    let known: Vec<&'static Encoding> = names.iter().flatten().filter_map(|name| by_name(name)).collect();
    if let Some(first) = known.iter().copied().find(|encoding| suits(encoding, body)) {
        let odd = (first != known[0]).then(|| {
            format!(
                "the header says {}, but the feed is {}, as it says itself",
                known[0].name(),
                first.name()
            )
        });
        return (decoded(first, body).0, odd);
    }
    let unknown = || {
        let mut unknown = names.iter().flatten().filter(|name| by_name(name).is_none());
        unknown.next().map(|name| {
            let name: String = name.chars().filter(|c| !c.is_control()).take(40).collect();
            format!("the feed names the unknown encoding `{name}`")
        })
    };
    let said = known.first().map(|encoding| encoding.name());
    let like = looks_like(body);
    let (text, broken) = decoded(like, body);
    let odd = match said {
        Some(said) if said != like.name() => Some(format!(
            "the feed says that it is {said}, but it looks like {} and was read as that",
            like.name()
        )),
        _ if broken => Some(format!("the feed holds bytes that are not {}", like.name())),
        None if like != UTF_8 => unknown().or_else(|| {
            Some(format!(
                "the feed names no encoding; it looks like {} and was read as that",
                like.name()
            ))
        }),
        _ => unknown(),
    };
    (text, odd)
}

/// True when a text can be in the encoding that its header, or the text itself, names.
fn suits(encoding: &'static Encoding, body: &[u8]) -> bool {
    if encoding != UTF_8
        && std::str::from_utf8(body)
            .is_ok_and(|text| text.chars().filter(|c| !c.is_ascii()).count() >= CERTAIN)
    {
        return false;
    }
    !decoded(encoding, body).1
}

fn decoded(encoding: &'static Encoding, body: &[u8]) -> (String, bool) {
    let (text, broken) = encoding.decode_without_bom_handling(body);
    (text.into_owned(), broken)
}

fn lossy(encoding: &'static Encoding, body: &[u8]) -> (String, Option<String>) {
    let (text, broken) = decoded(encoding, body);
    let odd = broken.then(|| format!("the feed holds bytes that are not {}", encoding.name()));
    (text, odd)
}

/// The encoding of bytes that nobody, or a liar, speaks for. A text of UTF-8 in which something was cut in the middle of a
/// letter stays one.
fn looks_like(body: &[u8]) -> &'static Encoding {
    let (mut letters, mut breaks) = (0, 0);
    for chunk in body.utf8_chunks() {
        letters += chunk.valid().chars().filter(|c| !c.is_ascii()).count();
        breaks += usize::from(!chunk.invalid().is_empty());
    }
    if letters >= breaks {
        return UTF_8;
    }
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(body, true);
    detector.guess(None, Utf8Detection::Deny)
}

/// A document that says UTF-16 in single bytes is not.
fn by_name(name: &str) -> Option<&'static Encoding> {
    let encoding = Encoding::for_label(name.as_bytes())?;
    if encoding == UTF_16LE || encoding == UTF_16BE {
        return Some(UTF_8);
    }
    Some(encoding)
}

/// UTF-16 without its mark: `<` and an ASCII character, in two bytes each.
fn wide(body: &[u8]) -> Option<&'static Encoding> {
    match body {
        [b'<', 0, _, 0, ..] => Some(UTF_16LE),
        [0, b'<', 0, _, ..] => Some(UTF_16BE),
        _ => None,
    }
}

/// `<?xml version="1.0" encoding="…"?>`, also behind white space.
fn in_document(body: &[u8]) -> Option<String> {
    let head = String::from_utf8_lossy(&body[..body.len().min(HEAD)]).into_owned();
    let at = head.find("<?xml")?;
    let declaration = head[at..].split("?>").next()?;
    let rest = declaration[declaration.find("encoding")? + "encoding".len()..].trim_start();
    let rest = rest.strip_prefix('=')?.trim_start();
    let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    rest[1..].split(quote).next().map(str::to_owned)
}

/// `text/xml; charset=…`
fn in_header(content_type: &str) -> Option<String> {
    content_type.split(';').skip(1).find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        let value = value.trim().trim_matches(['"', '\'']);
        (name.trim().eq_ignore_ascii_case("charset") && !value.is_empty()).then(|| value.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const CYRILLIC: &str = "Тихая гавань, сезон первый: серия вторая";

    fn xml(encoding: &str, body: &[u8]) -> Vec<u8> {
        let mut bytes = format!("<?xml version=\"1.0\" encoding=\"{encoding}\"?><a>").into_bytes();
        bytes.extend(body);
        bytes.extend(b"</a>");
        bytes
    }

    fn in_1251(text: &str) -> Vec<u8> {
        encoding_rs::WINDOWS_1251.encode(text).0.into_owned()
    }

    #[test]
    fn what_is_said_truly_is_believed() {
        for (bytes, header, expected) in [
            (xml("windows-1251", &in_1251(CYRILLIC)), None, CYRILLIC),
            (xml("utf-8", CYRILLIC.as_bytes()), None, CYRILLIC),
            (xml("iso-8859-1", b"\xe4"), None, "ä"),
            (xml("Shift_JIS", b"\x83\x41"), None, "ア"),
            (
                b"<a>\xcf\xd2</a>".to_vec(),
                Some("text/xml; Charset=\"KOI8-R\""),
                "ор",
            ),
            (b"<a>plain</a>".to_vec(), None, "plain"),
        ] {
            let (text, odd) = decode(&bytes, header);
            assert!(text.contains(&format!("<a>{expected}</a>")), "{text}");
            assert_eq!(odd, None, "{text}");
        }
    }

    #[test]
    fn what_is_said_falsely_is_not() {
        for (bytes, header, expected, says) in [
            (xml("utf-8", &in_1251(CYRILLIC)), None, CYRILLIC, "windows-1251"),
            (in_1251(CYRILLIC), None, CYRILLIC, "names no encoding"),
            (xml("windows-1251", CYRILLIC.as_bytes()), None, CYRILLIC, "UTF-8"),
            (
                xml("utf-8", CYRILLIC.as_bytes()),
                Some("text/xml; charset=iso-8859-1"),
                CYRILLIC,
                "the header says",
            ),
            (
                xml("windows-1251", &in_1251(CYRILLIC)),
                Some("text/xml; charset=utf-8"),
                CYRILLIC,
                "the header says",
            ),
            (xml("martian", CYRILLIC.as_bytes()), None, CYRILLIC, "martian"),
        ] {
            let (text, odd) = decode(&bytes, header);
            assert!(text.contains(expected), "{text}");
            assert!(
                odd.as_ref().is_some_and(|odd| odd.contains(says)),
                "{says}: {odd:?}"
            );
        }
    }

    #[test]
    fn one_letter_that_was_cut_does_not_change_the_encoding() {
        let mut bytes = xml("utf-8", CYRILLIC.as_bytes());
        let at = bytes.len() - 5;
        bytes.remove(at);
        let (text, odd) = decode(&bytes, None);
        assert!(
            text.contains("Тихая гавань") && text.contains('\u{fffd}'),
            "{text}"
        );
        assert!(odd.is_some_and(|odd| odd.contains("not UTF-8")));
    }

    #[test]
    fn two_bytes_a_letter() {
        let wide: Vec<u8> = "<a>ä</a>".encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert_eq!(decode(&wide, None), ("<a>ä</a>".to_owned(), None));
        let mut marked = vec![0xfe, 0xff];
        marked.extend("<a/>".encode_utf16().flat_map(u16::to_be_bytes));
        assert_eq!(decode(&marked, Some("text/xml; charset=utf-8")).0, "<a/>");
        assert!(decode(&xml("utf-16", b"x"), None).0.ends_with("<a>x</a>"));
        assert_eq!(
            decode(b"\xef\xbb\xbf<a>\xc3\xa4</a>", Some("a/b; charset=iso-8859-1")).0,
            "<a>ä</a>"
        );
        assert_eq!(decode(b"", None), (String::new(), None));
    }
}
