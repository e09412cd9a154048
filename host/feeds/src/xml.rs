//! XML as sites write it: read as far as it goes, whatever is wrong with it.
//!
//! A walk tells of elements and texts in order. Elements that nobody closes are closed with what they lie in, an item by the
//! next one; what ends in the middle ends there. Entities that a document declares are not read: an unknown one stays as it
//! is written.

use std::borrow::Cow;
use std::collections::VecDeque;

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};
use url::Url;

use crate::MAX_DEPTH;
use crate::text::{clip, entity, said, unescape};

const MAX_ATTRIBUTES: usize = 32;
/// The most bytes of a value that are read: magnet links stand in them.
const MAX_VALUE: usize = crate::MAX_MAGNET + 1024;
const LEFT_OPEN: &str = "the feed leaves elements open";
const MAX_WARNINGS: usize = 16;
/// Elements of web pages that nothing lies in, and that nobody closes.
const VOID: &[&str] = &["br", "hr", "img", "wbr", "input", "meta", "col"];

/// What comes next in a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Node<'a> {
    Open(Element),
    /// A piece of a text; the pieces of one follow each other.
    Text(Cow<'a, str>),
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

    pub fn is_item(&self) -> bool {
        is_item(&self.name)
    }
}

fn is_item(name: &str) -> bool {
    matches!(name, "item" | "entry")
}

/// Where and why a document could not be read further.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// Byte of the text.
    pub at: usize,
    pub reason: String,
}

/// A document that is being read.
pub struct Walk<'a> {
    text: &'a str,
    /// Address of the document.
    address: Option<Url>,
    reader: Reader<&'a [u8]>,
    /// Elements that are open.
    open: Vec<Open>,
    /// Count of open elements below the deepest level that is told.
    beyond: usize,
    /// What was found and is not told yet.
    queue: VecDeque<Step>,
    over: bool,
    /// Why nothing more of it could be read.
    pub broken: Option<Broken>,
    warnings: Vec<String>,
}

struct Open {
    /// As it is written.
    name: Vec<u8>,
    is_item: bool,
    /// Address that links in it are relative to, where it says so itself.
    base: Option<Url>,
}

enum Step {
    Open(Vec<u8>, Element),
    Close,
}

impl<'a> Walk<'a> {
    /// `address`: that of the document, if it is known.
    pub fn of(text: &'a str, address: Option<Url>) -> Self {
        let mut reader = Reader::from_reader(text.as_bytes());
        let config = reader.config_mut();
        config.allow_unmatched_ends = true;
        config.check_end_names = false;
        config.allow_dangling_amp = true;
        Self {
            text,
            address,
            reader,
            open: Vec::new(),
            beyond: 0,
            queue: VecDeque::new(),
            over: false,
            broken: None,
            warnings: Vec::new(),
        }
    }

    /// Address that relative links are relative to, where the walk is.
    pub fn base(&self) -> Option<&Url> {
        let named = self.open.iter().rev().find_map(|open| open.base.as_ref());
        named.or(self.address.as_ref())
    }

    /// Elements that are open.
    pub fn depth(&self) -> usize {
        self.open.len()
    }

    /// What was odd, each once.
    pub fn warnings(self) -> Vec<String> {
        self.warnings
    }

    pub fn warn(&mut self, text: impl Into<String>) {
        let text = text.into();
        if self.warnings.len() < MAX_WARNINGS && !self.warnings.contains(&text) {
            self.warnings.push(text);
        }
    }

    /// What comes next; none at the end.
    pub fn next(&mut self) -> Option<Node<'a>> {
        loop {
            match self.queue.pop_front() {
                Some(Step::Close) => {
                    self.open.pop();
                    return Some(Node::Close);
                }
                Some(Step::Open(name, element)) => {
                    let is_item = element.is_item();
                    let base = element.attribute("base").and_then(|base| match self.base() {
                        Some(above) => above.join(base).ok(),
                        None => Url::parse(base).ok(),
                    });
                    self.open.push(Open { name, is_item, base });
                    return Some(Node::Open(element));
                }
                None if self.over => return None,
                None => {
                    if let Some(text) = self.step() {
                        return Some(Node::Text(text));
                    }
                }
            }
        }
    }

    /// Reads on: a piece of text at once, what else it is by the queue.
    fn step(&mut self) -> Option<Cow<'a, str>> {
        match self.reader.read_event() {
            Ok(Event::Start(start)) => {
                self.begin(&start, false);
                None
            }
            Ok(Event::Empty(start)) => {
                self.begin(&start, true);
                None
            }
            Ok(Event::End(end)) => {
                self.end_of(end.name().as_ref());
                None
            }
            Ok(Event::Text(text)) => Some(lossy(text.into_inner())),
            Ok(Event::CData(text)) => Some(lossy(text.into_inner())),
            Ok(Event::GeneralRef(name)) => {
                let name = lossy(name.into_inner());
                Some(Cow::Owned(entity(&name).unwrap_or_else(|| {
                    self.warn("the feed uses entities that are not known");
                    format!("&{};", clip(&name, 64))
                })))
            }
            Ok(Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::DocType(_)) => None,
            Ok(Event::Eof) => {
                if !self.open.is_empty() {
                    self.breaks_off(self.text.len(), "it ends in the middle".to_owned());
                }
                self.over = true;
                None
            }
            Err(error) => {
                let reason = match error {
                    // What quick-xml calls by the name of what it looks for.
                    quick_xml::Error::Syntax(_) => "it ends in the middle of its markup".to_owned(),
                    other => said(&other.to_string(), 160),
                };
                let at = usize::try_from(self.reader.error_position()).unwrap_or(0);
                self.breaks_off(at, reason);
                None
            }
        }
    }

    fn begin(&mut self, start: &BytesStart<'_>, is_empty: bool) {
        let element = element(start);
        let is_void = element.prefix.is_empty() && VOID.contains(&element.name.as_str());
        let last_item = self.open.iter().rposition(|open| open.is_item);
        let mut depth = self.open.len();
        if let Some(at) = last_item.filter(|_| element.is_item()) {
            // An item in an item is the next one.
            self.warn(LEFT_OPEN);
            self.beyond = 0;
            self.queue.extend((at..depth).map(|_| Step::Close));
            depth = at;
        }
        if depth >= MAX_DEPTH || self.beyond > 0 {
            self.warn(format!(
                "the feed is nested deeper than {MAX_DEPTH} levels; what lies deeper was passed over"
            ));
            self.beyond += usize::from(!is_empty && !is_void);
            return;
        }
        let name = start.name().as_ref().to_vec();
        self.queue.push_back(Step::Open(name, element));
        if is_empty || is_void {
            self.queue.push_back(Step::Close);
        }
    }

    fn end_of(&mut self, name: &[u8]) {
        if self.beyond > 0 {
            let local = name.rsplit(|byte| *byte == b':').next().unwrap_or(name);
            if !std::str::from_utf8(local).is_ok_and(|name| is_item(&name.to_ascii_lowercase())) {
                self.beyond -= 1;
                return;
            }
            self.beyond = 0;
        }
        let Some(at) = self.open.iter().rposition(|open| open.name == name) else {
            if !VOID.iter().any(|void| void.as_bytes().eq_ignore_ascii_case(name)) {
                self.warn("the feed closes elements that were not opened");
            }
            return;
        };
        let count = self.open.len() - at;
        if count > 1 {
            self.warn(LEFT_OPEN);
        }
        self.queue.extend((0..count).map(|_| Step::Close));
    }

    /// Says why it ends here, and closes what is open.
    fn breaks_off(&mut self, at: usize, reason: String) {
        self.broken = Some(Broken { at, reason });
        self.over = true;
        self.queue.extend(self.open.iter().map(|_| Step::Close));
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
        if attribute.value.len() <= MAX_VALUE {
            attributes.push((name, unescape(&String::from_utf8_lossy(&attribute.value))));
        }
    }
    Element {
        prefix: prefix.to_owned(),
        name: name.to_owned(),
        attributes,
    }
}

fn lossy(bytes: Cow<'_, [u8]>) -> Cow<'_, str> {
    match bytes {
        Cow::Borrowed(bytes) => String::from_utf8_lossy(bytes),
        Cow::Owned(bytes) => Cow::Owned(String::from_utf8_lossy(&bytes).into_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A walk as one line.
    fn told(text: &str) -> (String, Vec<String>, Option<Broken>) {
        let mut walk = Walk::of(text, None);
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
        assert_eq!(walk.depth(), 0, "{text}");
        let broken = walk.broken.take();
        (told, walk.warnings(), broken)
    }

    #[test]
    fn sound_documents_are_told_as_they_are() {
        let text =
            "<?xml version=\"1.0\"?><A><t:B x='1 &amp; 2' Y=\"&#228;\"/>a&lt;b&#x41;<![CDATA[<c>&amp;]]></A>";
        assert_eq!(
            told(text),
            ("<a><b x=1 & 2 y=ä>/a<bA<c>&amp;/".to_owned(), vec![], None)
        );
    }

    #[test]
    fn what_is_left_open_is_closed_with_what_it_lies_in() {
        let (text, warnings, broken) = told("<a><b><c>x</b>y</a>");
        assert_eq!((text.as_str(), broken), ("<a><b><c>x//y/", None));
        assert_eq!(warnings, [LEFT_OPEN]);
        let (text, warnings, _) = told("<a></b>x<br>y<IMG src=z>w</a>");
        assert_eq!((text.as_str(), warnings.len()), ("<a>x<br>/y<img src=z>/w/", 1));
        let (text, _, broken) = told("<a><b>x");
        assert_eq!(text, "<a><b>x//");
        assert_eq!(broken.unwrap().at, 7);
        let (text, _, broken) = told("<a><b>x</b><c attr=\"");
        assert_eq!(text, "<a><b>x//");
        assert!(broken.unwrap().reason.contains("markup"));
    }

    #[test]
    fn an_item_ends_where_the_next_begins() {
        let (text, warnings, _) = told("<c><item><t>A<item><t>B</t></item><item/></c>");
        assert_eq!(text, "<c><item><t>A//<item><t>B//<item>//");
        assert_eq!(warnings, [LEFT_OPEN]);
    }

    #[test]
    fn unknown_entities_stay() {
        let (text, warnings, _) = told("<a b='&x;'>&y;&nbsp;&amp</a>");
        assert_eq!(text, "<a b=&x;>&y;\u{a0}&amp/");
        assert!(warnings[0].contains("entities"), "{warnings:?}");
    }

    #[test]
    fn what_lies_too_deep_is_passed_over() {
        let most = MAX_DEPTH - 1;
        let shallow = format!("{}{}", "<a>".repeat(most), "/".repeat(most));
        let text = format!("<r>{}{}<b/></r>", "<a>".repeat(100_000), "</a>".repeat(100_000));
        let (text, warnings, broken) = told(&text);
        assert_eq!((text, broken), (format!("<r>{shallow}<b>//"), None));
        assert!(warnings[0].contains("64 levels"), "{warnings:?}");
        let open = format!("<r><item>{}</item><item>x</item></r>", "<a>".repeat(1000));
        let (text, _, _) = told(&open);
        assert!(text.ends_with("/<item>x//"), "{text}");
    }
}
