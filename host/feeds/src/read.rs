//! A document from its bytes to its items.

use qm_loose_xml::{Node, clip};
use url::Url;

use crate::charset::decode;
use crate::instead::{instead_of_feed, nested_error, of_text};
use crate::item::item;
use crate::repair::repair;
use crate::text::title;
use crate::xml::{Walk, is_item, reason};
use crate::{Document, FeedError, MAX_BYTES, MAX_ITEMS, MAX_TITLE};

/// Reads a feed as far as it goes. `content_type` is the value of the header that it came with; only its charset counts.
///
/// A feed without items is no error but a warning; one that cannot be read further has what was read so far, and is an error
/// only when that is nothing.
pub fn read(bytes: &[u8], content_type: Option<&str>) -> Result<Document, FeedError> {
    read_at(bytes, content_type, None)
}

/// Same as [`read`], for a feed whose address is known: relative links of its items are resolved against it, unless the feed
/// names another base.
pub fn read_at(
    bytes: &[u8],
    content_type: Option<&str>,
    address: Option<&str>,
) -> Result<Document, FeedError> {
    if bytes.len() > MAX_BYTES {
        return Err(FeedError::TooLarge { limit: MAX_BYTES });
    }
    if let Some(other) = instead_of_feed(bytes, content_type) {
        return Err(other);
    }
    let (text, odd) = decode(bytes, content_type);
    read_decoded(&text, odd, address)
}

/// Same as [`read_at`], for a text that is decoded already.
pub fn read_text(text: &str, address: Option<&str>) -> Result<Document, FeedError> {
    if text.len() > 2 * MAX_BYTES {
        return Err(FeedError::TooLarge { limit: MAX_BYTES });
    }
    read_decoded(text, None, address)
}

fn read_decoded(text: &str, odd: Option<String>, address: Option<&str>) -> Result<Document, FeedError> {
    if let Some(other) = of_text(text) {
        return Err(other);
    }
    let repaired = repair(text);
    let address = address.and_then(|address| Url::parse(address).ok());
    let mut walk = Walk::new(&repaired.text, address);
    for warning in odd
        .into_iter()
        .chain(repaired.warnings.iter().map(|text| (*text).to_owned()))
    {
        walk.warn(warning);
    }
    let (prefix, is_item) = root(&mut walk, &repaired.text)?;
    let mut document = Document::default();
    let mut nameless = 0_usize;
    let mut next = is_item.then_some(());
    while next.take().is_some() || to_item(&mut walk, &prefix, &mut document)? {
        if document.items.len() == MAX_ITEMS {
            document.left_out += 1;
            continue;
        }
        match item(&mut walk, &prefix) {
            Some(item) => {
                document.is_last_cut = walk.is_broken();
                document.items.push(item);
            }
            None => nameless += 1,
        }
    }
    conclude(walk, document, nameless, &repaired.text)
}

/// Passes over what stands before the feed, and reads the beginning of that: the prefix of its elements, and whether it is an
/// item already.
fn root(walk: &mut Walk<'_>, text: &str) -> Result<(String, bool), FeedError> {
    let mut other = None;
    let mut before = false;
    while let Some(node) = walk.next() {
        match node {
            Node::Open(element) => match element.name.as_str() {
                "rss" | "feed" | "rdf" | "channel" | "item" | "entry" => {
                    if before || other.is_some() {
                        walk.warn("something else stands before the feed");
                    }
                    let prefix = if element.name == "rdf" {
                        String::new()
                    } else {
                        element.prefix.clone()
                    };
                    return Ok((prefix, is_item(&element)));
                }
                "error" if other.is_none() => return Err(nested_error(walk, &element)),
                _ => other = other.or(Some(element.name)),
            },
            Node::Text(text) => before |= !text.trim().is_empty(),
            Node::Close => {}
        }
    }
    if let Some(broken) = walk.take_broken() {
        return Err(unparsable(text, broken.at, reason(&broken)));
    }
    Err(match other {
        Some(name) => FeedError::OtherDocument(crate::text::readable_line(&name, 40)),
        None => FeedError::PlainText(crate::text::readable_line(text, 200)),
    })
}

/// Reads on to the next item; false at the end.
fn to_item(walk: &mut Walk<'_>, prefix: &str, document: &mut Document) -> Result<bool, FeedError> {
    // Of the element that is open: its name, and whether its text is the feed's title.
    let mut names: Vec<String> = Vec::new();
    let mut name_of_feed = String::new();
    while let Some(node) = walk.next() {
        match node {
            Node::Open(element) if is_item(&element) => return Ok(true),
            Node::Open(element) if element.name == "error" && document.items.is_empty() => {
                if element.attribute("code").is_some() {
                    // Some servers wrap it.
                    return Err(nested_error(walk, &element));
                }
                names.push(element.name);
            }
            Node::Open(element) => {
                let own = element.prefix.is_empty() || element.prefix == prefix;
                names.push(if own { element.name } else { String::new() });
            }
            Node::Text(text) => {
                let is_title = match names.as_slice() {
                    [name] => name == "title",
                    [above, name] => above == "channel" && name == "title",
                    _ => false,
                };
                if is_title && name_of_feed.len() < 4 * MAX_TITLE {
                    name_of_feed.push_str(clip(&text, 4 * MAX_TITLE));
                }
            }
            Node::Close => {
                if names.pop().is_some_and(|name| name == "title") && document.title.is_none() {
                    let name = title(&name_of_feed, MAX_TITLE);
                    document.title = Some(name).filter(|name| !name.is_empty());
                }
            }
        }
    }
    Ok(false)
}

fn conclude(
    mut walk: Walk<'_>,
    mut document: Document,
    nameless: usize,
    text: &str,
) -> Result<Document, FeedError> {
    if let Some(broken) = walk.take_broken() {
        if document.items.is_empty() {
            return Err(unparsable(text, broken.at, reason(&broken)));
        }
        document.torn = true;
        let (line, column) = place(text, broken.at);
        walk.warn(format!(
            "the feed cannot be read beyond line {line}, column {column}: {}; what stands before was read",
            reason(&broken)
        ));
    }
    if nameless > 0 {
        walk.warn(format!(
            "{nameless} items have neither guid, link nor title and were left out"
        ));
    }
    if document.left_out > 0 {
        walk.warn(format!(
            "the feed lists {} items more than the {MAX_ITEMS} that are read",
            document.left_out
        ));
    }
    if document.items.is_empty() && nameless == 0 {
        walk.warn(crate::NO_ITEMS);
    }
    document.warnings = walk.warnings();
    Ok(document)
}

fn unparsable(text: &str, at: usize, reason: String) -> FeedError {
    let (line, column) = place(text, at);
    FeedError::Unparsable { line, column, reason }
}

/// Line and column of a byte, from 1.
fn place(text: &str, at: usize) -> (usize, usize) {
    let before = clip(text, at);
    let line = memchr::memchr_iter(b'\n', before.as_bytes()).count() + 1;
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    (line, before[start..].chars().count() + 1)
}
