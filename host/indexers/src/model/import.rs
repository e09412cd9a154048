//! Import of an aggregator's indexers: matching them with our rows, and the fields that follow.
//!
//! Each row stores the aggregator's last values beside its own. A field that still equals the last value
//! follows the aggregator; any other was changed by its owner and stays.

use serde::{Deserialize, Serialize};

use super::indexer::{Indexer, MAX_CATEGORIES, MAX_NAME, MAX_PRIORITY, MAX_URL};

/// Largest number of characters of the aggregator's definition name.
const MAX_DEFINITION: usize = 120;
/// Categories from this number on are specific to one indexer and cannot be searched by number.
const OWN_CATEGORIES: u32 = 100_000;

/// One indexer in the aggregator's list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Identity of the indexer, independent of its name: see [`origin`].
    pub origin: String,
    pub name: String,
    pub base_url: String,
    pub is_enabled: bool,
    pub priority: i64,
    pub categories: Vec<u32>,
}

/// Values of an indexer at the last import.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Imported {
    pub name: String,
    pub base_url: String,
    pub is_enabled: bool,
    pub priority: i64,
    pub categories: Vec<u32>,
    /// Set when the aggregator no longer has it: `true` if the row was enabled at that time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gone: Option<bool>,
}

/// Source of an imported row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    pub of: String,
    pub last: Imported,
}

/// Identity of an aggregator's indexer. It includes the definition, because the number alone would match a
/// different tracker once the link leads to another aggregator.
pub fn origin(kind: &str, id: &str, definition: &str) -> String {
    let definition: String = definition.trim().chars().take(MAX_DEFINITION).collect();
    format!("{kind}:{id}:{definition}")
}

/// The first part of an origin: kind of the aggregator and number of the indexer.
pub fn place(origin: &str) -> &str {
    let end = origin.match_indices(':').nth(1).map(|(at, _)| at);
    &origin[..end.unwrap_or(origin.len())]
}

impl Listed {
    /// Brings the values within our limits, or returns the reason why the indexer cannot be imported.
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

/// Updates a row from the aggregator and returns the names of the changed fields. Where the URL still
/// follows, the key does too ([`follows_url`]).
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
    // A row comes back enabled as it was, unless a user has enabled it meanwhile.
    let was = row.is_enabled;
    row.is_enabled |= last.gone.unwrap_or(false);
    go_with(&mut row.is_enabled, &last.is_enabled, &listed.is_enabled);
    note("enabled", row.is_enabled != was);
    row.origin = Some(listed.to_origin());
    changed
}

/// True when the row uses the aggregator's URL, so that the aggregator's key applies.
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

/// Change to a row whose indexer the aggregator no longer has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gone {
    /// The row was enabled and has been disabled.
    Disabled,
    /// The row was disabled already; the loss has been recorded.
    Noted,
    /// The loss was recorded before, and the row is disabled.
    Known,
    /// The loss was recorded before, and a user has enabled the row since.
    Enabled,
}

/// Disables a row whose indexer is gone, once only: a user who enables it again keeps it.
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

/// Normalised base URL: `…/1`, `…/1/` and `…/1/api` are the same.
pub fn asked_at(base_url: &str) -> String {
    let text = url::Url::parse(base_url.trim()).map_or_else(|_| base_url.trim().to_owned(), String::from);
    let text = text.trim_end_matches('/');
    let cut = text.len().saturating_sub(4);
    match text.get(cut..) {
        Some(end) if end.eq_ignore_ascii_case("/api") => text[..cut].to_owned(),
        _ => text.to_owned(),
    }
}
