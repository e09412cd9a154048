//! Queries and request bodies of the routes.

use qm_kernel::Secret;
use qm_kernel::secret::keeps;
use qm_ports::indexer::{Query, Wanted};
use qm_web::{Fields, FromBody, FromQuery};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::model::change::Change;
use crate::model::config::OWN;
use crate::model::indexer::{
    MAX_CATEGORIES, MAX_KEY, MAX_NAME, MAX_PRIORITY, MAX_URL, PACE, PROTOCOLS, TIMEOUT_MS, is_base_url,
};

/// Largest number of characters of a search term.
const MAX_TERM: usize = 300;
/// Largest size of `config` in bytes.
const MAX_CONFIG: usize = 16 << 10;
/// Largest number of indexers named in one search.
const MAX_NAMED: usize = 500;
const MAX_IMPLEMENTATION: usize = 64;

const NAME_RULE: &str = "must have 1 to 120 characters";
const URL_RULE: &str = "must be an http or https URL without credentials, e.g. http://indexer:9696/1/api";

/// An indexer to make.
#[derive(ToSchema, FromBody)]
#[schema(rename_all = "camelCase")]
pub struct NewIndexer {
    #[field(trim, check(is_name, NAME_RULE))]
    pub name: String,
    #[field(max = MAX_URL, check(is_base_url, URL_RULE), map = without_slash)]
    #[schema(example = "http://indexer-proxy:9696/1")]
    pub base_url: String,
    #[field(min = *TIMEOUT_MS.start(), max = *TIMEOUT_MS.end())]
    pub timeout_ms: Option<u32>,
    #[field(min = *PACE.start(), max = *PACE.end())]
    pub requests_per_minute: Option<u32>,
    #[field(max = MAX_KEY, and_then = entered)]
    #[schema(value_type = Option<String>)]
    pub api_key: Option<Secret>,
    /// Id of the protocol it speaks.
    #[field(len(1, MAX_IMPLEMENTATION))]
    pub implementation: Option<String>,
    /// `torrent` or `usenet`.
    #[field(one_of = PROTOCOLS)]
    pub protocol: Option<String>,
    /// Protocol-specific configuration beside URL and key, by name.
    #[field(with = config)]
    #[schema(value_type = Option<Object>)]
    pub config: Option<Map<String, Value>>,
    pub enabled: Option<bool>,
    /// The lower, the earlier.
    #[field(min = 0, max = MAX_PRIORITY)]
    pub priority: Option<i64>,
    /// 5000, 5030 and 5040 unless told.
    #[field(with = categories)]
    #[schema(max_items = 64)]
    pub categories: Option<Vec<u32>>,
    pub min_seeders: Option<u32>,
}

/// Changes of an indexer; absent fields stay.
#[derive(ToSchema, FromBody)]
#[schema(rename_all = "camelCase")]
#[expect(clippy::option_option, reason = "absent, null and a value are three things")]
pub struct ChangedIndexer {
    #[field(trim, check(is_name, NAME_RULE))]
    pub name: Option<String>,
    #[field(max = MAX_URL, check(is_base_url, URL_RULE), map = without_slash)]
    pub base_url: Option<String>,
    #[field(min = *TIMEOUT_MS.start(), max = *TIMEOUT_MS.end())]
    pub timeout_ms: Option<u32>,
    #[field(min = *PACE.start(), max = *PACE.end())]
    pub requests_per_minute: Option<u32>,
    /// Blank, or bullets alone: the one that is stored stays. Null takes it away.
    #[field(max = MAX_KEY, and_then = entered)]
    #[schema(value_type = Option<String>)]
    pub api_key: Option<Option<Secret>>,
    /// Id of the protocol it speaks; `torznab` unless told.
    #[field(len(1, MAX_IMPLEMENTATION))]
    pub implementation: Option<String>,
    /// `torrent` or `usenet`.
    #[field(one_of = PROTOCOLS)]
    pub protocol: Option<String>,
    /// Protocol-specific configuration beside URL and key, by name; null removes a property.
    #[field(with = config)]
    #[schema(value_type = Option<Object>)]
    pub config: Option<Map<String, Value>>,
    pub enabled: Option<bool>,
    #[field(min = 0, max = MAX_PRIORITY)]
    pub priority: Option<i64>,
    #[field(with = categories)]
    #[schema(max_items = 64)]
    pub categories: Option<Vec<u32>>,
    /// Null: any.
    #[schema(value_type = Option<u32>)]
    pub min_seeders: Option<Option<u32>>,
}

fn is_name(text: &str) -> bool {
    !text.trim().is_empty() && text.trim().chars().count() <= MAX_NAME
}

fn without_slash(url: &str) -> String {
    url.trim().trim_end_matches('/').to_owned()
}

/// A key that was entered, not the mask of the stored one.
fn entered(key: &str) -> Option<Secret> {
    (!keeps(key)).then(|| Secret::new(key))
}

impl From<NewIndexer> for Change {
    fn from(new: NewIndexer) -> Self {
        Self {
            name: Some(new.name),
            implementation: new.implementation,
            protocol: new.protocol,
            base_url: Some(new.base_url),
            api_key: new.api_key.map(Some),
            config: new.config,
            is_enabled: new.enabled,
            priority: new.priority,
            categories: new.categories,
            min_seeders: new.min_seeders.map(Some),
            timeout_ms: new.timeout_ms,
            requests_per_minute: new.requests_per_minute,
        }
    }
}

impl From<ChangedIndexer> for Change {
    fn from(changed: ChangedIndexer) -> Self {
        Self {
            name: changed.name,
            implementation: changed.implementation,
            protocol: changed.protocol,
            base_url: changed.base_url,
            api_key: changed.api_key,
            config: changed.config,
            is_enabled: changed.enabled,
            priority: changed.priority,
            categories: changed.categories,
            min_seeders: changed.min_seeders,
            timeout_ms: changed.timeout_ms,
            requests_per_minute: changed.requests_per_minute,
        }
    }
}

fn config(f: &mut Fields<'_>, name: &'static str) -> Option<Map<String, Value>> {
    let sent = f.object(name).optional()?;
    if let Some(own) = OWN.iter().find(|own| sent.contains_key(**own)) {
        f.broken(format!(
            "{name}.{own} should not exist: {own} is a field of the indexer"
        ));
    }
    if Value::Object(sent.clone()).to_string().len() > MAX_CONFIG {
        f.broken(format!("{name} must take no more than {MAX_CONFIG} bytes"));
    }
    Some(sent)
}

/// Category numbers; numeric texts are accepted.
fn categories(f: &mut Fields<'_>, name: &'static str) -> Option<Vec<u32>> {
    let value = f.any(name).optional()?;
    let number = |item: &Value| match item {
        Value::Number(number) => number.as_u64().and_then(|number| u32::try_from(number).ok()),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    };
    let Value::Array(items) = value else {
        f.broken(format!("{name} must be an array"));
        return None;
    };
    if items.len() > MAX_CATEGORIES {
        f.broken(format!(
            "{name} must contain no more than {MAX_CATEGORIES} elements"
        ));
    }
    let numbers: Option<Vec<u32>> = items.iter().map(number).collect();
    if numbers.is_none() {
        f.broken(format!("each value in {name} must be a whole number"));
    }
    numbers
}

/// Search query for one indexer.
pub struct SearchQuery(pub Query);

impl FromQuery for SearchQuery {
    fn from_query(f: &mut Fields<'_>) -> Self {
        let term = f
            .string("q")
            .about("What is looked for.")
            .max(MAX_TERM)
            .optional();
        Self(Query {
            term: term.unwrap_or_default(),
            season: number_given(f, "season"),
            episode: number_given(f, "ep"),
            ..Query::default()
        })
    }
}

/// A number in a query; blank counts as absent.
fn number_given(f: &mut Fields<'_>, name: &'static str) -> Option<u32> {
    let text = f
        .string(name)
        .given()
        .check(
            |text| text.parse::<u32>().is_ok(),
            "must be a whole number of 0 or more",
        )
        .optional()?;
    text.parse().ok()
}

/// Search across all indexers, or some.
#[derive(ToSchema, FromBody)]
#[schema(rename_all = "camelCase")]
pub struct NewSearch {
    #[field(max = MAX_TERM)]
    pub q: Option<String>,
    pub season: Option<u32>,
    pub ep: Option<u32>,
    /// Absent or empty: those of each indexer.
    #[field(with = categories)]
    #[schema(max_items = 64)]
    pub categories: Option<Vec<u32>>,
    /// Absent: every enabled one. One that is disabled is not asked.
    #[field(max_items = MAX_NAMED)]
    pub indexer_ids: Option<Vec<String>>,
}

impl From<NewSearch> for Wanted {
    fn from(search: NewSearch) -> Self {
        Self {
            term: search.q.unwrap_or_default(),
            season: search.season,
            episode: search.ep,
            categories: search.categories.unwrap_or_default(),
            indexers: search.indexer_ids,
        }
    }
}
