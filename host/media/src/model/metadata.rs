//! Metadata of items, from people and providers. Values of people stay; values of providers are replaced by newer ones.

use std::collections::BTreeMap;

use qm_kernel::Timestamp;
use qm_ports::metadata::{Lookup, LookupKind, Person, Silent, Told};
use qm_ports::notes::NotedFacts;
use serde_json::{Value, json};

use super::details::MANUAL;
use super::item::Item;

/// Source name of a value that was read from the item's name.
pub const LOCAL: &str = "local";
/// Source name of a value from a note (NFO) beside the item.
pub const LOCAL_NFO: &str = "local-nfo";

/// Metadata of an item.
#[derive(Clone, Debug, PartialEq)]
pub struct ItemMetadata {
    pub id: String,
    pub item_id: String,
    pub title: Option<String>,
    pub original_title: Option<String>,
    pub sort_title: Option<String>,
    pub overview: Option<String>,
    /// Midnight, UTC.
    pub release_date: Option<Timestamp>,
    pub year: Option<i64>,
    /// Minutes.
    pub runtime: Option<i64>,
    pub genres: Vec<String>,
    pub studios: Vec<String>,
    pub cast: Vec<Value>,
    pub crew: Vec<Value>,
    pub directors: Vec<String>,
    pub writers: Vec<String>,
    /// 0 to 10.
    pub rating: Option<f64>,
    pub certification: Option<String>,
    pub tags: Vec<String>,
    /// Source of the last change.
    pub provider_name: Option<String>,
    /// Source of each field.
    pub field_sources: BTreeMap<String, String>,
    /// Question that was put to providers, as a text.
    pub question: Option<String>,
    pub updated_at: Timestamp,
}

/// Changes that a person makes to the metadata of an item. `None` keeps a field, `Some(None)` clears it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MetadataEdit {
    pub title: Option<Option<String>>,
    pub original_title: Option<Option<String>>,
    pub sort_title: Option<Option<String>>,
    pub overview: Option<Option<String>>,
    pub year: Option<Option<i64>>,
    pub runtime: Option<Option<i64>>,
    pub rating: Option<Option<f64>>,
    pub certification: Option<Option<String>>,
    pub genres: Option<Vec<String>>,
    pub studios: Option<Vec<String>>,
    pub directors: Option<Vec<String>>,
    pub writers: Option<Vec<String>>,
    pub tags: Option<Vec<String>>,
    pub cast: Option<Vec<Value>>,
    pub crew: Option<Vec<Value>>,
}

/// A value that may be blank.
pub(super) trait Said {
    fn is_blank(&self) -> bool;
}

impl<T> Said for Option<T> {
    fn is_blank(&self) -> bool {
        self.is_none()
    }
}

impl<T> Said for Vec<T> {
    fn is_blank(&self) -> bool {
        self.is_empty()
    }
}

/// Choice of sources whose old value stays in a field for which no new value came.
#[derive(Clone, Copy)]
enum Kept<'a> {
    /// All sources: no provider was asked.
    All,
    /// Providers that did not answer this time.
    Of(&'a [Silent]),
    /// None: the old values answered another question.
    Nobody,
}

impl Kept<'_> {
    fn holds(self, source: &str) -> bool {
        match self {
            Kept::All => true,
            Kept::Of(silent) => silent.iter().any(|silent| silent.provider == source),
            Kept::Nobody => false,
        }
    }
}

impl ItemMetadata {
    /// Metadata of an item of which only the name is known.
    pub fn new(id: String, item: &Item, now: Timestamp) -> Self {
        let named = [("title", true), ("year", item.year.is_some())];
        let named = named.into_iter().filter(|(_, is_said)| *is_said);
        Self {
            id,
            item_id: item.id.clone(),
            title: Some(item.title.clone()),
            original_title: None,
            sort_title: None,
            overview: None,
            release_date: None,
            year: item.year,
            runtime: None,
            genres: Vec::new(),
            studios: Vec::new(),
            cast: Vec::new(),
            crew: Vec::new(),
            directors: Vec::new(),
            writers: Vec::new(),
            rating: None,
            certification: None,
            tags: Vec::new(),
            provider_name: Some(LOCAL.to_owned()),
            field_sources: named
                .map(|(name, _)| (name.to_owned(), LOCAL.to_owned()))
                .collect(),
            question: None,
            updated_at: now,
        }
    }

    /// Applies the changes of a person. From then on no other source changes these fields.
    pub fn take(&mut self, edit: MetadataEdit, now: Timestamp) {
        macro_rules! take {
            ($($field:ident $name:literal,)+) => {$(
                if let Some(value) = edit.$field {
                    self.$field = value;
                    self.field_sources.insert($name.to_owned(), MANUAL.to_owned());
                }
            )+};
        }
        take! {
            title "title", original_title "originalTitle", sort_title "sortTitle", overview "overview", year "year",
            runtime "runtime", rating "rating", certification "certification", genres "genres", studios "studios",
            directors "directors", writers "writers", tags "tags", cast "cast", crew "crew",
        }
        self.provider_name = Some(MANUAL.to_owned());
        self.updated_at = now;
    }

    /// Takes the answers of providers to `question`. Values of people stay, and so do earlier answers to the same question
    /// from providers that are silent now. `was_asked`: true if there was a provider to ask.
    pub fn hear(&mut self, item: &Item, question: &str, told: Told, was_asked: bool, now: Timestamp) {
        let Told { metadata, silent, .. } = told;
        let is_same = self.question.as_deref() == Some(question);
        let kept = match (is_same, was_asked) {
            (true, true) => Kept::Of(&silent),
            (true, false) => Kept::All,
            (false, _) => Kept::Nobody,
        };
        let provider_name = metadata.as_ref().map(|told| told.provider.clone());
        let mut told = metadata.unwrap_or_default();
        let from = std::mem::take(&mut told.field_sources);
        let by = provider_name.clone().unwrap_or_default();
        macro_rules! hear {
            ($($field:ident $name:literal $value:expr,)+) => {$(
                let source = from.get($name).unwrap_or(&by);
                settle(&mut self.$field, $name, $value, source, kept, &mut self.field_sources);
            )+};
        }
        hear! {
            title "title" told.title,
            original_title "originalTitle" told.original_title,
            overview "overview" told.overview,
            release_date "releaseDate" told.release_date.as_deref().and_then(midnight),
            year "year" told.year.map(i64::from),
            runtime "runtime" told.runtime.map(i64::from),
            genres "genres" told.genres,
            studios "studios" told.studios,
            cast "cast" members(told.cast, "role"),
            crew "crew" members(told.crew, "job"),
            directors "directors" told.directors,
            writers "writers" told.writers,
            rating "rating" told.rating,
            certification "certification" told.certification,
            tags "tags" told.tags,
        }
        self.say_name(item);
        let has_manual = self.field_sources.values().any(|source| source == MANUAL);
        self.provider_name = match provider_name {
            Some(provider) => Some(provider),
            None if is_same && !was_asked => self.provider_name.take(),
            None => Some(if has_manual { MANUAL } else { LOCAL }.to_owned()),
        };
        self.question = Some(question.to_owned());
        self.updated_at = now;
    }

    /// Takes facts of a note for fields that are empty, or that only the name gave; false if nothing is new.
    pub fn take_note(&mut self, note: NotedFacts, now: Timestamp) -> bool {
        let mut is_new = false;
        macro_rules! take {
            ($($field:ident $name:literal $value:expr,)+) => {$(
                let value = $value;
                let is_by_name = self.field_sources.get($name).is_some_and(|source| source == LOCAL);
                let is_said = self.field_sources.contains_key($name) && !is_by_name;
                if !value.is_blank() && !is_said && (self.$field.is_blank() || is_by_name) {
                    self.$field = value;
                    self.field_sources.insert($name.to_owned(), LOCAL_NFO.to_owned());
                    is_new = true;
                }
            )+};
        }
        take! {
            title "title" note.title,
            original_title "originalTitle" note.original_title,
            sort_title "sortTitle" note.sort_title,
            overview "overview" note.overview,
            release_date "releaseDate" note.release_date.as_deref().and_then(midnight),
            year "year" note.year,
            runtime "runtime" note.runtime,
            genres "genres" note.genres,
            studios "studios" note.studios,
            cast "cast" cast_of(note.cast),
            directors "directors" note.directors,
            writers "writers" note.writers,
            rating "rating" note.rating,
            certification "certification" note.certification,
            tags "tags" note.tags,
        }
        if is_new {
            if self.provider_name.as_deref().is_none_or(|name| name == LOCAL) {
                self.provider_name = Some(LOCAL_NFO.to_owned());
            }
            self.updated_at = now;
        }
        is_new
    }

    /// Takes a rating, unless a person entered one. True if it was taken.
    pub fn rate(&mut self, rating: f64, by: &str) -> bool {
        if self.field_sources.get("rating").map(String::as_str) == Some(MANUAL) {
            return false;
        }
        self.rating = Some(rating);
        self.field_sources.insert("rating".to_owned(), by.to_owned());
        true
    }

    /// Takes title and year from the item's name where no other source gave them.
    fn say_name(&mut self, item: &Item) {
        let title = Some(item.title.clone());
        let sources = &mut self.field_sources;
        if !sources.contains_key("title") {
            settle(&mut self.title, "title", title, LOCAL, Kept::Nobody, sources);
        }
        if !sources.contains_key("year") {
            settle(&mut self.year, "year", item.year, LOCAL, Kept::Nobody, sources);
        }
    }
}

/// Sets a field to the value of a source, and notes that source. A value of a person stays, and so does one that `kept`
/// protects when the new one is blank.
fn settle<T: Said>(
    field: &mut T,
    name: &str,
    told: T,
    by: &str,
    kept: Kept<'_>,
    sources: &mut BTreeMap<String, String>,
) {
    let before = sources.get(name).map(String::as_str);
    let is_kept = |before: &str| before == LOCAL_NFO || kept.holds(before);
    if before == Some(MANUAL) || (told.is_blank() && before.is_some_and(is_kept)) {
        return;
    }
    if told.is_blank() {
        sources.remove(name);
    } else {
        sources.insert(name.to_owned(), by.to_owned());
    }
    *field = told;
}

pub(super) fn cast_of(cast: Vec<(String, Option<String>)>) -> Vec<Value> {
    let people = cast.into_iter().map(|(name, role)| match role {
        Some(role) => json!({ "name": name, "role": role }),
        None => json!({ "name": name }),
    });
    people.collect()
}

pub(super) fn members(people: Vec<Person>, role: &str) -> Vec<Value> {
    let one = |person: Person| match person.role {
        Some(said) => json!({ "name": person.name, role: said }),
        None => json!({ "name": person.name }),
    };
    people.into_iter().map(one).collect()
}

/// The beginning of a day (`YYYY-MM-DD`).
pub(super) fn midnight(day: &str) -> Option<Timestamp> {
    serde_json::from_value(format!("{day}T00:00:00.000Z").into()).ok()
}

/// Question to providers about an item. `ids`: known ids of its show.
pub fn lookup(item: &Item, ids: Vec<qm_ports::metadata::ExternalId>) -> Lookup {
    let kind = match &*item.media_type {
        "movie" => LookupKind::Movie,
        "tv" | "episode" => LookupKind::Tv,
        "anime" => LookupKind::Anime,
        _ => LookupKind::General,
    };
    let number = |number: Option<i64>| number.and_then(|number| u32::try_from(number).ok());
    let numbers = (number(item.season), number(item.episode));
    let (season, episode) = match numbers {
        (Some(season), Some(episode)) if kind.is_show() => (Some(season), Some(episode)),
        _ => (None, None),
    };
    Lookup {
        kind,
        title: item.title.clone(),
        year: number(item.year),
        season,
        episode,
        ids,
    }
}

/// Text of a question, as it is stored beside its answer.
pub fn question(lookup: &Lookup) -> String {
    json!([
        lookup.kind,
        lookup.title,
        lookup.year,
        lookup.season,
        lookup.episode,
        lookup.ids
    ])
    .to_string()
}
