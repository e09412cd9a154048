//! Queries and request bodies of the routes.

use qm_kernel::{PageQuery, Timestamp};
use qm_matching::CandidateDraft;
use qm_web::{Fields, FromBody, FromQuery, Rows};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::model::bundle::is_bundle;
use crate::model::feed::{self, DEFAULT_INTERVAL, Feed, FeedChange, MAX_INTERVAL, MIN_INTERVAL};
use crate::model::history::{HistoryFilter, Standing, day};
use crate::model::rule::{self, ImportMode, RuleChange};

const MAX_TEXT: usize = 1000;
const MAX_PATH: usize = 4096;
const URL_RULE: &str = "url must be an http or https address";

/// A feed to follow.
#[derive(ToSchema, FromBody)]
#[schema(rename_all = "camelCase", as = NewRssFeed)]
pub struct NewFeed {
    #[field(not_empty, max = feed::MAX_NAME)]
    pub name: String,
    /// An http or https address. One that leads to a private address is fetched only when its host is in `SSRF_ALLOW_HOSTS`.
    #[field(max = feed::MAX_URL, check(feed::is_address, URL_RULE))]
    pub url: String,
    /// Seconds between two looks, 60 to 604800.
    #[field(min = MIN_INTERVAL, max = MAX_INTERVAL, default = DEFAULT_INTERVAL)]
    pub refresh_interval: i64,
    #[field(default = true)]
    pub is_enabled: bool,
}

impl From<NewFeed> for Feed {
    fn from(new: NewFeed) -> Self {
        Self {
            is_enabled: new.is_enabled,
            ..Feed::new(
                new.name.trim().to_owned(),
                new.url,
                new.refresh_interval,
                Timestamp::from_ms(0),
            )
        }
    }
}

/// Changes of a feed; absent fields stay.
#[derive(ToSchema, FromBody)]
#[schema(rename_all = "camelCase", as = ChangedRssFeed)]
pub struct ChangedFeed {
    #[field(not_empty, max = feed::MAX_NAME)]
    pub name: Option<String>,
    #[field(max = feed::MAX_URL, check(feed::is_address, URL_RULE))]
    pub url: Option<String>,
    #[field(min = MIN_INTERVAL, max = MAX_INTERVAL)]
    pub refresh_interval: Option<i64>,
    pub is_enabled: Option<bool>,
}

impl From<ChangedFeed> for FeedChange {
    fn from(changed: ChangedFeed) -> Self {
        Self {
            name: changed.name.map(|name| name.trim().to_owned()),
            url: changed.url,
            refresh_interval: changed.refresh_interval,
            is_enabled: changed.is_enabled,
        }
    }
}

/// Fields of a rule beside its feed and its name.
#[derive(ToSchema, FromBody)]
#[schema(rename_all = "camelCase")]
pub struct RuleFields {
    /// Simple filter of a rule without candidates; an empty text clears it, as in the fields below.
    #[field(max = MAX_TEXT)]
    pub include_regex: Option<String>,
    #[field(max = MAX_TEXT)]
    pub exclude_regex: Option<String>,
    /// Within the roots of the file manager; absent or empty: the engine's own.
    #[field(max = MAX_PATH)]
    pub save_path: Option<String>,
    /// False: matches are recorded, nothing is grabbed.
    pub auto_download: Option<bool>,
    pub is_enabled: Option<bool>,
    #[field(max = MAX_TEXT)]
    pub media_type: Option<String>,
    #[field(max = MAX_TEXT)]
    pub show_status_provider: Option<String>,
    #[field(max = MAX_TEXT)]
    pub show_status_provider_id: Option<String>,
    pub allow_inactive_show_monitoring: Option<bool>,
    /// `legacy_direct` or `managed_intake`
    #[field(one_of = &ImportMode::WORDS)]
    pub import_mode: Option<String>,
    #[field(max = MAX_TEXT)]
    pub storage_profile_id: Option<String>,
}

impl RuleFields {
    fn change(self, name: Option<String>) -> RuleChange {
        let text = |text: Option<String>| text.map(|text| Some(text).filter(|text| !text.trim().is_empty()));
        RuleChange {
            name: name.map(|name| name.trim().to_owned()),
            include_regex: text(self.include_regex),
            exclude_regex: text(self.exclude_regex),
            save_path: text(self.save_path),
            auto_download: self.auto_download,
            is_enabled: self.is_enabled,
            import_mode: self.import_mode.and_then(|word| word.parse().ok()),
            storage_profile_id: text(self.storage_profile_id),
            media_type: text(self.media_type),
            show_status_provider: text(self.show_status_provider),
            show_status_provider_id: text(self.show_status_provider_id),
            allow_inactive_show_monitoring: self.allow_inactive_show_monitoring,
        }
    }
}

/// A rule to make.
#[derive(ToSchema, FromBody)]
#[schema(rename_all = "camelCase", as = NewRssRule)]
pub struct NewRule {
    #[field(not_empty, max = MAX_TEXT)]
    pub feed_id: String,
    /// One of its own, apart from case.
    #[field(not_empty, max = rule::MAX_NAME)]
    pub name: String,
    #[field(flatten)]
    #[schema(ignore)]
    pub fields: RuleFields,
}

impl NewRule {
    pub fn into_change(self) -> (String, RuleChange) {
        (self.feed_id, self.fields.change(Some(self.name)))
    }
}

/// Changes of a rule; absent fields stay.
#[derive(ToSchema, FromBody)]
#[schema(rename_all = "camelCase", as = ChangedRssRule)]
pub struct ChangedRule {
    #[field(not_empty, max = rule::MAX_NAME)]
    pub name: Option<String>,
    #[field(flatten)]
    #[schema(ignore)]
    pub fields: RuleFields,
}

impl From<ChangedRule> for RuleChange {
    fn from(changed: ChangedRule) -> Self {
        changed.fields.change(changed.name)
    }
}

/// A rule to try, with what it would prefer.
#[derive(ToSchema, FromBody)]
#[schema(rename_all = "camelCase", as = TriedRssRule)]
pub struct TriedRule {
    #[field(not_empty, max = MAX_TEXT)]
    pub feed_id: String,
    #[field(max = rule::MAX_NAME, default)]
    pub name: String,
    /// As `POST /api/rss/rules/{id}/match-candidates` takes them, in the order of their places.
    #[field(with = list)]
    #[schema(required = false, value_type = Vec<Object>)]
    pub candidates: Vec<Value>,
    #[field(flatten)]
    #[schema(ignore)]
    pub fields: RuleFields,
}

fn list(f: &mut Fields<'_>, name: &'static str) -> Vec<Value> {
    match f.any(name).optional() {
        None => Vec::new(),
        Some(Value::Array(items)) => items,
        Some(_) => {
            f.broken(format!("{name} must be an array"));
            Vec::new()
        }
    }
}

impl TriedRule {
    pub fn into_parts(self) -> (String, RuleChange, Vec<CandidateDraft>) {
        let drafts = CandidateDraft::read_all(&self.candidates);
        (self.feed_id, self.fields.change(Some(self.name)), drafts)
    }
}

/// Any object: members are read one by one, and one of another type counts as not said.
#[derive(ToSchema)]
#[schema(as = RssLooseBody, value_type = Object)]
pub struct Loose(pub Map<String, Value>);

impl FromBody for Loose {
    const OPTIONAL: bool = true;

    fn from_body(f: &mut Fields<'_>) -> Self {
        Self(f.all())
    }
}

impl Loose {
    pub fn text(&self, name: &str) -> Option<String> {
        let text = self.0.get(name)?.as_str()?.trim();
        (!text.is_empty()).then(|| text.to_owned())
    }

    /// The texts of a list; `None` when the member is missing or no list.
    pub fn texts(&self, name: &str) -> Option<Vec<String>> {
        let items = self.0.get(name)?.as_array()?;
        let texts = items.iter().filter_map(Value::as_str);
        Some(texts.map(str::to_owned).collect())
    }

    pub fn objects(&self, name: &str) -> Vec<Value> {
        let items = self.0.get(name).and_then(Value::as_array);
        items.cloned().unwrap_or_default()
    }
}

/// Rules that were exported. They may be thousands, so each is read when it is its turn.
#[derive(ToSchema, FromBody)]
#[schema(as = RssBundleBody)]
#[fields(optional, open)]
pub struct BundleBody {
    /// Kind of the export; it ends with `.rss-export`.
    #[schema(value_type = String)]
    kind: Option<Value>,
    /// As they were exported, 65,536 at most.
    #[field(with = Fields::rows)]
    #[schema(value_type = Vec<Object>)]
    rules: Option<Rows>,
}

impl BundleBody {
    /// The rows of the bundle, each parsed or with its error; `None` when the body is no bundle.
    pub fn rows(&self) -> Option<impl ExactSizeIterator<Item = Result<Value, &'static str>> + Send> {
        let kind = self.kind.as_ref().and_then(Value::as_str)?;
        let rules = self.rules.as_ref()?;
        is_bundle(kind).then(|| rules.read())
    }
}

/// Filter and page of a feed's history.
pub struct HistoryQuery {
    pub page: PageQuery,
    pub filter: HistoryFilter,
}

impl FromQuery for HistoryQuery {
    fn from_query(f: &mut Fields<'_>) -> Self {
        let page = f.page_or(25, 100);
        let text = |text: Option<String>| text.filter(|text| !text.trim().is_empty());
        let standing = f.string("status").optional().unwrap_or_default();
        let search = text(f.string("search").max(MAX_TEXT).optional());
        let from = text(f.string("from").optional());
        let to = text(f.string("to").optional());
        Self {
            page,
            filter: HistoryFilter {
                standing: Standing::from_word(&standing),
                search,
                from: from.and_then(|text| day(&text, false)),
                before: to.and_then(|text| day(&text, true)),
            },
        }
    }
}

/// A page of a rule's evaluations.
#[derive(FromQuery)]
pub struct EvaluationsQuery(#[field(page = 200)] pub PageQuery);

/// Selection of the rules to export.
#[derive(FromQuery)]
pub struct ExportQuery {
    #[field(given)]
    pub feed_id: Option<String>,
    #[field(and_then = |ids| Some(ids).filter(|ids| !ids.is_empty()))]
    pub rule_ids: Option<Vec<String>>,
}

/// Treatment of imported rules that exist already.
#[derive(FromQuery)]
pub struct ImportQuery {
    #[field(default)]
    pub mode: String,
}

/// Where an item is saved.
#[derive(ToSchema, FromBody)]
#[schema(rename_all = "camelCase", as = RssDownload)]
#[fields(optional)]
pub struct DownloadBody {
    /// Absent or empty: the engine's own.
    #[field(max = MAX_PATH)]
    pub save_path: Option<String>,
}
