//! Indexers of an aggregator as rows of ours: which row is which, and which of its fields follow.
//!
//! Beside a row stands what the aggregator said last. A field that still has that value follows the aggregator; any other is
//! its owner's.

use serde::{Deserialize, Serialize};

use super::indexer::{Indexer, MAX_CATEGORIES, MAX_NAME, MAX_PRIORITY, MAX_URL};

/// Characters of what an indexer is by the aggregator's word.
const MAX_DEFINITION: usize = 120;
/// Categories from here on are an indexer's own, and nobody asks for them by number.
const OWN_CATEGORIES: u32 = 100_000;

/// One indexer of the aggregator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Which one it is, whatever it is called: as [`origin`] says it.
    pub origin: String,
    pub name: String,
    pub base_url: String,
    pub is_enabled: bool,
    pub priority: i64,
    pub categories: Vec<u32>,
}

/// What the aggregator said of an indexer last.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Imported {
    pub name: String,
    pub base_url: String,
    pub is_enabled: bool,
    pub priority: i64,
    pub categories: Vec<u32>,
    /// The aggregator no longer has it: whether it was enabled when that was seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gone: Option<bool>,
}

/// Where an indexer was taken over from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    pub of: String,
    pub last: Imported,
}

/// Which indexer of an aggregator it is. The number alone would take another tracker for the same one once the link leads to
/// another aggregator.
pub fn origin(kind: &str, id: &str, definition: &str) -> String {
    let definition: String = definition.trim().chars().take(MAX_DEFINITION).collect();
    format!("{kind}:{id}:{definition}")
}

/// The part of an origin that tells the aggregator's kind and its number there.
pub fn place(origin: &str) -> &str {
    let end = origin.match_indices(':').nth(1).map(|(at, _)| at);
    &origin[..end.unwrap_or(origin.len())]
}

impl Listed {
    /// Brings it into the bounds of ours, or says why it cannot be one.
    pub fn tidy(mut self) -> Result<Self, String> {
        self.name = self.name.trim().chars().take(MAX_NAME).collect();
        if self.name.trim().is_empty() {
            return Err("it has no name".to_owned());
        }
        if self.base_url.len() > MAX_URL {
            return Err(format!("its URL is longer than {MAX_URL} characters"));
        }
        self.priority = self.priority.clamp(0, MAX_PRIORITY);
        self.categories.sort_unstable();
        self.categories.dedup();
        if self.categories.iter().any(|category| *category < OWN_CATEGORIES) {
            self.categories.retain(|category| *category < OWN_CATEGORIES);
        }
        self.categories.truncate(MAX_CATEGORIES);
        Ok(self)
    }

    fn as_imported(&self) -> Imported {
        Imported {
            name: self.name.clone(),
            base_url: self.base_url.clone(),
            is_enabled: self.is_enabled,
            priority: self.priority,
            categories: self.categories.clone(),
            gone: None,
        }
    }

    /// The origin of a row that is made of it.
    pub fn to_origin(&self) -> Origin {
        Origin {
            of: self.origin.clone(),
            last: self.as_imported(),
        }
    }
}

/// Lets a row follow. Returns the names of the fields that changed; of a URL that still follows, the key does as well
/// ([`follows_url`]).
pub fn follow(row: &mut Indexer, listed: &Listed) -> Vec<&'static str> {
    let last = row.origin.take().map(|origin| origin.last).unwrap_or_default();
    let mut changed = Vec::new();
    let mut note = |name: &'static str, is_other: bool| changed.extend(is_other.then_some(name));
    note("name", go_with(&mut row.name, &last.name, &listed.name));
    note(
        "baseUrl",
        go_with(&mut row.base_url, &last.base_url, &listed.base_url),
    );
    note(
        "priority",
        go_with(&mut row.priority, &last.priority, &listed.priority),
    );
    note(
        "categories",
        go_with(&mut row.categories, &last.categories, &listed.categories),
    );
    // It comes back as it was, unless somebody has enabled it meanwhile.
    let was = row.is_enabled;
    row.is_enabled |= last.gone.unwrap_or(false);
    go_with(&mut row.is_enabled, &last.is_enabled, &listed.is_enabled);
    note("enabled", row.is_enabled != was);
    row.origin = Some(listed.to_origin());
    changed
}

/// Whether the row is asked where the aggregator says, so that the aggregator's key is the one for it.
pub fn follows_url(row: &Indexer, listed: &Listed) -> bool {
    row.base_url == listed.base_url
}

fn go_with<T: Clone + PartialEq>(field: &mut T, last: &T, listed: &T) -> bool {
    let follows = *field == *last && *field != *listed;
    if follows {
        field.clone_from(listed);
    }
    follows
}

/// What becomes of a row whose indexer the aggregator no longer has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gone {
    /// It was enabled.
    Disabled,
    /// It was disabled already; that it is gone is new.
    Noted,
    /// Known, and disabled.
    Known,
    /// Known, and somebody has enabled it since.
    Enabled,
}

/// Disables a row whose indexer is gone, once: whoever enables it again means it.
pub fn lose(row: &mut Indexer) -> Gone {
    let was = row.is_enabled;
    let Some(origin) = &mut row.origin else {
        return Gone::Known;
    };
    match origin.last.gone {
        None => {
            origin.last.gone = Some(was);
            row.is_enabled = false;
            if was { Gone::Disabled } else { Gone::Noted }
        }
        Some(_) if was => Gone::Enabled,
        Some(_) => Gone::Known,
    }
}

/// A base URL as the protocol takes it: `…/1`, `…/1/` and `…/1/api` are the same.
pub fn asked_at(base_url: &str) -> String {
    let text = url::Url::parse(base_url.trim()).map_or_else(|_| base_url.trim().to_owned(), String::from);
    let text = text.trim_end_matches('/');
    let cut = text.len().saturating_sub(4);
    match text.get(cut..) {
        Some(end) if end.eq_ignore_ascii_case("/api") => text[..cut].to_owned(),
        _ => text.to_owned(),
    }
}
