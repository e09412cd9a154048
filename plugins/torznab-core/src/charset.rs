//! From bytes to text: the encoding that a mark at the beginning names, else the document itself, else the header.

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};

/// Bytes in which a document names its encoding.
const HEAD: usize = 512;

/// The text of a document, and what was odd about its encoding. What cannot be read becomes U+FFFD.
pub fn decode(body: &[u8], content_type: Option<&str>) -> (String, Option<String>) {
    if let Some((encoding, mark)) = Encoding::for_bom(body) {
        return text(encoding, &body[mark..]);
    }
    if let Some(encoding) = wide(body) {
        return text(encoding, body);
    }
    let named = in_document(body).or_else(|| content_type.and_then(in_header));
    match named.map(|name| (Encoding::for_label(name.as_bytes()), name)) {
        Some((Some(encoding), _)) => {
            // A document that says UTF-16 in single bytes is not.
            let encoding = if encoding == UTF_16LE || encoding == UTF_16BE {
                UTF_8
            } else {
                encoding
            };
            text(encoding, body)
        }
        Some((None, name)) => {
            let (decoded, odd) = guess(body);
            let name: String = name.chars().take(40).collect();
            (
                decoded,
                odd.or_else(|| Some(format!("names the unknown encoding `{name}`"))),
            )
        }
        None => guess(body),
    }
}

/// UTF-8 where it is that, else what browsers take nameless text for.
fn guess(body: &[u8]) -> (String, Option<String>) {
    match std::str::from_utf8(body) {
        Ok(text) => (text.to_owned(), None),
        Err(_) => {
            let (text, _) = WINDOWS_1252.decode_without_bom_handling(body);
            (
                text.into_owned(),
                Some("names no encoding and is not UTF-8: it was read as windows-1252".to_owned()),
            )
        }
    }
}

fn text(encoding: &'static Encoding, body: &[u8]) -> (String, Option<String>) {
    let (text, broken) = encoding.decode_without_bom_handling(body);
    let odd = broken.then(|| format!("holds bytes that are not {}", encoding.name()));
    (text.into_owned(), odd)
}

/// UTF-16 without its mark: `<?` or `<r` in two bytes each.
fn wide(body: &[u8]) -> Option<&'static Encoding> {
    match body {
        [b'<', 0, _, 0, ..] => Some(UTF_16LE),
        [0, b'<', 0, _, ..] => Some(UTF_16BE),
        _ => None,
    }
}

/// `<?xml version="1.0" encoding="…"?>`
fn in_document(body: &[u8]) -> Option<String> {
    let head = String::from_utf8_lossy(&body[..body.len().min(HEAD)]).into_owned();
    let head = head.trim_start();
    let declaration = head.strip_prefix("<?xml")?.split("?>").next()?;
    quoted(declaration, "encoding")
}

fn quoted(text: &str, name: &str) -> Option<String> {
    let rest = text[text.find(name)? + name.len()..].trim_start();
    let rest = rest.strip_prefix('=')?.trim_start();
    let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    rest[1..].split(quote).next().map(str::to_owned)
}

/// `text/xml; charset=…`
fn in_header(content_type: &str) -> Option<String> {
    let mut parameters = content_type.split(';').skip(1);
    parameters.find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        name.trim()
            .eq_ignore_ascii_case("charset")
            .then(|| value.trim().trim_matches('"').to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mark_goes_before_the_document_before_the_header() {
        let latin = b"<?xml version='1.0' encoding='iso-8859-1'?><a>\xe4</a>";
        assert!(
            decode(latin, Some("text/xml; charset=utf-8"))
                .0
                .ends_with("<a>\u{e4}</a>")
        );
        let marked = b"\xef\xbb\xbf<?xml version=\"1.0\" encoding=\"iso-8859-1\"?><a>\xc3\xa4</a>";
        assert!(decode(marked, None).0.ends_with("<a>\u{e4}</a>"));
        assert_eq!(
            decode(b"<a>\xcf\xd2</a>", Some("text/xml; Charset=\"KOI8-R\"")),
            ("<a>\u{43e}\u{440}</a>".to_owned(), None)
        );
    }

    #[test]
    fn encodings_of_the_east_and_of_windows_are_read() {
        let (text, odd) = decode(
            b"<?xml version=\"1.0\" encoding=\"Shift_JIS\"?><a>\x83\x41</a>",
            None,
        );
        assert!(text.ends_with("<a>\u{30a2}</a>") && odd.is_none(), "{text}");
        let (text, odd) = decode(
            b"<?xml version=\"1.0\" encoding=\"windows-1251\"?><a>\xcf</a>",
            None,
        );
        assert!(text.ends_with("<a>\u{41f}</a>") && odd.is_none(), "{text}");
    }

    #[test]
    fn two_bytes_a_letter() {
        let wide: Vec<u8> = "<a>\u{e4}</a>"
            .encode_utf16()
            .flat_map(u16::to_le_bytes)
            .collect();
        assert_eq!(decode(&wide, None), ("<a>\u{e4}</a>".to_owned(), None));
        let mut marked = vec![0xfe, 0xff];
        marked.extend("<a/>".encode_utf16().flat_map(u16::to_be_bytes));
        assert_eq!(decode(&marked, None).0, "<a/>");
        let lying = b"<?xml version=\"1.0\" encoding=\"utf-16\"?><a/>";
        assert!(decode(lying, None).0.ends_with("<a/>"));
    }

    #[test]
    fn what_lies_about_itself_is_read_with_a_warning() {
        let (text, odd) = decode(b"<a>\xe4</a>", None);
        assert_eq!(text, "<a>\u{e4}</a>");
        assert!(odd.is_some_and(|odd| odd.contains("windows-1252")));
        let (text, odd) = decode(b"<?xml version=\"1.0\" encoding=\"utf-8\"?><a>\xe4</a>", None);
        assert!(text.ends_with("<a>\u{fffd}</a>"), "{text}");
        assert!(odd.is_some_and(|odd| odd.contains("UTF-8")));
        let (text, odd) = decode(b"<?xml version=\"1.0\" encoding=\"martian\"?><a>x</a>", None);
        assert!(text.ends_with("<a>x</a>"));
        assert!(odd.is_some_and(|odd| odd.contains("martian")));
        assert_eq!(decode(b"", None), (String::new(), None));
    }
}
