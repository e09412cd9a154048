//! Metadata of items, in requests and answers.

use qm_media::model::metadata::MetadataEdit;
use qm_web::{Fields, FromBody};
use serde_json::{Value, json};
use utoipa::ToSchema;

use super::shows::{MAX_LIST, MAX_OVERVIEW, MAX_RATING, MAX_TEXT, MAX_YEAR};

/// Longest runtime, in minutes: beyond any film.
const MAX_RUNTIME: i64 = 100_000;

/// Changes to the metadata of an item; absent fields stay, null clears.
#[derive(ToSchema, FromBody)]
#[schema(rename_all = "camelCase", as = MediaMetadataInput)]
#[expect(clippy::option_option, reason = "absent, null and a value are three things")]
#[fields(open)]
pub struct MetadataInput {
    /// Title of the item; for an episode, its own title.
    #[field(max = MAX_TEXT)]
    #[schema(value_type = Option<String>)]
    pub title: Option<Option<String>>,
    #[field(max = MAX_TEXT)]
    #[schema(value_type = Option<String>)]
    pub original_title: Option<Option<String>>,
    #[field(max = MAX_TEXT)]
    #[schema(value_type = Option<String>)]
    pub sort_title: Option<Option<String>>,
    #[field(max = MAX_OVERVIEW)]
    #[schema(value_type = Option<String>)]
    pub overview: Option<Option<String>>,
    #[field(min = 0, max = MAX_YEAR)]
    #[schema(value_type = Option<i64>)]
    pub year: Option<Option<i64>>,
    /// Minutes.
    #[field(min = 0, max = MAX_RUNTIME)]
    #[schema(value_type = Option<i64>)]
    pub runtime: Option<Option<i64>>,
    /// 0 to 10.
    #[field(min = 0.0, max = MAX_RATING)]
    #[schema(value_type = Option<f64>)]
    pub rating: Option<Option<f64>>,
    #[field(max = MAX_TEXT)]
    #[schema(value_type = Option<String>)]
    pub certification: Option<Option<String>>,
    #[field(max_items = MAX_LIST, each_max = MAX_TEXT)]
    pub genres: Option<Vec<String>>,
    #[field(max_items = MAX_LIST, each_max = MAX_TEXT)]
    pub studios: Option<Vec<String>>,
    #[field(max_items = MAX_LIST, each_max = MAX_TEXT)]
    pub directors: Option<Vec<String>>,
    #[field(max_items = MAX_LIST, each_max = MAX_TEXT)]
    pub writers: Option<Vec<String>>,
    #[field(max_items = MAX_LIST, each_max = MAX_TEXT)]
    pub tags: Option<Vec<String>>,
    /// Each `{ name, role? }`.
    #[field(with = people("role"))]
    #[schema(value_type = Option<Vec<Object>>)]
    pub cast: Option<Vec<Value>>,
    /// Each `{ name, job? }`.
    #[field(with = people("job"))]
    #[schema(value_type = Option<Vec<Object>>)]
    pub crew: Option<Vec<Value>>,
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
