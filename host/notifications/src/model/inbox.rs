//! Inbox of a user.

use qm_kernel::Timestamp;

use super::presentation::Presentation;

/// Number of characters of a search text that are used.
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
    /// `None` when there was no card, or another version stored it.
    pub presentation: Option<Presentation>,
}

/// Filter on the state of notifications.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shelf {
    /// Everything that is not archived.
    #[default]
    Open,
    Unread,
    Read,
    Archived,
}

impl Shelf {
    /// Parses the query word; an unknown word selects everything that is not archived.
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

/// Filter of an inbox.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    pub shelf: Shelf,
    pub category: Option<String>,
    /// Part of the title, ignoring case.
    pub search: Option<String>,
}

/// Change of a notification's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    Read,
    Unread,
    /// Archived for good; counts as read.
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
