//! Reads feeds: RSS 0.9x, 1.0 (RDF) and 2.0, Atom 0.3 and 1.0, from bytes to items, as far as a document goes.
//!
//! Pure: no I/O, no clock, nothing kept. What a site answers instead of a feed (a page to sign in on, a captcha, an error
//! document) is told apart, each in a sentence of its own.
//!
//! Bounds: [`MAX_BYTES`] of a document, [`MAX_ITEMS`] items, [`MAX_DEPTH`] levels of elements; [`MAX_TITLE`], [`MAX_URL`] and
//! [`MAX_MAGNET`] of a text, 64 categories of an item, 256 attributes of it, 16 warnings. Time and memory are in proportion to the document: entities that it
//! declares are never read, so none can grow or name a file.

mod charset;
mod date;
mod instead;
mod item;
mod link;
mod read;
mod repair;
mod size;
mod text;
mod xml;

pub use charset::decode;
pub use date::unix_ms;
pub use instead::instead_of_torrent;
pub use read::{read, read_at, read_text};

/// The most bytes of a document.
pub const MAX_BYTES: usize = 5 << 20;
/// The most items of a document that are read.
pub const MAX_ITEMS: usize = 10_000;
/// Limit of nested elements; deeper ones are skipped.
pub const MAX_DEPTH: usize = 64;
/// The most bytes of a title, which is cut there.
pub const MAX_TITLE: usize = 1024;
/// The most bytes of a link or of a guid. A longer one would be another one if it were cut, so it is left out.
pub const MAX_URL: usize = 4096;
/// The most bytes of a magnet link: they name trackers, and there are many.
pub const MAX_MAGNET: usize = 32 << 10;

/// The warning of a feed that lists nothing.
pub const NO_ITEMS: &str = "the feed lists no items";

/// Content of a feed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Document {
    /// Name that the feed gives itself: one line, at most [`MAX_TITLE`].
    pub title: Option<String>,
    /// Items in the order of the document, at most [`MAX_ITEMS`].
    pub items: Vec<Item>,
    /// Count of the items beyond [`MAX_ITEMS`].
    pub left_out: usize,
    /// True when reading stopped early: there may be more items, and the next answer may have them. Do not keep the validators
    /// for conditional requests of such a document.
    pub torn: bool,
    /// True when reading stopped inside the last item, which has only the parts that could be read. A caller that remembers items
    /// by their guid skips it until the next answer: the rest of a known item is never looked at.
    pub is_last_cut: bool,
    /// Faults of the document that did not stop reading, each once, for the user. They hold no text of an item.
    pub warnings: Vec<String>,
}

/// One item of a feed. No text is empty or holds a control character.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Item {
    /// Id of the item within its feed: `<guid>`, else `<id>`, else its link, else its title.
    pub guid: String,
    /// True when the guid is the link, which items of other titles may have too.
    pub is_told_by_link: bool,
    /// Title in one line. Without one it is the name in the magnet link, else empty.
    pub title: String,
    /// Address of the enclosure, else of the item, else its guid where that is a permalink: an http(s) URL or a magnet link, as it is
    /// written; a relative one resolved.
    pub link: Option<String>,
    /// Magnet link as it is written; for an item with an info-hash and no link, one made from the hash.
    pub magnet: Option<String>,
    /// Info-hash that a field of its own tells; digits in a link are the key of a member as likely. 40 hexadecimal digits, lower case;
    /// of a torrent that has only a v2 hash, the first 40 of that.
    pub info_hash: Option<String>,
    /// Bytes, never 0: an attribute's, else an element's, else one in words, else the length of the enclosure, which is often that of
    /// the .torrent itself.
    pub size: Option<u64>,
    /// Unix milliseconds.
    pub published: Option<i64>,
    /// Categories as they are written, each once.
    pub categories: Vec<String>,
    /// Address of its page, for people.
    pub page: Option<String>,
    /// Attributes of Torznab and Newznab, by lower-case names, as they are written.
    pub attributes: Vec<(String, String)>,
}

impl Item {
    /// Address for a torrent client: the magnet link, else the link.
    pub fn download(&self) -> Option<&str> {
        self.magnet.as_deref().or(self.link.as_deref())
    }
}

/// Error when there is no feed to read. No message repeats the page's own text. Each continues a sentence such as
/// "Could not fetch feed: …".
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FeedError {
    #[error("the site answered nothing at all where a feed was expected")]
    Nothing,
    /// A page on which people sign in.
    #[error(
        "the site answered a page on which people sign in: use the feed's address with its key, as the site shows it to its members"
    )]
    LoginPage { title: Option<String> },
    /// A captcha, or a page that judges browsers.
    #[error(
        "the site, or what stands before it, answered a page that wants to see a person (a captcha or a browser check)"
    )]
    Challenge { title: Option<String> },
    /// Another web page; `feed` is the address of a feed that it names, without its query.
    #[error("the site answered a web page where a feed was expected: {}", page_hint(.feed.as_deref()))]
    WebPage {
        title: Option<String>,
        feed: Option<String>,
    },
    /// An `<error code description>` document.
    #[error("the site answered the error {code}: {description}")]
    Told { code: String, description: String },
    #[error("the site answered JSON where a feed was expected")]
    Json,
    #[error("the address leads to a .torrent file, not to a feed")]
    Torrent,
    /// Text without markup.
    #[error("the site answered a text where a feed was expected: \"{0}\"")]
    PlainText(String),
    /// Compressed or other data.
    #[error("the site answered data that is no text where a feed was expected")]
    Binary,
    /// XML that is no feed; the name of its root.
    #[error("the site answered a <{0}> document where a feed was expected")]
    OtherDocument(String),
    /// XML that breaks off before its first item.
    #[error("the feed cannot be read beyond line {line}, column {column}: {reason}")]
    Unparsable {
        line: usize,
        column: usize,
        reason: String,
    },
    #[error("the feed has more than {} MB", .limit >> 20)]
    TooLarge { limit: usize },
}

impl FeedError {
    /// A word for each, which never changes.
    pub const fn code(&self) -> &'static str {
        match self {
            FeedError::Nothing => "nothing",
            FeedError::LoginPage { .. } => "login_page",
            FeedError::Challenge { .. } => "challenge",
            FeedError::WebPage { .. } => "web_page",
            FeedError::Told { .. } => "error_document",
            FeedError::Json => "json",
            FeedError::Torrent => "torrent",
            FeedError::PlainText(_) => "plain_text",
            FeedError::Binary => "binary",
            FeedError::OtherDocument(_) => "other_document",
            FeedError::Unparsable { .. } => "unparsable",
            FeedError::TooLarge { .. } => "too_large",
        }
    }
}

fn page_hint(feed: Option<&str>) -> String {
    match feed {
        Some(feed) => format!("it names a feed, {feed}"),
        None => "check the feed's address".to_owned(),
    }
}
