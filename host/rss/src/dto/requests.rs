//! Queries and request bodies of the routes.

use qm_kernel::{PageQuery, Timestamp};
use qm_web::{Fields, FromBody, FromQuery, Rows};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::model::bundle::is_bundle;
use crate::model::candidate::CandidateDraft;
use crate::model::feed::{self, DEFAULT_INTERVAL, Feed, FeedChange, MAX_INTERVAL, MIN_INTERVAL};
use crate::model::history::{HistoryFilter, Standing, day};
use crate::model::rule::{self, ImportMode, RuleChange};

const MAX_TEXT: usize = 1000;
const MAX_PATH: usize = 4096;
const URL_RULE: &str = "url must be an http or https address";

/// A feed to follow.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase", as = NewRssFeed)]
pub struct NewFeed {
    pub name: String,
    /// An http or https address. One that leads to a private address is fetched only when its host is in `SSRF_ALLOW_HOSTS`.
    pub url: String,
    /// Seconds between two looks, 60 to 604800.
    #[schema(required = false, default = 900)]
    pub refresh_interval: i64,
    #[schema(required = false, default = true)]
    pub is_enabled: bool,
}

impl FromBody for NewFeed {
    fn from_body(f: &mut Fields<'_>) -> Self {
        Self {
            name: f.string("name").required().not_empty().max(feed::MAX_NAME).get(),
            url: f
                .string("url")
                .required()
                .max(feed::MAX_URL)
                .check(feed::is_address, URL_RULE)
                .get(),
            refresh_interval: f
                .integer("refreshInterval")
                .min(MIN_INTERVAL)
                .max(MAX_INTERVAL)
                .or(DEFAULT_INTERVAL),
            is_enabled: f.boolean("isEnabled").or(true),
        }
    }
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
#[derive(ToSchema)]
#[schema(rename_all = "camelCase", as = ChangedRssFeed)]
pub struct ChangedFeed {
    pub name: Option<String>,
    pub url: Option<String>,
    pub refresh_interval: Option<i64>,
    pub is_enabled: Option<bool>,
}

impl FromBody for ChangedFeed {
    fn from_body(f: &mut Fields<'_>) -> Self {
        Self {
            name: f.string("name").not_empty().max(feed::MAX_NAME).optional(),
            url: f
                .string("url")
                .max(feed::MAX_URL)
                .check(feed::is_address, URL_RULE)
                .optional(),
            refresh_interval: f
                .integer("refreshInterval")
                .min(MIN_INTERVAL)
                .max(MAX_INTERVAL)
                .optional(),
            is_enabled: f.boolean("isEnabled").optional(),
        }
    }
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
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub struct RuleFields {
    /// Simple filter of a rule without candidates; an empty text clears it, as in the fields below.
    pub include_regex: Option<String>,
    pub exclude_regex: Option<String>,
    /// Within the roots of the file manager; absent or empty: the engine's own.
    pub save_path: Option<String>,
    /// False: matches are recorded, nothing is grabbed.
    pub auto_download: Option<bool>,
    pub is_enabled: Option<bool>,
    pub media_type: Option<String>,
    pub show_status_provider: Option<String>,
    pub show_status_provider_id: Option<String>,
    pub allow_inactive_show_monitoring: Option<bool>,
    /// `legacy_direct` or `managed_intake`
    pub import_mode: Option<String>,
    pub storage_profile_id: Option<String>,
}

impl RuleFields {
    fn read(f: &mut Fields<'_>) -> Self {
        Self {
            include_regex: f.string("includeRegex").max(MAX_TEXT).optional(),
            exclude_regex: f.string("excludeRegex").max(MAX_TEXT).optional(),
            save_path: f.string("savePath").max(MAX_PATH).optional(),
            auto_download: f.boolean("autoDownload").optional(),
            is_enabled: f.boolean("isEnabled").optional(),
            media_type: f.string("mediaType").max(MAX_TEXT).optional(),
            show_status_provider: f.string("showStatusProvider").max(MAX_TEXT).optional(),
            show_status_provider_id: f.string("showStatusProviderId").max(MAX_TEXT).optional(),
            allow_inactive_show_monitoring: f.boolean("allowInactiveShowMonitoring").optional(),
            import_mode: f.string("importMode").one_of(&ImportMode::WORDS).optional(),
            storage_profile_id: f.string("storageProfileId").max(MAX_TEXT).optional(),
        }
    }

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
#[derive(ToSchema)]
#[schema(rename_all = "camelCase", as = NewRssRule)]
pub struct NewRule {
    pub feed_id: String,
    /// One of its own, apart from case.
    pub name: String,
    #[schema(ignore)]
    pub fields: RuleFields,
}

impl FromBody for NewRule {
    fn from_body(f: &mut Fields<'_>) -> Self {
        Self {
            feed_id: f.string("feedId").required().not_empty().max(MAX_TEXT).get(),
            name: f.string("name").required().not_empty().max(rule::MAX_NAME).get(),
            fields: RuleFields::read(f),
        }
    }
}

impl NewRule {
    pub fn into_change(self) -> (String, RuleChange) {
        (self.feed_id, self.fields.change(Some(self.name)))
    }
}

/// Changes of a rule; absent fields stay.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase", as = ChangedRssRule)]
pub struct ChangedRule {
    pub name: Option<String>,
    #[schema(ignore)]
    pub fields: RuleFields,
}

impl FromBody for ChangedRule {
    fn from_body(f: &mut Fields<'_>) -> Self {
        Self {
            name: f.string("name").not_empty().max(rule::MAX_NAME).optional(),
            fields: RuleFields::read(f),
        }
    }
}

impl From<ChangedRule> for RuleChange {
    fn from(changed: ChangedRule) -> Self {
        changed.fields.change(changed.name)
    }
}

/// A rule to try, with what it would prefer.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase", as = TriedRssRule)]
pub struct TriedRule {
    pub feed_id: String,
    #[schema(required = false)]
    pub name: String,
    /// As `POST /api/rss/rules/{id}/match-candidates` takes them, in the order of their places.
    #[schema(required = false, value_type = Vec<Object>)]
    pub candidates: Vec<Value>,
    #[schema(ignore)]
    pub fields: RuleFields,
}

impl FromBody for TriedRule {
    fn from_body(f: &mut Fields<'_>) -> Self {
        Self {
            feed_id: f.string("feedId").required().not_empty().max(MAX_TEXT).get(),
            name: f
                .string("name")
                .max(rule::MAX_NAME)
                .optional()
                .unwrap_or_default(),
            candidates: match f.any("candidates").optional() {
                None => Vec::new(),
                Some(Value::Array(items)) => items,
                Some(_) => {
                    f.broken("candidates must be an array");
                    Vec::new()
                }
            },
            fields: RuleFields::read(f),
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
#[derive(ToSchema)]
#[schema(as = RssBundleBody)]
pub struct BundleBody {
    /// Kind of the export; it ends with `.rss-export`.
    #[schema(value_type = String)]
    kind: Option<Value>,
    /// As they were exported, 65,536 at most.
    #[schema(value_type = Vec<Object>)]
    rules: Option<Rows>,
}

impl FromBody for BundleBody {
    const OPTIONAL: bool = true;

    fn from_body(f: &mut Fields<'_>) -> Self {
        f.allow_unknown();
        Self {
            kind: f.any("kind").optional(),
            rules: f.rows("rules"),
        }
    }
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
pub struct EvaluationsQuery(pub PageQuery);

impl FromQuery for EvaluationsQuery {
    fn from_query(f: &mut Fields<'_>) -> Self {
        Self(f.page(200))
    }
}

/// Selection of the rules to export.
pub struct ExportQuery {
    pub feed_id: Option<String>,
    pub rule_ids: Option<Vec<String>>,
}

impl FromQuery for ExportQuery {
    fn from_query(f: &mut Fields<'_>) -> Self {
        Self {
            feed_id: f.string("feedId").optional().filter(|id| !id.is_empty()),
            rule_ids: f.strings("ruleIds").optional().filter(|ids| !ids.is_empty()),
        }
    }
}

/// Treatment of imported rules that exist already.
pub struct ImportQuery {
    pub mode: String,
}

impl FromQuery for ImportQuery {
    fn from_query(f: &mut Fields<'_>) -> Self {
        Self {
            mode: f.string("mode").optional().unwrap_or_default(),
        }
    }
}

/// Where an item is saved.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase", as = RssDownload)]
pub struct DownloadBody {
    /// Absent or empty: the engine's own.
    pub save_path: Option<String>,
}

impl FromBody for DownloadBody {
    const OPTIONAL: bool = true;

    fn from_body(f: &mut Fields<'_>) -> Self {
        Self {
            save_path: f.string("savePath").max(MAX_PATH).optional(),
        }
    }
}
