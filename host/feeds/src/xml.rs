//! XML of feeds: the options of the reader, and the addresses that relative links are relative to.

use qm_loose_xml::{Broken, Element, Fault, LongValue, Node, Oddity, Options, References, TooDeep};
use url::Url;

use crate::MAX_DEPTH;
use crate::text::readable_line;

/// Feeds are read on wherever they can be.
const OPTIONS: Options = Options {
    max_depth: MAX_DEPTH,
    too_deep: TooDeep::PassOver,
    max_attributes: 32,
    // Magnet links stand in them.
    max_value: crate::MAX_MAGNET + 1024,
    long_value: LongValue::LeaveOut,
    max_text: usize::MAX,
    void_elements: &["br", "hr", "img", "wbr", "input", "meta", "col"],
    sibling_elements: ITEMS,
    references: References::WEB,
    warning,
};
const ITEMS: &[&str] = &["item", "entry"];

fn warning(oddity: &Oddity) -> Option<String> {
    match oddity {
        Oddity::LeftOpen => Some("the feed leaves elements open".to_owned()),
        Oddity::NotOpened => Some("the feed closes elements that were not opened".to_owned()),
        Oddity::UnknownEntity => Some("the feed uses entities that are not known".to_owned()),
        Oddity::TooDeep(levels) => Some(format!(
            "the feed is nested deeper than {levels} levels; what lies deeper was passed over"
        )),
        // Whoever asked for the feed says where it breaks off.
        Oddity::DeclaredEntities | Oddity::Broken(_) => None,
    }
}

pub fn is_item(element: &Element) -> bool {
    ITEMS.contains(&element.name.as_str())
}

/// The cause for which a feed cannot be read further.
pub fn reason(broken: &Broken) -> String {
    match &broken.fault {
        Fault::EndsInElement => "it ends in the middle".to_owned(),
        Fault::EndsInMarkup(_) => "it ends in the middle of its markup".to_owned(),
        Fault::Unreadable(words) => readable_line(words, 160),
    }
}

/// A feed that is being read.
pub struct Walk<'a> {
    inner: qm_loose_xml::Walk<'a>,
    /// Address of the document.
    address: Option<Url>,
    /// Base addresses that elements set for their content, with the depths of these elements.
    bases: Vec<(usize, Url)>,
}

impl<'a> Walk<'a> {
    /// `address`: that of the document, if it is known.
    pub fn new(text: &'a str, address: Option<Url>) -> Self {
        Self {
            inner: qm_loose_xml::Walk::new(text, OPTIONS),
            address,
            bases: Vec::new(),
        }
    }

    /// Address that relative links are relative to, where the walk is.
    pub fn base(&self) -> Option<&Url> {
        let named = self.bases.last().map(|(_, base)| base);
        named.or(self.address.as_ref())
    }

    /// Elements that are open.
    pub fn depth(&self) -> usize {
        self.inner.depth()
    }

    pub fn warn(&mut self, text: impl Into<String>) {
        self.inner.warn(text);
    }

    /// Warnings about faults of the document, each once.
    pub fn warnings(self) -> Vec<String> {
        self.inner.warnings()
    }

    /// True where nothing more of it could be read.
    pub fn is_broken(&self) -> bool {
        self.inner.broken.is_some()
    }

    /// Place and cause of the break, if nothing more of it could be read.
    pub fn take_broken(&mut self) -> Option<Broken> {
        self.inner.broken.take()
    }

    /// The next part; none at the end.
    pub fn next(&mut self) -> Option<Node<'a>> {
        let node = self.inner.next_node()?;
        match &node {
            Node::Open(element) => {
                let base = element.attribute("base").and_then(|base| match self.base() {
                    Some(above) => above.join(base).ok(),
                    None => Url::parse(base).ok(),
                });
                self.bases.extend(base.map(|base| (self.depth(), base)));
            }
            Node::Close => {
                let depth = self.depth();
                self.bases.pop_if(|(level, _)| *level > depth);
            }
            Node::Text(_) => {}
        }
        Some(node)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Warnings about a document, and why it breaks off.
    fn said_of(text: &str) -> (Vec<String>, Option<String>) {
        let mut walk = Walk::new(text, None);
        while walk.next().is_some() {}
        let reason = walk.take_broken().as_ref().map(reason);
        (walk.warnings(), reason)
    }

    #[test]
    fn what_is_odd_is_said_of_the_feed() {
        let deep = format!("<a>{}{}</a>", "<b>".repeat(MAX_DEPTH), "</b>".repeat(MAX_DEPTH));
        for (text, warning) in [
            ("<a><b><c>x</b>y</a>", "the feed leaves elements open"),
            (
                "<a></b>x<br>y</a>",
                "the feed closes elements that were not opened",
            ),
            ("<a>&y;</a>", "the feed uses entities that are not known"),
            (
                &deep,
                "the feed is nested deeper than 64 levels; what lies deeper was passed over",
            ),
        ] {
            assert_eq!(said_of(text), (vec![warning.to_owned()], None), "{text}");
        }
        assert_eq!(said_of("<!DOCTYPE a [<!ENTITY x 'y'>]><a/>"), (vec![], None));
    }

    #[test]
    fn a_feed_breaks_off_for_a_reason() {
        for (text, expected) in [
            ("<a><b>x", "it ends in the middle"),
            ("<a><b>x</b><c attr=\"", "it ends in the middle of its markup"),
        ] {
            assert_eq!(said_of(text), (vec![], Some(expected.to_owned())), "{text}");
        }
    }

    #[test]
    fn a_base_counts_for_what_lies_in_it() {
        let address = Url::parse("http://h/feed").ok();
        let text = "<a><b xml:base='/x/'><c base='y/'><d/></c><e/></b><f/></a>";
        let mut walk = Walk::new(text, address);
        let mut bases = Vec::new();
        while let Some(node) = walk.next() {
            if let Node::Open(element) = node {
                bases.push(format!("{} {}", element.name, walk.base().expect("an address")));
            }
        }
        assert_eq!(
            bases,
            [
                "a http://h/feed",
                "b http://h/x/",
                "c http://h/x/y/",
                "d http://h/x/y/",
                "e http://h/x/",
                "f http://h/feed"
            ]
        );
    }
}
