//! XML as indexers write it: read as far as it goes, whatever is wrong with it.
//!
//! A walk tells of elements and texts in order. Elements that nobody closes are closed with what they lie in; what ends in the
//! middle ends there. Entities that a document declares are not read: an unknown one stays as it is written.
//! Bounds: [`MAX_DEPTH`] levels, [`MAX_TEXT`] of one text, 64 attributes of one element.

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

/// The most levels of elements.
const MAX_DEPTH: usize = 64;
/// The most bytes of one text that are kept.
pub const MAX_TEXT: usize = 8 << 10;
const MAX_ATTRIBUTES: usize = 64;

/// What comes next in a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Node {
    Open(Element),
    /// A piece of a text; the pieces of one follow each other.
    Text(String),
    /// The element that was opened last and is not closed.
    Close,
}

/// An element's beginning. Names are lower case.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Element {
    /// Empty when it has none.
    pub prefix: String,
    pub name: String,
    attributes: Vec<(String, String)>,
}

impl Element {
    /// The value of an attribute, trimmed; none when it is empty. Names are compared without their prefix and case.
    pub fn attribute(&self, name: &str) -> Option<&str> {
        let mut found = self.attributes.iter().filter(|(known, _)| known == name);
        found
            .next()
            .map(|(_, value)| value.trim())
            .filter(|value| !value.is_empty())
    }
}

/// A document that is being read.
pub struct Walk<'a> {
    reader: Reader<&'a [u8]>,
    /// Names of elements that are open, as they are written.
    open: Vec<Vec<u8>>,
    /// Elements that are to be closed before anything else.
    closing: usize,
    /// The end of what is left to say.
    over: bool,
    warnings: Vec<String>,
}

impl<'a> Walk<'a> {
    pub fn new(text: &'a str) -> Self {
        let mut reader = Reader::from_reader(text.as_bytes());
        let config = reader.config_mut();
        config.expand_empty_elements = true;
        config.allow_unmatched_ends = true;
        config.check_end_names = false;
        config.allow_dangling_amp = true;
        Self {
            reader,
            open: Vec::new(),
            closing: 0,
            over: false,
            warnings: Vec::new(),
        }
    }

    /// What was odd, each once.
    pub fn warnings(self) -> Vec<String> {
        self.warnings
    }

    pub fn warn(&mut self, text: impl Into<String>) {
        let text = text.into();
        if !self.warnings.contains(&text) {
            self.warnings.push(text);
        }
    }

    /// Nothing more of it is read.
    pub fn stop(&mut self) {
        self.over = true;
        self.open.clear();
        self.closing = 0;
    }

    /// What comes next; none at the end.
    pub fn next(&mut self) -> Option<Node> {
        loop {
            if self.closing > 0 {
                self.closing -= 1;
                self.open.pop();
                return Some(Node::Close);
            }
            if self.over {
                return None;
            }
            if let Some(node) = self.step() {
                return Some(node);
            }
        }
    }

    fn step(&mut self) -> Option<Node> {
        let at = self.reader.buffer_position();
        match self.reader.read_event() {
            Ok(Event::Start(start)) => {
                let element = element(&start);
                let name = start.name().as_ref().to_vec();
                if self.open.len() >= MAX_DEPTH {
                    self.end(format!(
                        "is nested deeper than {MAX_DEPTH} levels and was not read further"
                    ));
                    return None;
                }
                self.open.push(name);
                Some(Node::Open(element))
            }
            Ok(Event::End(end)) => {
                let name = end.name().as_ref().to_vec();
                match self.open.iter().rposition(|open| *open == name) {
                    Some(at) => {
                        self.closing = self.open.len() - at;
                        if self.closing > 1 {
                            self.warn("leaves elements open");
                        }
                    }
                    None => self.warn("closes elements that were not opened"),
                }
                None
            }
            Ok(Event::Text(text)) => Some(Node::Text(clip(String::from_utf8_lossy(&text)))),
            Ok(Event::CData(text)) => Some(Node::Text(clip(String::from_utf8_lossy(&text)))),
            Ok(Event::GeneralRef(name)) => {
                let name = String::from_utf8_lossy(&name).into_owned();
                let text = entity(&name).unwrap_or_else(|| {
                    self.warn("uses entities that are not known");
                    let name: String = name.chars().take(64).collect();
                    format!("&{name};")
                });
                Some(Node::Text(text))
            }
            Ok(Event::DocType(text)) => {
                if text.windows(8).any(|part| part.eq_ignore_ascii_case(b"<!ENTITY")) {
                    self.warn("declares entities, which are not read");
                }
                None
            }
            Ok(Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::Empty(_)) => None,
            Ok(Event::Eof) => {
                if self.open.is_empty() {
                    self.over = true;
                } else {
                    self.end("ends in the middle".to_owned());
                }
                None
            }
            Err(error) => {
                let error: String = error.to_string().chars().take(200).collect();
                self.end(format!("cannot be read beyond byte {at}: {error}"));
                None
            }
        }
    }

    /// Says why it ends here, and closes what is open.
    fn end(&mut self, why: String) {
        self.warn(why);
        self.over = true;
        self.closing = self.open.len();
    }
}

fn element(start: &BytesStart<'_>) -> Element {
    let whole = String::from_utf8_lossy(start.name().as_ref()).to_ascii_lowercase();
    let (prefix, name) = whole.split_once(':').unwrap_or(("", &whole));
    let mut attributes = Vec::new();
    let mut all = start.html_attributes();
    // One that cannot be read says nothing about the next.
    for attribute in all.with_checks(false).take(MAX_ATTRIBUTES).flatten() {
        let name = String::from_utf8_lossy(attribute.key.as_ref()).to_ascii_lowercase();
        let name = name.rsplit(':').next().unwrap_or_default().to_owned();
        let value = clip(String::from_utf8_lossy(&attribute.value));
        attributes.push((name, unescape(&value)));
    }
    Element {
        prefix: prefix.to_owned(),
        name: name.to_owned(),
        attributes,
    }
}

fn clip(text: std::borrow::Cow<'_, str>) -> String {
    if text.len() <= MAX_TEXT {
        return text.into_owned();
    }
    text[..text.floor_char_boundary(MAX_TEXT)].to_owned()
}

/// Text with its references resolved; what is none stays.
pub fn unescape(text: &str) -> String {
    let mut whole = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        whole.push_str(&rest[..at]);
        rest = &rest[at..];
        let end = rest.bytes().take(12).position(|byte| byte == b';');
        match end.and_then(|end| entity(&rest[1..end]).map(|text| (end, text))) {
            Some((end, text)) => {
                whole.push_str(&text);
                rest = &rest[end + 1..];
            }
            None => {
                whole.push('&');
                rest = &rest[1..];
            }
        }
    }
    whole.push_str(rest);
    whole
}

/// The text of a reference by its name: those of XML, characters by number, and what people paste from web pages.
fn entity(name: &str) -> Option<String> {
    if let Some(number) = name.strip_prefix('#') {
        let code = match number.strip_prefix(['x', 'X']) {
            Some(hex) => u32::from_str_radix(hex, 16).ok()?,
            None => number.parse().ok()?,
        };
        let letter = char::from_u32(code)?;
        let is_text = !letter.is_control() || matches!(letter, '\t' | '\n' | '\r');
        return Some(if is_text {
            letter.to_string()
        } else {
            String::new()
        });
    }
    let text = match name {
        "amp" => "&",
        "lt" => "<",
        "gt" => ">",
        "quot" => "\"",
        "apos" => "'",
        "nbsp" => "\u{a0}",
        "ndash" => "\u{2013}",
        "mdash" => "\u{2014}",
        "hellip" => "\u{2026}",
        "lsquo" => "\u{2018}",
        "rsquo" => "\u{2019}",
        "ldquo" => "\u{201c}",
        "rdquo" => "\u{201d}",
        "laquo" => "\u{ab}",
        "raquo" => "\u{bb}",
        _ => return None,
    };
    Some(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A walk as one line.
    fn told(text: &str) -> (String, Vec<String>) {
        let mut walk = Walk::new(text);
        let mut told = String::new();
        while let Some(node) = walk.next() {
            match node {
                Node::Open(element) => {
                    told.push('<');
                    told.push_str(&element.name);
                    for (name, value) in &element.attributes {
                        told.extend([" ", name, "=", value]);
                    }
                    told.push('>');
                }
                Node::Text(text) => told.push_str(&text),
                Node::Close => told.push('/'),
            }
        }
        (told, walk.warnings())
    }

    #[test]
    fn sound_documents_are_told_as_they_are() {
        let text =
            "<?xml version=\"1.0\"?><A><t:B x='1 &amp; 2' Y=\"&#228;\"/>a&lt;b&#x41;<![CDATA[<c>&amp;]]></A>";
        assert_eq!(
            told(text),
            ("<a><b x=1 & 2 y=\u{e4}>/a<bA<c>&amp;/".to_owned(), vec![])
        );
    }

    #[test]
    fn what_is_left_open_is_closed_with_what_it_lies_in() {
        let (text, warnings) = told("<a><b><c>x</b>y</a>");
        assert_eq!(text, "<a><b><c>x//y/");
        assert_eq!(warnings, ["leaves elements open"]);
        let (text, warnings) = told("<a></b>x</a>");
        assert_eq!((text.as_str(), warnings.len()), ("<a>x/", 1));
        let (text, warnings) = told("<a><b>x");
        assert_eq!(
            (text.as_str(), warnings),
            ("<a><b>x//", vec!["ends in the middle".to_owned()])
        );
        let (text, warnings) = told("<a><b>x</b><c attr=\"");
        assert!(text.starts_with("<a><b>x/") && text.ends_with('/'), "{text}");
        assert_eq!(warnings.len(), 1, "{warnings:?}");
    }

    #[test]
    fn declared_entities_are_not_read() {
        let (text, warnings) = told(
            "<!DOCTYPE a [<!ENTITY x SYSTEM \"file:///etc/passwd\"><!ENTITY y \"&x;&x;\">]><a b='&x;'>&y;&nbsp;&amp</a>",
        );
        assert_eq!(text, "<a b=&x;>&y;\u{a0}&amp/");
        assert!(
            warnings.iter().any(|text| text.contains("declares entities")),
            "{warnings:?}"
        );
    }

    #[test]
    fn depth_ends_the_reading() {
        let deep = "<a>".repeat(100_000);
        let (text, warnings) = told(&deep);
        assert_eq!(
            text,
            format!("{}{}", "<a>".repeat(MAX_DEPTH), "/".repeat(MAX_DEPTH))
        );
        assert!(warnings[0].contains("64 levels"), "{warnings:?}");
    }

    #[test]
    fn texts_are_bounded() {
        let long = format!("<a b='{0}'>{0}</a>", "\u{e4}".repeat(MAX_TEXT));
        let (text, _) = told(&long);
        assert!(text.len() < 3 * MAX_TEXT, "{}", text.len());
    }

    #[test]
    fn references_that_are_none_stay() {
        assert_eq!(unescape("a&b;&amp;amp;&#0;&#xZ;&"), "a&b;&amp;&#xZ;&");
        assert_eq!(
            unescape("&\u{e4}\u{e4}\u{e4}\u{e4}\u{e4}\u{e4};"),
            "&\u{e4}\u{e4}\u{e4}\u{e4}\u{e4}\u{e4};"
        );
    }
}
