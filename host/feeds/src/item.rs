//! Reader of one item: the values of its elements, and the choice among them.

use qm_loose_xml::{Element, Node, clip};
use qm_metainfo::info_hash;
use qm_metainfo::magnet::{self, is_magnet};
use url::Url;

use crate::date::unix_ms;
use crate::link::{is_web, magnet_in, resolved};
use crate::size::{parting, size_in_text, size_in_words};
use crate::text::{address, line, title};
use crate::xml::Walk;
use crate::{Item, MAX_MAGNET, MAX_TITLE, MAX_URL};

const MAX_CATEGORIES: usize = 64;
const MAX_CATEGORY: usize = 128;
const MAX_ATTRIBUTES: usize = 256;
/// Bytes of the value of an attribute that is kept as it is.
const MAX_ATTRIBUTE: usize = 1024;
/// Links and enclosures of one item that are looked at.
const MAX_LINKS: usize = 16;
/// The most bytes of a text that is only looked through for a magnet link.
const MAX_BODY: usize = 64 << 10;

/// An item that is being read.
#[derive(Default)]
struct Draft {
    title: Option<String>,
    guid: Option<String>,
    id: Option<String>,
    links: Vec<String>,
    enclosures: Vec<Enclosure>,
    published: Option<i64>,
    updated: Option<i64>,
    categories: Vec<String>,
    page: Option<String>,
    attributes: Vec<(String, String)>,
    /// Magnet link and info-hash from elements and attributes made for them.
    magnet: Option<String>,
    hash: Option<String>,
    /// Hash in the form that a magnet link names it.
    topic: Option<String>,
    /// A guid that is a link.
    permalink: Option<String>,
    sizes: Sizes,
    /// Magnet link found in a text.
    mentioned: Option<String>,
    too_long: bool,
}

/// Sizes, by where they stand.
#[derive(Default)]
struct Sizes {
    attribute: Option<u64>,
    content: Option<u64>,
    element: Option<u64>,
    /// Size written in words, such as "1.5 GiB".
    about: Option<u64>,
    mentioned: Option<u64>,
}

struct Enclosure {
    url: String,
    kind: String,
    length: Option<u64>,
}

/// A child of an item whose text is gathered.
struct Field {
    /// None when nothing is made of it.
    name: Option<Name>,
    text: String,
    depth: usize,
    /// Address that a link in it is relative to.
    base: Option<Url>,
    is_permalink: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Name {
    Title,
    Guid,
    Id,
    Link,
    Published,
    Updated,
    Category,
    Magnet,
    Hash,
    Length,
    Size,
    Page,
    Body,
}

impl Name {
    fn of_element(element: &Element, prefix: &str) -> Option<Self> {
        // These mean the same whatever vocabulary they are of.
        let any = match element.name.as_str() {
            "magneturi" | "magneturl" | "magnet" => Some(Name::Magnet),
            "infohash" | "info_hash" => Some(Name::Hash),
            "contentlength" => Some(Name::Length),
            _ => None,
        };
        let own = element.prefix.is_empty() || element.prefix == prefix;
        let known = matches!(
            element.prefix.as_str(),
            "atom"
                | "atom10"
                | "a10"
                | "rss"
                | "dc"
                | "dcterms"
                | "content"
                | "torrent"
                | "torznab"
                | "newznab"
                | "nyaa"
        );
        if any.is_some() || !(own || known) {
            return any;
        }
        Some(match element.name.as_str() {
            "title" => Name::Title,
            "guid" => Name::Guid,
            "id" => Name::Id,
            "link" => Name::Link,
            "pubdate" | "published" | "date" | "issued" | "created" => Name::Published,
            "updated" | "modified" => Name::Updated,
            "category" | "subject" => Name::Category,
            "size" => Name::Size,
            "comments" => Name::Page,
            "description" | "summary" | "content" | "encoded" => Name::Body,
            _ => return None,
        })
    }

    /// The most bytes of its text that are gathered.
    const fn room(self) -> usize {
        match self {
            Name::Body => MAX_BODY,
            Name::Link | Name::Page | Name::Guid | Name::Id | Name::Magnet => MAX_MAGNET + 1024,
            _ => 4 * MAX_TITLE,
        }
    }
}

/// Reads an item whose beginning was read, to its end; none when nothing tells it from others. `prefix` is that of the
/// feed's own elements.
pub fn item(walk: &mut Walk<'_>, prefix: &str) -> Option<Item> {
    let level = walk.depth();
    let mut draft = Draft::default();
    let mut field: Option<Field> = None;
    while let Some(node) = walk.next() {
        match (node, &mut field) {
            (Node::Open(element), open) => {
                let name = Name::of_element(&element, prefix);
                match open.as_ref().map(|field| field.name) {
                    // Markup in a text: what it links to counts as mentioned.
                    Some(Some(Name::Body)) => {
                        if let Some(href) = element.attribute("href").filter(|href| is_magnet(href)) {
                            draft.mention(href);
                        }
                        if let Some(field) = open {
                            field.text.push(parting(&element.name));
                        }
                        continue;
                    }
                    Some(None) => continue,
                    // In a title only what it is emphasised by; another child of the item means that nobody closed it.
                    Some(Some(_)) if name.is_none() && element.name != "enclosure" => continue,
                    Some(Some(_)) | None => draft.end(field.take()),
                }
                draft.element(&element, walk.base());
                // A container of the elements that describe a torrent.
                if element.name != "torrent" {
                    field = Some(Field {
                        name,
                        text: String::new(),
                        depth: walk.depth(),
                        base: walk.base().filter(|_| name == Some(Name::Link)).cloned(),
                        is_permalink: element
                            .attribute("ispermalink")
                            .is_none_or(|told| !told.eq_ignore_ascii_case("false")),
                    });
                }
            }
            (Node::Text(text), Some(field)) => {
                if let Some(name) = field.name {
                    let room = name.room().saturating_sub(field.text.len());
                    field.text.push_str(clip(&text, room));
                }
            }
            (Node::Text(_), None) => {}
            (Node::Close, open) => {
                if walk.depth() < level {
                    break;
                }
                if open.as_ref().is_some_and(|field| walk.depth() < field.depth) {
                    draft.end(field.take());
                }
            }
        }
    }
    if draft.too_long {
        walk.warn(format!(
            "the feed has links or guids of more than {} KiB, which were left out",
            MAX_URL >> 10
        ));
    }
    draft.into_item()
}

impl Draft {
    fn element(&mut self, element: &Element, base: Option<&Url>) {
        match element.name.as_str() {
            "enclosure" => {
                let url = element.attribute("url").or_else(|| element.attribute("resource"));
                if let Some(url) = url.or_else(|| element.attribute("href")) {
                    self.enclose(url, element, base);
                }
            }
            // Atom's.
            "link" => {
                if let Some(href) = element.attribute("href") {
                    match element.attribute("rel").unwrap_or("alternate") {
                        "enclosure" => self.enclose(href, element, base),
                        "alternate" => self.link(href, base),
                        _ => {}
                    }
                }
            }
            "category" => {
                if let Some(term) = element.attribute("term").or_else(|| element.attribute("label")) {
                    self.category(term);
                }
            }
            "attr" => {
                if let (Some(name), Some(value)) = (element.attribute("name"), element.attribute("value")) {
                    let name = name.to_ascii_lowercase();
                    self.attribute(&name, value);
                    if self.attributes.len() < MAX_ATTRIBUTES && name.len() + value.len() <= MAX_ATTRIBUTE {
                        self.attributes.push((name, value.to_owned()));
                    }
                }
            }
            _ => {}
        }
    }

    /// One of Torznab or Newznab.
    fn attribute(&mut self, name: &str, value: &str) {
        match name {
            "category" => self.category(value),
            "size" => {
                keep(&mut self.sizes.attribute, bytes(value));
                keep(&mut self.sizes.about, size_in_words(value));
            }
            "infohash" => self.hash(value),
            "magneturl" => self.magnet(value),
            "usenetdate" => keep(&mut self.updated, unix_ms(value)),
            _ => {}
        }
    }

    fn end(&mut self, field: Option<Field>) {
        if let Some(Field {
            name: Some(name),
            text,
            base,
            is_permalink,
            ..
        }) = field
        {
            match name {
                Name::Link => self.link(&text, base.as_ref()),
                Name::Guid if is_permalink => {
                    let link = self.usable(&text, None);
                    keep(&mut self.permalink, link);
                    self.text(name, &text);
                }
                _ => self.text(name, &text),
            }
        }
    }

    fn hash(&mut self, text: &str) {
        if self.hash.is_none() {
            (self.hash, self.topic) = (info_hash::read(text), magnet::topic_of(text));
        }
    }

    fn text(&mut self, name: Name, text: &str) {
        match name {
            Name::Title => keep(
                &mut self.title,
                Some(title(text, MAX_TITLE)).filter(|text| !text.is_empty()),
            ),
            Name::Guid => {
                let guid = self.identity(text);
                keep(&mut self.guid, guid);
            }
            Name::Id => {
                let id = self.identity(text);
                keep(&mut self.id, id);
            }
            Name::Published => keep(&mut self.published, unix_ms(text)),
            Name::Updated => keep(&mut self.updated, unix_ms(text)),
            Name::Category => self.category(text),
            Name::Magnet => self.magnet(text),
            Name::Hash => self.hash(text),
            Name::Length => keep(&mut self.sizes.content, bytes(text)),
            Name::Size => {
                keep(&mut self.sizes.element, bytes(text));
                keep(&mut self.sizes.about, size_in_words(text));
            }
            Name::Page => {
                let page = self.usable(text, None).filter(|link| is_web(link));
                keep(&mut self.page, page);
            }
            // Told before.
            Name::Link => {}
            Name::Body => {
                if self.sizes.mentioned.is_none() {
                    self.sizes.mentioned = size_in_text(text);
                }
                if self.mentioned.is_none() {
                    self.mentioned = magnet_in(text);
                }
            }
        }
    }

    fn mention(&mut self, link: &str) {
        if self.mentioned.is_none() {
            self.mentioned = magnet_in(link);
        }
    }

    /// A link that may be followed and kept.
    fn usable(&mut self, text: &str, base: Option<&Url>) -> Option<String> {
        let mut link = address(text);
        if !is_magnet(&link)
            && !is_web(&link)
            && let Some(whole) = resolved(&link, base)
        {
            link = whole;
        }
        let most = if is_magnet(&link) { MAX_MAGNET } else { MAX_URL };
        self.too_long |= link.len() > most;
        ((is_magnet(&link) || is_web(&link)) && link.len() <= most).then_some(link)
    }

    fn identity(&mut self, text: &str) -> Option<String> {
        let plain = line(text, MAX_MAGNET + 1);
        let most = if is_magnet(&plain) { MAX_MAGNET } else { MAX_URL };
        self.too_long |= plain.len() > most;
        (!plain.is_empty() && plain.len() <= most).then_some(plain)
    }

    fn link(&mut self, text: &str, base: Option<&Url>) {
        if self.links.len() < MAX_LINKS {
            let link = self.usable(text, base);
            self.links.extend(link);
        }
    }

    fn enclose(&mut self, url: &str, element: &Element, base: Option<&Url>) {
        if self.enclosures.len() < MAX_LINKS
            && let Some(url) = self.usable(url, base)
        {
            self.enclosures.push(Enclosure {
                url,
                kind: element.attribute("type").unwrap_or_default().to_ascii_lowercase(),
                length: element.attribute("length").and_then(bytes),
            });
        }
    }

    fn magnet(&mut self, text: &str) {
        if self.magnet.is_none() {
            self.magnet = self.usable(text, None).filter(|link| is_magnet(link));
        }
    }

    fn category(&mut self, text: &str) {
        let category = line(text, MAX_CATEGORY);
        if self.categories.len() < MAX_CATEGORIES
            && !category.is_empty()
            && !self.categories.contains(&category)
        {
            self.categories.push(category);
        }
    }

    /// The enclosure that is a torrent, as far as one can tell: a picture or a video of it is none.
    fn enclosure(&self) -> Option<&Enclosure> {
        let is_torrent = |enclosure: &&Enclosure| {
            let path = enclosure.url.split(['?', '#']).next().unwrap_or_default();
            enclosure.kind.contains("bittorrent") || is_magnet(&enclosure.url) || path.ends_with(".torrent")
        };
        let is_shown = |enclosure: &&Enclosure| {
            ["image/", "text/"]
                .iter()
                .any(|kind| enclosure.kind.starts_with(kind))
        };
        let mut all = self.enclosures.iter();
        all.clone()
            .find(is_torrent)
            .or_else(|| all.find(|enclosure| !is_shown(enclosure)))
    }

    fn into_item(mut self) -> Option<Item> {
        let enclosure = self.enclosure();
        let length = enclosure.and_then(|enclosure| enclosure.length);
        let link = enclosure.map(|enclosure| enclosure.url.clone());
        let link = link.or_else(|| self.links.first().cloned());
        let named = [&self.guid, &self.id, &self.magnet, &self.mentioned];
        let enclosures = self.enclosures.iter().map(|enclosure| &enclosure.url);
        let everywhere = enclosures.chain(&self.links).chain(named.into_iter().flatten());
        let magnet = everywhere.into_iter().find(|text| is_magnet(text)).cloned();
        let title = self.title.take().or_else(|| {
            let name = magnet::encoded_name_of(magnet.as_deref()?)?.replace('+', " ");
            Some(line(&decoded(&name), MAX_TITLE)).filter(|name| !name.is_empty())
        });
        let title = title.unwrap_or_default();
        let topic = self.topic.take().filter(|_| link.is_none());
        let magnet = magnet.or_else(|| topic.map(|topic| magnet::link_of(&topic, &title)));
        let hash = magnet
            .as_deref()
            .and_then(magnet::info_hash_of)
            .or(self.hash.take());
        let link = link.or(self.permalink.take());
        let told = self.guid.take().or(self.id.take());
        let page = told.clone().filter(|guid| is_web(guid));
        let is_told_by_link = told.is_none() && link.is_some();
        let guid = told.or_else(|| link.clone());
        let guid = guid.or_else(|| Some(title.clone()).filter(|title| !title.is_empty()))?;
        Some(Item {
            guid,
            is_told_by_link,
            title,
            link,
            magnet,
            info_hash: hash,
            size: self.sizes.best().or(length),
            published: self.published.or(self.updated),
            categories: self.categories,
            page: self.page.or(page),
            attributes: self.attributes,
        })
    }
}

impl Sizes {
    /// The most explicit one.
    fn best(&self) -> Option<u64> {
        let exact = self.attribute.or(self.content).or(self.element);
        exact.or(self.about).or(self.mentioned)
    }
}

fn keep<T>(field: &mut Option<T>, found: Option<T>) {
    if field.is_none() {
        *field = found;
    }
}

/// A count of bytes that says something and that a database can hold.
fn bytes(text: &str) -> Option<u64> {
    let count: u64 = text.trim().parse().ok()?;
    (count > 0 && i64::try_from(count).is_ok()).then_some(count)
}

/// Percent-decodes what gives text.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, behind)) = rest.split_first() {
        let escaped = (byte == b'%').then(|| rest.get(1..3)).flatten();
        match escaped.and_then(|digits| hex::decode(digits).ok()) {
            Some(decoded) => {
                bytes.extend(decoded);
                rest = &rest[3..];
            }
            None => {
                bytes.push(byte);
                rest = behind;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
