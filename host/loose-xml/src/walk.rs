//! A walk through a document.

use std::borrow::Cow;
use std::collections::VecDeque;

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use crate::clip;
use crate::options::{LongValue, Oddity, Options, TooDeep};

const MAX_WARNINGS: usize = 16;
/// Bytes of the name of an unknown entity that are told.
const MAX_ENTITY_NAME: usize = 64;

/// The next part of a document.
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
    fn read(start: &BytesStart<'_>, options: &Options) -> Self {
        let whole = String::from_utf8_lossy(start.name().as_ref()).to_ascii_lowercase();
        let (prefix, name) = whole.split_once(':').unwrap_or(("", &whole));
        let mut attributes = Vec::new();
        let mut all = start.html_attributes();
        // One that cannot be read says nothing about the next.
        for attribute in all.with_checks(false).take(options.max_attributes).flatten() {
            let name = String::from_utf8_lossy(attribute.key.as_ref()).to_ascii_lowercase();
            let name = name.rsplit(':').next().unwrap_or_default().to_owned();
            let value = String::from_utf8_lossy(&attribute.value);
            let value = match options.long_value {
                LongValue::LeaveOut if value.len() > options.max_value => continue,
                LongValue::LeaveOut => &*value,
                LongValue::Cut => clip(&value, options.max_value),
            };
            attributes.push((name, options.references.resolve(value)));
        }
        Element {
            prefix: prefix.to_owned(),
            name: name.to_owned(),
            attributes,
        }
    }

    /// The value of an attribute, trimmed; none when it is empty. Names are compared without their prefix and case.
    pub fn attribute(&self, name: &str) -> Option<&str> {
        let mut found = self.attributes.iter().filter(|(known, _)| known == name);
        found
            .next()
            .map(|(_, value)| value.trim())
            .filter(|value| !value.is_empty())
    }
}

/// The place at which a document cannot be read further, and the cause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// Byte of the text at which it breaks off.
    pub at: usize,
    /// Byte of the text at which the part begins that cannot be read.
    pub begins: usize,
    pub fault: Fault,
}

/// Why a document cannot be read further.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It ends while elements are open.
    EndsInElement,
    /// It ends within markup; the words of the parser.
    EndsInMarkup(String),
    /// Something else; the words of the parser.
    Unreadable(String),
}

/// A document that is being read.
pub struct Walk<'a> {
    text: &'a str,
    options: Options,
    reader: Reader<&'a [u8]>,
    /// Elements that are open.
    open: Vec<Open>,
    /// Count of open elements below the deepest level that is told.
    beyond: usize,
    /// Steps that were found and are not told yet.
    queue: VecDeque<Step>,
    over: bool,
    /// Why nothing more of it could be read.
    pub broken: Option<Broken>,
    warnings: Vec<String>,
}

struct Open {
    /// As it is written.
    name: Vec<u8>,
    is_sibling: bool,
}

enum Step {
    Open(Vec<u8>, Element),
    Close,
}

impl<'a> Walk<'a> {
    pub fn new(text: &'a str, options: Options) -> Self {
        let mut reader = Reader::from_reader(text.as_bytes());
        let config = reader.config_mut();
        config.allow_unmatched_ends = true;
        config.check_end_names = false;
        config.allow_dangling_amp = true;
        Self {
            text,
            options,
            reader,
            open: Vec::new(),
            beyond: 0,
            queue: VecDeque::new(),
            over: false,
            broken: None,
            warnings: Vec::new(),
        }
    }

    /// Count of elements that are open.
    pub fn depth(&self) -> usize {
        self.open.len()
    }

    /// Warnings about what was odd, each once.
    pub fn warnings(self) -> Vec<String> {
        self.warnings
    }

    pub fn warn(&mut self, text: impl Into<String>) {
        let text = text.into();
        if self.warnings.len() < MAX_WARNINGS && !self.warnings.contains(&text) {
            self.warnings.push(text);
        }
    }

    fn warn_of(&mut self, oddity: &Oddity) {
        if let Some(text) = (self.options.warning)(oddity) {
            self.warn(text);
        }
    }

    /// Ends the walk here: nothing more is told.
    pub fn stop(&mut self) {
        self.over = true;
        self.open.clear();
        self.queue.clear();
    }

    /// The next part; none at the end.
    pub fn next_node(&mut self) -> Option<Node<'a>> {
        loop {
            match self.queue.pop_front() {
                Some(Step::Close) => {
                    self.open.pop();
                    return Some(Node::Close);
                }
                Some(Step::Open(name, element)) => {
                    let is_sibling = self.is_sibling(&element.name);
                    self.open.push(Open { name, is_sibling });
                    return Some(Node::Open(element));
                }
                None if self.over => return None,
                None => {
                    if let Some(text) = self.step() {
                        return Some(Node::Text(cut(text, self.options.max_text)));
                    }
                }
            }
        }
    }

    fn is_sibling(&self, name: &str) -> bool {
        self.options.sibling_elements.contains(&name)
    }

    /// Reads on: a piece of text is the answer, anything else goes into the queue.
    fn step(&mut self) -> Option<Cow<'a, str>> {
        let begins = position(self.reader.buffer_position());
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
                Some(Cow::Owned(self.options.references.text_of(&name).unwrap_or_else(
                    || {
                        self.warn_of(&Oddity::UnknownEntity);
                        format!("&{};", clip(&name, MAX_ENTITY_NAME))
                    },
                )))
            }
            Ok(Event::DocType(text)) => {
                if text.windows(8).any(|part| part.eq_ignore_ascii_case(b"<!ENTITY")) {
                    self.warn_of(&Oddity::DeclaredEntities);
                }
                None
            }
            Ok(Event::Comment(_) | Event::Decl(_) | Event::PI(_)) => None,
            Ok(Event::Eof) => {
                if !self.open.is_empty() {
                    self.breaks_off(self.text.len(), begins, Fault::EndsInElement);
                }
                self.over = true;
                None
            }
            Err(error) => {
                let at = position(self.reader.error_position());
                let words = error.to_string();
                let fault = match error {
                    // quick-xml calls such a fault by the name of what it looks for.
                    quick_xml::Error::Syntax(_) => Fault::EndsInMarkup(words),
                    _ => Fault::Unreadable(words),
                };
                self.breaks_off(at, begins, fault);
                None
            }
        }
    }

    fn begin(&mut self, start: &BytesStart<'_>, is_empty: bool) {
        let element = Element::read(start, &self.options);
        let is_void =
            element.prefix.is_empty() && self.options.void_elements.contains(&element.name.as_str());
        let last_sibling = self.open.iter().rposition(|open| open.is_sibling);
        let mut depth = self.open.len();
        if let Some(at) = last_sibling.filter(|_| self.is_sibling(&element.name)) {
            self.warn_of(&Oddity::LeftOpen);
            self.beyond = 0;
            self.queue.extend((at..depth).map(|_| Step::Close));
            depth = at;
        }
        if depth >= self.options.max_depth || self.beyond > 0 {
            self.warn_of(&Oddity::TooDeep(self.options.max_depth));
            match self.options.too_deep {
                TooDeep::PassOver => self.beyond += usize::from(!is_empty && !is_void),
                TooDeep::End => self.close_all(),
            }
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
            let local = String::from_utf8_lossy(local).to_ascii_lowercase();
            if !self.is_sibling(&local) {
                self.beyond -= 1;
                return;
            }
            self.beyond = 0;
        }
        let Some(at) = self.open.iter().rposition(|open| open.name == name) else {
            let mut voids = self.options.void_elements.iter();
            if !voids.any(|void| void.as_bytes().eq_ignore_ascii_case(name)) {
                self.warn_of(&Oddity::NotOpened);
            }
            return;
        };
        let count = self.open.len() - at;
        if count > 1 {
            self.warn_of(&Oddity::LeftOpen);
        }
        self.queue.extend((0..count).map(|_| Step::Close));
    }

    /// Notes why it ends here, and closes what is open.
    fn breaks_off(&mut self, at: usize, begins: usize, fault: Fault) {
        let broken = Broken { at, begins, fault };
        self.broken = Some(broken.clone());
        self.warn_of(&Oddity::Broken(broken));
        self.close_all();
    }

    fn close_all(&mut self) {
        self.over = true;
        self.queue.extend(self.open.iter().map(|_| Step::Close));
    }
}

fn position(byte: u64) -> usize {
    usize::try_from(byte).unwrap_or(0)
}

fn cut(text: Cow<'_, str>, most: usize) -> Cow<'_, str> {
    if text.len() <= most {
        return text;
    }
    match text {
        Cow::Borrowed(text) => Cow::Borrowed(clip(text, most)),
        Cow::Owned(text) => Cow::Owned(clip(&text, most).to_owned()),
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
    use crate::References;

    const MAX_DEPTH: usize = 64;
    const MAX_TEXT: usize = 8 << 10;

    /// Reads on wherever it can.
    const LENIENT: Options = Options {
        max_depth: MAX_DEPTH,
        too_deep: TooDeep::PassOver,
        max_attributes: 32,
        max_value: MAX_TEXT,
        long_value: LongValue::LeaveOut,
        max_text: usize::MAX,
        void_elements: &["br", "img"],
        sibling_elements: &["item", "entry"],
        references: References::WEB,
        warning: |oddity| match oddity {
            Oddity::Broken(_) => None,
            odd => Some(format!("{odd:?}")),
        },
    };
    /// Keeps to its bounds, and knows nothing of web pages.
    const PLAIN: Options = Options {
        too_deep: TooDeep::End,
        max_text: MAX_TEXT,
        long_value: LongValue::Cut,
        void_elements: &[],
        sibling_elements: &[],
        references: References::PLAIN,
        warning: |oddity| Some(format!("{oddity:?}")),
        ..LENIENT
    };

    /// A walk as one line, its warnings, and where it broke off.
    fn transcript(text: &str, options: Options) -> (String, Vec<String>, Option<Broken>) {
        let mut walk = Walk::new(text, options);
        let mut told = String::new();
        while let Some(node) = walk.next_node() {
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
        for options in [LENIENT, PLAIN] {
            let expected = "<a><b x=1 & 2 y=\u{e4}>/a<bA<c>&amp;/".to_owned();
            assert_eq!(transcript(text, options), (expected, vec![], None));
        }
    }

    #[test]
    fn what_is_left_open_is_closed_with_what_it_lies_in() {
        for options in [LENIENT, PLAIN] {
            let (text, warnings, broken) = transcript("<a><b><c>x</b>y</a>", options);
            assert_eq!((text.as_str(), broken), ("<a><b><c>x//y/", None));
            assert_eq!(warnings, ["LeftOpen"]);
            let (text, warnings, _) = transcript("<a></b>x</a>", options);
            assert_eq!((text.as_str(), warnings), ("<a>x/", vec!["NotOpened".to_owned()]));
        }
    }

    #[test]
    fn a_document_may_end_anywhere() {
        for options in [LENIENT, PLAIN] {
            let (text, warnings, broken) = transcript("<a><b>x", options);
            let broken = broken.expect("broken");
            assert_eq!((text.as_str(), broken.at), ("<a><b>x//", 7));
            assert_eq!(broken.fault, Fault::EndsInElement);
            assert_eq!(warnings.len(), usize::from(options.too_deep == TooDeep::End));
            let (text, warnings, broken) = transcript("<a><b>x</b><c attr=\"", options);
            let broken = broken.expect("broken");
            assert_eq!((text.as_str(), broken.begins), ("<a><b>x//", 11));
            assert!(matches!(broken.fault, Fault::EndsInMarkup(_)), "{broken:?}");
            assert_eq!(warnings.len(), usize::from(options.too_deep == TooDeep::End));
        }
    }

    #[test]
    fn void_elements_hold_nothing() {
        let text = "<a></b>x<br>y<IMG src=z>w</a>";
        let (told_text, warnings, _) = transcript(text, LENIENT);
        assert_eq!(told_text, "<a>x<br>/y<img src=z>/w/");
        assert_eq!(warnings, ["NotOpened"]);
        let (told_text, warnings, _) = transcript(text, PLAIN);
        assert_eq!(told_text, "<a>x<br>y<img src=z>w///");
        assert_eq!(warnings, ["NotOpened", "LeftOpen"]);
    }

    #[test]
    fn an_item_ends_where_the_next_begins() {
        let (text, warnings, _) = transcript("<c><item><t>A<item><t>B</t></item><item/></c>", LENIENT);
        assert_eq!(text, "<c><item><t>A//<item><t>B//<item>//");
        assert_eq!(warnings, ["LeftOpen"]);
    }

    #[test]
    fn unknown_entities_stay() {
        let (text, warnings, _) = transcript("<a b='&x;'>&y;&nbsp;&amp</a>", LENIENT);
        assert_eq!(text, "<a b=&x;>&y;\u{a0}&amp/");
        assert!(warnings[0].contains("UnknownEntity"), "{warnings:?}");
    }

    #[test]
    fn declared_entities_are_not_read() {
        let (text, warnings, _) = transcript(
            "<!DOCTYPE a [<!ENTITY x SYSTEM \"file:///etc/passwd\"><!ENTITY y \"&x;&x;\">]><a b='&x;'>&y;&nbsp;&amp</a>",
            PLAIN,
        );
        assert_eq!(text, "<a b=&x;>&y;\u{a0}&amp/");
        assert!(
            warnings.iter().any(|text| text == "DeclaredEntities"),
            "{warnings:?}"
        );
    }

    #[test]
    fn what_lies_too_deep_is_passed_over() {
        let most = MAX_DEPTH - 1;
        let shallow = format!("{}{}", "<a>".repeat(most), "/".repeat(most));
        let text = format!("<r>{}{}<b/></r>", "<a>".repeat(100_000), "</a>".repeat(100_000));
        let (text, warnings, broken) = transcript(&text, LENIENT);
        assert_eq!((text, broken), (format!("<r>{shallow}<b>//"), None));
        assert_eq!(warnings, ["TooDeep(64)"]);
        let open = format!("<r><item>{}</item><item>x</item></r>", "<a>".repeat(1000));
        let (text, _, _) = transcript(&open, LENIENT);
        assert!(text.ends_with("/<item>x//"), "{text}");
    }

    #[test]
    fn depth_ends_the_reading() {
        let deep = "<a>".repeat(100_000);
        let (text, warnings, _) = transcript(&deep, PLAIN);
        assert_eq!(
            text,
            format!("{}{}", "<a>".repeat(MAX_DEPTH), "/".repeat(MAX_DEPTH))
        );
        assert_eq!(warnings, ["TooDeep(64)"]);
    }

    #[test]
    fn texts_are_bounded() {
        let long = format!("<a b='{0}'>{0}</a>", "\u{e4}".repeat(MAX_TEXT));
        let (text, _, _) = transcript(&long, PLAIN);
        assert!(
            text.contains("b=\u{e4}") && text.len() < 3 * MAX_TEXT,
            "{}",
            text.len()
        );
        let (text, _, _) = transcript(&long, LENIENT);
        assert_eq!(text, format!("<a>{}/", "\u{e4}".repeat(MAX_TEXT)));
    }

    #[test]
    fn nothing_is_told_of_a_walk_that_stops() {
        let mut walk = Walk::new("<a><b>x</b></a>", LENIENT);
        assert!(walk.next_node().is_some() && walk.next_node().is_some());
        walk.stop();
        assert_eq!((walk.next_node(), walk.depth()), (None, 0));
    }
}
