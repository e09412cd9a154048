//! What a person finds in their inbox.

use qm_kernel::Timestamp;

use super::presentation::Presentation;

/// Characters of a search that are looked for.
pub const MAX_SEARCH: usize = 200;

/// A notification as its owner sees it.
#[derive(Clone, Debug)]
pub struct Item {
    pub id: String,
    pub event_key: String,
    pub category: String,
    pub severity: String,
    pub title: String,
    /// Where clients show more of it.
    pub deep_link: Option<String>,
    pub resource_type: Option<String>,
    pub resource_id: Option<String>,
    pub is_read: bool,
    pub is_archived: bool,
    pub created_at: Timestamp,
    /// None where there never was one, or it was stored by another version.
    pub presentation: Option<Presentation>,
}

/// Which part of an inbox is listed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shelf {
    /// All that is not archived.
    #[default]
    Open,
    Unread,
    Read,
    Archived,
}

impl Shelf {
    /// The part that a word names; what names none is all that is not archived.
    pub fn named(word: &str) -> Self {
        match word {
            "unread" => Shelf::Unread,
            "read" => Shelf::Read,
            "archived" => Shelf::Archived,
            _ => Shelf::Open,
        }
    }

    pub const fn as_str(self) -> &'static str {
        match self {
            Shelf::Open => "open",
            Shelf::Unread => "unread",
            Shelf::Read => "read",
            Shelf::Archived => "archived",
        }
    }
}

/// What is looked for.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    pub shelf: Shelf,
    pub category: Option<String>,
    /// A part of the title, in any case of letters.
    pub search: Option<String>,
}

/// What is done with a notification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    Read,
    Unread,
    /// For good, and read.
    Archived,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shelves_are_named_and_anything_else_is_what_is_not_archived() {
        for shelf in [Shelf::Unread, Shelf::Read, Shelf::Archived, Shelf::Open] {
            assert_eq!(Shelf::named(shelf.as_str()), shelf);
        }
        for word in ["", "all", "UNREAD", "archive"] {
            assert_eq!(Shelf::named(word), Shelf::Open, "{word}");
        }
    }
}
