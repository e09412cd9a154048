//! Metadata of items, in requests and answers.

use qm_media::dto::fields::{nullable_text, number};
use qm_media::model::metadata::MetadataEdit;
use qm_web::{Fields, FromBody};
use serde_json::{Value, json};
use utoipa::ToSchema;

use super::shows::{MAX_LIST, MAX_OVERVIEW, MAX_TEXT, MAX_YEAR, list, rating};

/// Longest runtime, in minutes: beyond any film.
const MAX_RUNTIME: i64 = 100_000;

/// Changes to the metadata of an item; absent fields stay, null clears.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase", as = MediaMetadataInput)]
#[expect(clippy::option_option, reason = "absent, null and a value are three things")]
pub struct MetadataInput {
    /// Title of the item; for an episode, its own title.
    #[schema(value_type = Option<String>)]
    pub title: Option<Option<String>>,
    #[schema(value_type = Option<String>)]
    pub original_title: Option<Option<String>>,
    #[schema(value_type = Option<String>)]
    pub sort_title: Option<Option<String>>,
    #[schema(value_type = Option<String>)]
    pub overview: Option<Option<String>>,
    #[schema(value_type = Option<i64>)]
    pub year: Option<Option<i64>>,
    /// Minutes.
    #[schema(value_type = Option<i64>)]
    pub runtime: Option<Option<i64>>,
    /// 0 to 10.
    #[schema(value_type = Option<f64>)]
    pub rating: Option<Option<f64>>,
    #[schema(value_type = Option<String>)]
    pub certification: Option<Option<String>>,
    pub genres: Option<Vec<String>>,
    pub studios: Option<Vec<String>>,
    pub directors: Option<Vec<String>>,
    pub writers: Option<Vec<String>>,
    pub tags: Option<Vec<String>>,
    /// Each `{ name, role? }`.
    #[schema(value_type = Option<Vec<Object>>)]
    pub cast: Option<Vec<Value>>,
    /// Each `{ name, job? }`.
    #[schema(value_type = Option<Vec<Object>>)]
    pub crew: Option<Vec<Value>>,
}

impl FromBody for MetadataInput {
    fn from_body(f: &mut Fields<'_>) -> Self {
        f.allow_unknown();
        Self {
            title: nullable_text(f, "title", MAX_TEXT),
            original_title: nullable_text(f, "originalTitle", MAX_TEXT),
            sort_title: nullable_text(f, "sortTitle", MAX_TEXT),
            overview: nullable_text(f, "overview", MAX_OVERVIEW),
            year: number(f, "year", MAX_YEAR),
            runtime: number(f, "runtime", MAX_RUNTIME),
            rating: rating(f),
            certification: nullable_text(f, "certification", MAX_TEXT),
            genres: list(f, "genres"),
            studios: list(f, "studios"),
            directors: list(f, "directors"),
            writers: list(f, "writers"),
            tags: list(f, "tags"),
            cast: people(f, "cast", "role"),
            crew: people(f, "crew", "job"),
        }
    }
}

/// People with their roles; other members are dropped.
fn people(f: &mut Fields<'_>, name: &'static str, role: &'static str) -> Option<Vec<Value>> {
    let given = f.any(name).optional()?;
    let Value::Array(given) = given else {
        f.broken(format!("{name} must be an array"));
        return None;
    };
    let people = if given.len() <= MAX_LIST {
        given.iter().map(|one| person(one, role)).collect()
    } else {
        None
    };
    if people.is_none() {
        f.broken(format!(
            "{name} must be a list of at most {MAX_LIST} objects with a name and, if known, a {role}, of at most {MAX_TEXT} characters each"
        ));
    }
    people
}

fn person(given: &Value, role: &str) -> Option<Value> {
    let is_text = |text: &&str| text.chars().count() <= MAX_TEXT;
    let name = given.get("name")?.as_str().map(str::trim).filter(is_text);
    let name = name.filter(|name| !name.is_empty())?;
    match given.get(role) {
        None | Some(Value::Null) => Some(json!({ "name": name })),
        Some(does) => {
            let does = does.as_str().filter(is_text)?;
            Some(json!({ "name": name, role: does }))
        }
    }
}

impl From<MetadataInput> for MetadataEdit {
    fn from(input: MetadataInput) -> Self {
        Self {
            title: input.title,
            original_title: input.original_title,
            sort_title: input.sort_title,
            overview: input.overview,
            year: input.year,
            runtime: input.runtime,
            rating: input.rating,
            certification: input.certification,
            genres: input.genres,
            studios: input.studios,
            directors: input.directors,
            writers: input.writers,
            tags: input.tags,
            cast: input.cast,
            crew: input.crew,
        }
    }
}
