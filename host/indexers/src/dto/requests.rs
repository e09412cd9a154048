//! Queries and request bodies of the routes.

use qm_kernel::Secret;
use qm_kernel::secret::keeps;
use qm_ports::indexer::{Query, Wanted};
use qm_web::{Fields, FromBody, FromQuery, TextField};
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

const URL_RULE: &str = "must be an http or https URL without credentials, e.g. http://indexer:9696/1/api";

/// An indexer to make.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub struct NewIndexer {
    #[schema(min_length = 1, max_length = 120)]
    pub name: String,
    #[schema(max_length = 2048, example = "http://indexer-proxy:9696/1")]
    pub base_url: String,
    /// Id of the protocol it speaks.
    #[schema(default = "torznab")]
    pub implementation: Option<String>,
    /// `torrent` or `usenet`.
    #[schema(default = "torrent")]
    pub protocol: Option<String>,
    #[schema(value_type = Option<String>, max_length = 512)]
    pub api_key: Option<Secret>,
    /// Protocol-specific configuration beside URL and key, by name.
    #[schema(value_type = Option<Object>)]
    pub config: Option<Map<String, Value>>,
    #[schema(default = true)]
    pub enabled: Option<bool>,
    /// The lower, the earlier.
    #[schema(minimum = 0, maximum = 100, default = 25)]
    pub priority: Option<i64>,
    /// 5000, 5030 and 5040 unless told.
    #[schema(max_items = 64)]
    pub categories: Option<Vec<u32>>,
    #[schema(minimum = 0)]
    pub min_seeders: Option<u32>,
    #[schema(minimum = 1000, maximum = 120_000, default = 15000)]
    pub timeout_ms: Option<u32>,
    #[schema(minimum = 1, maximum = 600, default = 30)]
    pub requests_per_minute: Option<u32>,
}

/// Changes of an indexer; absent fields stay.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub struct ChangedIndexer {
    #[schema(min_length = 1, max_length = 120)]
    pub name: Option<String>,
    #[schema(max_length = 2048)]
    pub base_url: Option<String>,
    /// Id of the protocol it speaks; `torznab` unless told.
    pub implementation: Option<String>,
    /// `torrent` or `usenet`.
    pub protocol: Option<String>,
    /// Blank, or bullets alone: the one that is stored stays. Null takes it away.
    #[schema(value_type = Option<String>, max_length = 512)]
    pub api_key: Option<Secret>,
    /// Protocol-specific configuration beside URL and key, by name; null removes a property.
    #[schema(value_type = Option<Object>)]
    pub config: Option<Map<String, Value>>,
    pub enabled: Option<bool>,
    #[schema(minimum = 0, maximum = 100)]
    pub priority: Option<i64>,
    #[schema(max_items = 64)]
    pub categories: Option<Vec<u32>>,
    /// Null: any.
    #[schema(minimum = 0)]
    pub min_seeders: Option<u32>,
    #[schema(minimum = 1000, maximum = 120_000)]
    pub timeout_ms: Option<u32>,
    #[schema(minimum = 1, maximum = 600)]
    pub requests_per_minute: Option<u32>,
    #[schema(ignore)]
    clears_key: bool,
    #[schema(ignore)]
    clears_seeders: bool,
}

fn name<'f, 'a>(field: TextField<'f, 'a>) -> TextField<'f, 'a> {
    let has_length = |text: &str| !text.trim().is_empty() && text.trim().chars().count() <= MAX_NAME;
    field.check(has_length, "must have 1 to 120 characters")
}

fn base_url<'f, 'a>(field: TextField<'f, 'a>) -> TextField<'f, 'a> {
    field.max(MAX_URL).check(is_base_url, URL_RULE)
}

impl ChangedIndexer {
    fn read(f: &mut Fields<'_>, is_new: bool) -> Self {
        let (name, base_url) = if is_new {
            let name = name(f.string("name").required()).get();
            (Some(name), Some(base_url(f.string("baseUrl").required()).get()))
        } else {
            let name = name(f.string("name")).optional();
            (name, base_url(f.string("baseUrl")).optional())
        };
        let (least, most) = TIMEOUT_MS.into_inner();
        let timeout_ms = f.integer("timeoutMs").min(least).max(most).optional();
        let (least, most) = PACE.into_inner();
        let requests_per_minute = f.integer("requestsPerMinute").min(least).max(most).optional();
        let small = |number: Option<i64>| number.and_then(|number| u32::try_from(number).ok());
        let api_key = f.string("apiKey").max(MAX_KEY).optional();
        Self {
            clears_key: f.is_null("apiKey"),
            clears_seeders: f.is_null("minSeeders"),
            name: name.map(|text| text.trim().to_owned()),
            base_url: base_url.map(|text| text.trim().trim_end_matches('/').to_owned()),
            implementation: f.string("implementation").len(1, MAX_IMPLEMENTATION).optional(),
            protocol: f.string("protocol").one_of(PROTOCOLS).optional(),
            api_key: api_key.filter(|key| !keeps(key)).map(Secret::new),
            config: config(f),
            enabled: f.boolean("enabled").optional(),
            priority: f.integer("priority").min(0).max(MAX_PRIORITY).optional(),
            categories: categories(f),
            min_seeders: small(f.integer("minSeeders").min(0).max(u32::MAX.into()).optional()),
            timeout_ms: small(timeout_ms),
            requests_per_minute: small(requests_per_minute),
        }
    }
}

impl FromBody for NewIndexer {
    fn from_body(f: &mut Fields<'_>) -> Self {
        let read = ChangedIndexer::read(f, true);
        Self {
            name: read.name.unwrap_or_default(),
            base_url: read.base_url.unwrap_or_default(),
            implementation: read.implementation,
            protocol: read.protocol,
            api_key: read.api_key,
            config: read.config,
            enabled: read.enabled,
            priority: read.priority,
            categories: read.categories,
            min_seeders: read.min_seeders,
            timeout_ms: read.timeout_ms,
            requests_per_minute: read.requests_per_minute,
        }
    }
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

impl FromBody for ChangedIndexer {
    fn from_body(f: &mut Fields<'_>) -> Self {
        Self::read(f, false)
    }
}

impl From<ChangedIndexer> for Change {
    fn from(changed: ChangedIndexer) -> Self {
        Self {
            name: changed.name,
            implementation: changed.implementation,
            protocol: changed.protocol,
            base_url: changed.base_url,
            api_key: match changed.api_key {
                None if changed.clears_key => Some(None),
                key => key.map(Some),
            },
            config: changed.config,
            is_enabled: changed.enabled,
            priority: changed.priority,
            categories: changed.categories,
            min_seeders: match changed.min_seeders {
                None if changed.clears_seeders => Some(None),
                least => least.map(Some),
            },
            timeout_ms: changed.timeout_ms,
            requests_per_minute: changed.requests_per_minute,
        }
    }
}

fn config(f: &mut Fields<'_>) -> Option<Map<String, Value>> {
    let sent = f.object("config").optional()?;
    if let Some(own) = OWN.iter().find(|own| sent.contains_key(**own)) {
        f.broken(format!(
            "config.{own} should not exist: {own} is a field of the indexer"
        ));
    }
    if Value::Object(sent.clone()).to_string().len() > MAX_CONFIG {
        f.broken(format!("config must take no more than {MAX_CONFIG} bytes"));
    }
    Some(sent)
}

/// Category numbers; numeric texts are accepted.
fn categories(f: &mut Fields<'_>) -> Option<Vec<u32>> {
    let value = f.any("categories").optional()?;
    let number = |item: &Value| match item {
        Value::Number(number) => number.as_u64().and_then(|number| u32::try_from(number).ok()),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    };
    let Value::Array(items) = value else {
        f.broken("categories must be an array");
        return None;
    };
    if items.len() > MAX_CATEGORIES {
        f.broken(format!(
            "categories must contain no more than {MAX_CATEGORIES} elements"
        ));
    }
    let numbers: Option<Vec<u32>> = items.iter().map(number).collect();
    if numbers.is_none() {
        f.broken("each value in categories must be a whole number");
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

fn number(f: &mut Fields<'_>, name: &'static str) -> Option<u32> {
    let number = f.integer(name).min(0).max(u32::MAX.into()).optional();
    number.and_then(|number| u32::try_from(number).ok())
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
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub struct NewSearch {
    #[schema(max_length = 300)]
    pub q: Option<String>,
    #[schema(minimum = 0)]
    pub season: Option<u32>,
    #[schema(minimum = 0)]
    pub ep: Option<u32>,
    /// Absent or empty: those of each indexer.
    #[schema(max_items = 64)]
    pub categories: Option<Vec<u32>>,
    /// Absent: every enabled one. One that is disabled is not asked.
    pub indexer_ids: Option<Vec<String>>,
}

impl FromBody for NewSearch {
    fn from_body(f: &mut Fields<'_>) -> Self {
        Self {
            q: f.string("q").max(MAX_TERM).optional(),
            season: number(f, "season"),
            ep: number(f, "ep"),
            categories: categories(f),
            indexer_ids: f.strings("indexerIds").max_items(MAX_NAMED).optional(),
        }
    }
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
