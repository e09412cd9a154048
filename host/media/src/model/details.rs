//! Metadata of shows and seasons, from people and from providers.

use qm_kernel::Timestamp;
use qm_ports::metadata::{Metadata, TitleSuggestion};
use qm_ports::notes::NotedFacts;
use serde_json::{Map, Value};

use super::metadata::{LOCAL_NFO, Said, cast_of, members, midnight};

/// Source name of a value that a person entered.
pub const MANUAL: &str = "manual";

/// Metadata of a show.
#[derive(Clone, Debug, PartialEq)]
pub struct ShowMetadata {
    pub id: String,
    pub show_id: String,
    pub title: Option<String>,
    pub original_title: Option<String>,
    pub sort_title: Option<String>,
    pub overview: Option<String>,
    pub first_aired_at: Option<Timestamp>,
    pub year: Option<i64>,
    pub status: Option<String>,
    pub networks: Vec<String>,
    pub genres: Vec<String>,
    pub studios: Vec<String>,
    pub cast: Vec<Value>,
    pub crew: Vec<Value>,
    /// 0 to 10.
    pub rating: Option<f64>,
    pub certification: Option<String>,
    pub tags: Vec<String>,
    pub provider_name: Option<String>,
    /// Source of each field.
    pub field_sources: Option<Map<String, Value>>,
    pub updated_at: Timestamp,
}

/// Changes that a person makes to a show. `None` keeps a field, `Some(None)` clears it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ShowEdit {
    pub title: Option<Option<String>>,
    pub original_title: Option<Option<String>>,
    pub sort_title: Option<Option<String>>,
    pub overview: Option<Option<String>>,
    pub year: Option<Option<i64>>,
    pub status: Option<Option<String>>,
    pub networks: Option<Vec<String>>,
    pub genres: Option<Vec<String>>,
    pub studios: Option<Vec<String>>,
    pub rating: Option<Option<f64>>,
    pub certification: Option<Option<String>>,
    pub tags: Option<Vec<String>>,
}

impl ShowMetadata {
    /// Empty metadata of a show.
    pub fn new(id: String, show_id: String, now: Timestamp) -> Self {
        Self {
            id,
            show_id,
            title: None,
            original_title: None,
            sort_title: None,
            overview: None,
            first_aired_at: None,
            year: None,
            status: None,
            networks: Vec::new(),
            genres: Vec::new(),
            studios: Vec::new(),
            cast: Vec::new(),
            crew: Vec::new(),
            rating: None,
            certification: None,
            tags: Vec::new(),
            provider_name: None,
            field_sources: None,
            updated_at: now,
        }
    }

    /// Applies the changes of a person.
    pub fn take(&mut self, edit: ShowEdit, now: Timestamp) {
        let mut sources = self.field_sources.take().unwrap_or_default();
        macro_rules! take {
            ($($field:ident $name:literal,)+) => {$(
                if let Some(value) = edit.$field {
                    self.$field = value;
                    sources.insert($name.to_owned(), MANUAL.into());
                }
            )+};
        }
        take! {
            title "title", original_title "originalTitle", sort_title "sortTitle", overview "overview", year "year",
            status "status", networks "networks", genres "genres", studios "studios", rating "rating",
            certification "certification", tags "tags",
        }
        self.field_sources = Some(sources).filter(|sources| !sources.is_empty());
        self.provider_name = Some(MANUAL.to_owned());
        self.updated_at = now;
    }
}

impl ShowMetadata {
    /// Takes the values of a provider in the place of earlier ones of providers. Values of people stay, and so does the
    /// airing status, which has other sources.
    pub fn hear(&mut self, told: Metadata, now: Timestamp) {
        let mut sources = self.field_sources.take().unwrap_or_default();
        let provider = told.provider;
        macro_rules! hear {
            ($($field:ident $name:literal $value:expr,)+) => {$(
                let value = $value;
                let before = sources.get($name).and_then(Value::as_str);
                // The fact of a note stays where the provider has none.
                let is_kept = before == Some(MANUAL) || (before == Some(LOCAL_NFO) && value.is_blank());
                if !is_kept {
                    self.$field = value;
                    if self.$field.is_blank() {
                        sources.remove($name);
                    } else {
                        sources.insert($name.to_owned(), provider.as_str().into());
                    }
                }
            )+};
        }
        hear! {
            title "title" told.title,
            original_title "originalTitle" told.original_title,
            overview "overview" told.overview,
            first_aired_at "firstAiredAt" told.release_date.as_deref().and_then(midnight),
            year "year" told.year.map(i64::from),
            networks "networks" told.studios.clone(),
            genres "genres" told.genres,
            studios "studios" told.studios,
            cast "cast" members(told.cast, "role"),
            crew "crew" members(told.crew, "job"),
            rating "rating" told.rating,
            certification "certification" told.certification,
            tags "tags" told.tags,
        }
        self.field_sources = Some(sources).filter(|sources| !sources.is_empty());
        self.provider_name = Some(provider);
        self.updated_at = now;
    }
}

impl ShowMetadata {
    /// Takes facts of a note for fields that are empty; false if nothing is new.
    pub fn take_note(&mut self, note: NotedFacts, now: Timestamp) -> bool {
        let mut sources = self.field_sources.take().unwrap_or_default();
        let mut is_new = false;
        macro_rules! take {
            ($($field:ident $name:literal $value:expr,)+) => {$(
                let value = $value;
                if !value.is_blank() && self.$field.is_blank() && !sources.contains_key($name) {
                    self.$field = value;
                    sources.insert($name.to_owned(), LOCAL_NFO.into());
                    is_new = true;
                }
            )+};
        }
        take! {
            title "title" note.title,
            original_title "originalTitle" note.original_title,
            sort_title "sortTitle" note.sort_title,
            overview "overview" note.overview,
            first_aired_at "firstAiredAt" note.release_date.as_deref().and_then(midnight),
            year "year" note.year,
            networks "networks" note.studios.clone(),
            genres "genres" note.genres,
            studios "studios" note.studios,
            cast "cast" cast_of(note.cast),
            rating "rating" note.rating,
            certification "certification" note.certification,
            tags "tags" note.tags,
        }
        self.field_sources = Some(sources).filter(|sources| !sources.is_empty());
        if is_new {
            if self.provider_name.is_none() {
                self.provider_name = Some(LOCAL_NFO.to_owned());
            }
            self.updated_at = now;
        }
        is_new
    }
}

/// Outcome of asking a provider about a show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refreshed {
    /// The provider answered; with its id of the show.
    Told(Option<String>),
    /// The provider has no API key.
    NoProvider,
    /// No show has exactly this name; with suggestions, the likeliest first.
    NotFound(Vec<TitleSuggestion>),
    /// The provider answered about another show: its title, and its id in the data set of titles.
    Other {
        title: Option<String>,
        titledb_id: String,
    },
}

/// Metadata of a season.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Season {
    pub id: String,
    pub show_id: String,
    pub number: i64,
    pub title: Option<String>,
    pub overview: Option<String>,
    pub first_aired_at: Option<Timestamp>,
    pub provider_name: Option<String>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// Changes that a person makes to a season. `None` keeps a field, `Some(None)` clears it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SeasonEdit {
    pub title: Option<Option<String>>,
    pub overview: Option<Option<String>>,
}

/// Changes to the ids of a show. `None` keeps an id, `Some(None)` clears it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IdentityEdit {
    pub titledb_id: Option<Option<String>>,
    pub provider_a_id: Option<Option<String>>,
    pub provider_b_id: Option<Option<String>>,
}

#[cfg(test)]
mod tests {
    use qm_ports::metadata::Person;

    use super::*;

    #[test]
    fn a_provider_says_all_but_what_people_did() {
        let mut of = ShowMetadata::new("m".into(), "s".into(), Timestamp::from_ms(1));
        let said = ShowEdit {
            overview: Some(Some("Mine.".into())),
            status: Some(Some("ended".into())),
            genres: Some(Vec::new()),
            ..ShowEdit::default()
        };
        of.take(said, Timestamp::from_ms(2));
        let told = Metadata {
            provider: "provider_a".into(),
            title: Some("The Wire".into()),
            overview: Some("Its.".into()),
            release_date: Some("2002-06-02".into()),
            studios: vec!["HBO".into()],
            genres: vec!["Drama".into()],
            cast: vec![Person {
                name: "Jo".into(),
                role: None,
            }],
            rating: Some(9.3),
            ..Metadata::default()
        };
        of.hear(told, Timestamp::from_ms(3));
        assert_eq!(
            (of.title.as_deref(), of.overview.as_deref()),
            (Some("The Wire"), Some("Mine."))
        );
        assert_eq!((of.status.as_deref(), &*of.genres), (Some("ended"), &[][..]));
        assert_eq!(
            (&of.networks, &of.studios),
            (&vec!["HBO".to_owned()], &of.networks)
        );
        assert_eq!(of.first_aired_at.map(Timestamp::ms), Some(1_022_976_000_000));
        assert_eq!(of.provider_name.as_deref(), Some("provider_a"));
        let other = Metadata {
            provider: "provider_a".into(),
            ..Metadata::default()
        };
        of.hear(other, Timestamp::from_ms(4));
        assert_eq!(
            (&of.title, of.rating, of.overview.as_deref()),
            (&None, None, Some("Mine."))
        );
        let sources = of.field_sources.unwrap();
        let sources: Vec<&str> = sources.keys().map(String::as_str).collect();
        assert_eq!(sources, ["genres", "overview", "status"]);
    }

    #[test]
    fn a_note_fills_what_nobody_said_and_stays_where_a_provider_is_silent() {
        let mut of = ShowMetadata::new("m".into(), "s".into(), Timestamp::from_ms(1));
        let said = ShowEdit {
            overview: Some(None),
            ..ShowEdit::default()
        };
        of.take(said, Timestamp::from_ms(2));
        let note = NotedFacts {
            title: Some("The Wire".into()),
            overview: Some("Of the note.".into()),
            release_date: Some("2002-06-02".into()),
            genres: vec!["Drama".into()],
            cast: vec![("Jo".into(), Some("Cook".into()))],
            ..NotedFacts::default()
        };
        assert!(of.take_note(note.clone(), Timestamp::from_ms(3)));
        assert!(!of.take_note(note, Timestamp::from_ms(4)), "it is known");
        assert_eq!(
            (of.title.as_deref(), &of.overview, of.updated_at.ms()),
            (Some("The Wire"), &None, 3),
            "a person emptied the text"
        );
        assert_eq!(of.cast, [serde_json::json!({ "name": "Jo", "role": "Cook" })]);
        let told = Metadata {
            provider: "provider_a".into(),
            title: Some("Wire".into()),
            ..Metadata::default()
        };
        of.hear(told, Timestamp::from_ms(5));
        assert_eq!(
            (of.title.as_deref(), &*of.genres),
            (Some("Wire"), &["Drama".to_owned()][..])
        );
    }

    #[test]
    fn what_is_not_said_stays() {
        let mut of = ShowMetadata::new("m".into(), "s".into(), Timestamp::from_ms(1));
        of.take(
            ShowEdit {
                title: Some(Some("A".into())),
                tags: Some(vec!["x".into()]),
                ..ShowEdit::default()
            },
            Timestamp::from_ms(2),
        );
        of.take(
            ShowEdit {
                title: Some(None),
                year: Some(Some(2002)),
                ..ShowEdit::default()
            },
            Timestamp::from_ms(3),
        );
        assert_eq!(
            (&of.title, of.year, &*of.tags, of.updated_at.ms()),
            (&None, Some(2002), &["x".to_owned()][..], 3)
        );
        let sources: Vec<String> = of
            .field_sources
            .unwrap()
            .into_iter()
            .map(|(field, _)| field)
            .collect();
        assert_eq!(sources, ["tags", "title", "year"]);
    }
}
