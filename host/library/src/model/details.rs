//! What people and providers say of shows and seasons.

use qm_kernel::Timestamp;
use serde_json::{Map, Value};

/// Who said what a person said.
pub const MANUAL: &str = "manual";

/// What is said of a show.
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
    /// Who said each field.
    pub field_sources: Option<Map<String, Value>>,
    pub updated_at: Timestamp,
}

/// What somebody says of a show; what is `None` stays, what is `Some(None)` is taken away.
#[derive(Clone, Debug, Default, PartialEq)]
#[expect(clippy::option_option, reason = "absent, null and a value are three things")]
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
    /// Of a show nothing was said of.
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

    /// Takes what a person says.
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

/// What is said of a season.
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

/// What somebody says of a season; what is `None` stays, what is `Some(None)` is taken away.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(clippy::option_option, reason = "absent, null and a value are three things")]
pub struct SeasonEdit {
    pub title: Option<Option<String>>,
    pub overview: Option<Option<String>>,
}

/// Which show a folder holds; what is `None` stays, what is `Some(None)` is taken away.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(clippy::option_option, reason = "absent, null and a value are three things")]
pub struct IdentityEdit {
    pub titledb_id: Option<Option<String>>,
    pub provider_a_id: Option<Option<String>>,
}

#[cfg(test)]
mod tests {
    use super::*;

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
