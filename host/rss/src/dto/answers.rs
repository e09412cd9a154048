//! Answer bodies of the routes.

use qm_kernel::{Permission, Principal, Timestamp};
use qm_matching::{FeedScope, MatchType, QualityRules, SizeRules};
use qm_platform::masked;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use crate::model::bundle::{Imported, Mode, Problem};
use crate::model::candidate::StoredCandidate;
use crate::model::evaluation::{Evaluation, Tally};
use crate::model::feed::Feed;
use crate::model::grab::GrabNote;
use crate::model::history::{Counts, HistoryItem};
use crate::model::rule::{ImportMode, Rule};

/// True when the reader may see addresses unmasked.
fn manages(reader: &Principal) -> bool {
    reader.has_permission(Permission::RssManage)
}

/// A feed.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = RssFeed)]
pub struct FeedView {
    pub id: String,
    pub name: String,
    pub url: String,
    /// Seconds.
    pub refresh_interval: i64,
    pub is_enabled: bool,
    #[schema(value_type = Option<String>, format = DateTime)]
    pub last_fetched_at: Option<Timestamp>,
    /// `unknown` (not read yet), `ok` or `error`.
    pub status: &'static str,
    /// Why it could not be read the last time.
    pub last_error: Option<String>,
    /// Failures in a row.
    pub failures: i64,
    /// Earliest time of the next request; null: with the next round.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub next_fetch_at: Option<Timestamp>,
    /// Warnings about the document that was read last.
    pub warnings: Vec<String>,
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    pub updated_at: Timestamp,
}

impl FeedView {
    /// The feed with masked address, for users who may not manage feeds.
    fn masked(mut self) -> Self {
        self.url = masked::url(&self.url);
        self.last_error = self.last_error.map(|error| masked::sentence(&error));
        self.warnings = self.warnings.iter().map(|text| masked::sentence(text)).collect();
        self
    }
}

impl From<Feed> for FeedView {
    fn from(feed: Feed) -> Self {
        let status = match (feed.failures, feed.last_fetched_at) {
            (0, None) => "unknown",
            (0, Some(_)) => "ok",
            _ => "error",
        };
        Self {
            id: feed.id,
            name: feed.name,
            url: feed.url,
            refresh_interval: feed.refresh_interval,
            is_enabled: feed.is_enabled,
            last_fetched_at: feed.last_fetched_at,
            status,
            last_error: feed.last_error,
            failures: feed.failures,
            next_fetch_at: feed.next_fetch_at,
            warnings: feed.warnings,
            created_at: feed.created_at,
            updated_at: feed.updated_at,
        }
    }
}

/// A feed with its rules.
#[derive(Serialize, ToSchema)]
#[schema(as = RssFeedWithRules)]
pub struct FeedWithRulesView {
    #[serde(flatten)]
    pub feed: FeedView,
    /// By their names.
    pub rules: Vec<RuleOfFeedView>,
}

/// A rule, with the feeds it looks at.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = RssRuleOfFeed)]
pub struct RuleOfFeedView {
    #[serde(flatten)]
    pub rule: RuleView,
    /// The feeds it looks at.
    pub feed_ids: Vec<String>,
    /// Sentences on what was just stored and has no effect; left out while there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    pub warnings: Vec<String>,
}

/// Sentence on an import mode that is stored and not followed.
const NO_INTAKE: &str = "importMode `managed_intake` is stored, but this version follows `legacy_direct` for every rule: torrents are \
    downloaded into the save path, and media libraries are scanned when they are complete";

impl RuleOfFeedView {
    /// The answer to a write, with a warning when the write set an import mode that has no effect.
    pub fn written(rule: (Rule, Vec<String>), said: Option<ImportMode>) -> Self {
        let mut view = Self::from(rule);
        if said == Some(ImportMode::ManagedIntake) {
            view.warnings.push(NO_INTAKE.to_owned());
        }
        view
    }
}

impl From<(Rule, Vec<String>)> for RuleOfFeedView {
    fn from((rule, feed_ids): (Rule, Vec<String>)) -> Self {
        Self {
            rule: rule.into(),
            feed_ids,
            warnings: Vec::new(),
        }
    }
}

impl FeedWithRulesView {
    /// The feed as `reader` may see it: addresses hold keys.
    pub fn seen_by(feed: (Feed, Vec<(Rule, Vec<String>)>), reader: &Principal) -> Self {
        let mut view = Self::from(feed);
        if !manages(reader) {
            view.feed = view.feed.masked();
        }
        view
    }
}

impl From<(Feed, Vec<(Rule, Vec<String>)>)> for FeedWithRulesView {
    fn from((feed, rules): (Feed, Vec<(Rule, Vec<String>)>)) -> Self {
        let rules = rules.into_iter().map(RuleOfFeedView::from);
        Self {
            feed: feed.into(),
            rules: rules.collect(),
        }
    }
}

/// A rule.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = RssRule)]
pub struct RuleView {
    pub id: String,
    pub feed_id: String,
    pub name: String,
    /// The simple filter of a rule without candidates.
    pub include_regex: Option<String>,
    pub exclude_regex: Option<String>,
    /// Kept as it was given; what is grabbed gets no category, and no directory of one.
    pub category_id: Option<String>,
    /// Null: the engine's own.
    pub save_path: Option<String>,
    /// False: matches are recorded, nothing is grabbed.
    pub auto_download: bool,
    pub is_enabled: bool,
    /// `legacy_direct` or `managed_intake`
    pub import_mode: &'static str,
    pub storage_profile_id: Option<String>,
    pub pre_migration_save_path: Option<String>,
    pub media_type: Option<String>,
    pub show_status: Option<String>,
    pub show_status_provider: Option<String>,
    pub show_status_provider_id: Option<String>,
    #[schema(value_type = Option<String>, format = DateTime)]
    pub show_status_checked_at: Option<Timestamp>,
    pub show_status_recommendation: Option<String>,
    pub show_first_air_date: Option<String>,
    pub show_last_air_date: Option<String>,
    pub show_next_episode_air_date: Option<String>,
    pub show_status_warnings: Vec<String>,
    pub allow_inactive_show_monitoring: bool,
    pub generated_by_discovery: bool,
    pub discovery_template_id: Option<String>,
    pub acquisition_template_id: Option<String>,
    pub acquisition_template_version: Option<i64>,
    pub discovered_media_id: Option<String>,
    #[schema(value_type = Option<String>, format = DateTime)]
    pub user_modified_at: Option<Timestamp>,
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
}

impl From<Rule> for RuleView {
    fn from(rule: Rule) -> Self {
        Self {
            id: rule.id,
            feed_id: rule.feed_id,
            name: rule.name,
            include_regex: rule.include_regex,
            exclude_regex: rule.exclude_regex,
            category_id: rule.category_id,
            save_path: rule.save_path,
            auto_download: rule.auto_download,
            is_enabled: rule.is_enabled,
            import_mode: rule.import_mode.as_str(),
            storage_profile_id: rule.storage_profile_id,
            pre_migration_save_path: rule.pre_migration_save_path,
            media_type: rule.media_type,
            show_status: rule.show.status,
            show_status_provider: rule.show.provider,
            show_status_provider_id: rule.show.provider_id,
            show_status_checked_at: rule.show.checked_at,
            show_status_recommendation: rule.show.recommendation,
            show_first_air_date: rule.show.first_air_date,
            show_last_air_date: rule.show.last_air_date,
            show_next_episode_air_date: rule.show.next_episode_air_date,
            show_status_warnings: rule.show.warnings,
            allow_inactive_show_monitoring: rule.allow_inactive_show_monitoring,
            generated_by_discovery: rule.origin.is_generated,
            discovery_template_id: rule.origin.discovery_template_id,
            acquisition_template_id: rule.origin.acquisition_template_id,
            acquisition_template_version: rule.origin.acquisition_template_version,
            discovered_media_id: rule.origin.discovered_media_id,
            user_modified_at: rule.origin.user_modified_at,
            created_at: rule.created_at,
        }
    }
}

/// A rule as lists show it.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = RssRuleListed)]
pub struct ListedRuleView {
    pub id: String,
    pub name: String,
    pub is_enabled: bool,
    pub media_type: Option<String>,
    pub feed_id: String,
    pub feed_name: String,
    /// The feeds it looks at.
    pub feed_ids: Vec<String>,
}

/// A candidate of a rule.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = RssMatchCandidate)]
pub struct CandidateView {
    pub id: String,
    pub rss_rule_id: String,
    /// The smallest is tried first.
    pub priority_order: i64,
    pub name: String,
    pub description: Option<String>,
    pub enabled: bool,
    /// `exact_text`, `contains_text`, `regex`, `wildcard`, `smart_episode_match`, `smart_movie_match`, `fuzzy_match`
    #[schema(value_type = String)]
    pub match_type: MatchType,
    pub pattern: Option<String>,
    pub required_terms: Vec<String>,
    pub excluded_terms: Vec<String>,
    #[schema(value_type = Object)]
    pub quality_rules: QualityRules,
    #[schema(value_type = Object)]
    pub size_rules: SizeRules,
    #[schema(value_type = Object)]
    pub feed_scope: FeedScope,
    /// Sentences on why it matches nothing as it stands: an empty pattern, or one that is no valid one. One of a smart type without a
    /// pattern is about the title that the rule's name says.
    pub warnings: Vec<String>,
    #[schema(value_type = Option<String>, format = DateTime)]
    pub last_matched_at: Option<Timestamp>,
    pub match_count: i64,
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    pub updated_at: Timestamp,
}

impl From<StoredCandidate> for CandidateView {
    fn from(stored: StoredCandidate) -> Self {
        let candidate = stored.candidate;
        Self {
            id: candidate.id,
            rss_rule_id: stored.rule_id,
            priority_order: candidate.priority_order,
            name: candidate.name,
            description: candidate.description,
            enabled: candidate.enabled,
            match_type: candidate.match_type,
            pattern: candidate.pattern,
            required_terms: candidate.required_terms,
            excluded_terms: candidate.excluded_terms,
            quality_rules: candidate.quality_rules,
            size_rules: candidate.size_rules,
            feed_scope: candidate.feed_scope,
            warnings: stored
                .complaint
                .map(|reason| format!("The candidate matches nothing: {reason}"))
                .into_iter()
                .collect(),
            last_matched_at: stored.last_matched_at,
            match_count: stored.match_count,
            created_at: stored.created_at,
            updated_at: stored.updated_at,
        }
    }
}

/// A candidate that was changed, and what its rule found in what its feeds have shown.
#[derive(Serialize, ToSchema)]
#[schema(as = RssMatchCandidateChanged)]
pub struct ChangedCandidateView {
    #[serde(flatten)]
    pub candidate: CandidateView,
    pub backfill: TallyView,
}

/// Counts of a backfill.
#[derive(Serialize, ToSchema)]
#[schema(as = RssBackfill)]
pub struct TallyView {
    /// Items that were looked at.
    pub evaluated: u64,
    pub matched: u64,
    /// Torrents that a client has by now; more may follow.
    pub downloaded: u64,
}

impl From<Tally> for TallyView {
    fn from(tally: Tally) -> Self {
        Self {
            evaluated: tally.evaluated,
            matched: tally.matched,
            downloaded: tally.downloaded,
        }
    }
}

/// State of a grab.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = RssGrab)]
pub struct GrabView {
    /// `pending`, `done`, `failed`, `superseded` (a better one came first) or `reset`.
    pub state: &'static str,
    /// Times that a client was asked.
    pub attempts: i64,
    /// Why the last attempt failed.
    pub error: Option<String>,
    #[schema(value_type = Option<String>, format = DateTime)]
    pub next_attempt_at: Option<Timestamp>,
}

impl GrabView {
    fn masked(mut self) -> Self {
        self.error = self.error.map(|error| masked::sentence(&error));
        self
    }
}

impl From<GrabNote> for GrabView {
    fn from(note: GrabNote) -> Self {
        Self {
            state: note.state.as_str(),
            attempts: note.attempts,
            error: note.error,
            next_attempt_at: note.next_attempt_at,
        }
    }
}

/// An item that a feed has shown.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = RssHistoryItem)]
pub struct HistoryView {
    pub id: String,
    pub feed_id: String,
    pub item_guid: String,
    pub title: String,
    pub link: String,
    pub magnet: Option<String>,
    pub info_hash: Option<String>,
    /// Bytes, as a text.
    pub size_bytes: Option<String>,
    /// A rule matched it.
    pub matched: bool,
    pub downloaded: bool,
    #[schema(value_type = Option<String>, format = DateTime)]
    pub regrab_requested_at: Option<Timestamp>,
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    /// The last grab of it.
    pub grab: Option<GrabView>,
}

impl HistoryView {
    /// The item as `reader` may see it: links of private trackers hold keys.
    pub fn seen_by(item: HistoryItem, reader: &Principal) -> Self {
        let mut view = Self::from(item);
        if !manages(reader) {
            view.item_guid = masked::url(&view.item_guid);
            view.link = masked::url(&view.link);
            view.magnet = view.magnet.map(|magnet| masked::url(&magnet));
            view.grab = view.grab.map(GrabView::masked);
        }
        view
    }
}

impl From<HistoryItem> for HistoryView {
    fn from(item: HistoryItem) -> Self {
        Self {
            id: item.id,
            feed_id: item.feed_id,
            item_guid: item.item_guid,
            title: item.title,
            link: item.link,
            magnet: item.magnet,
            info_hash: item.info_hash,
            size_bytes: item.size.map(|size| size.to_string()),
            matched: item.matched,
            downloaded: item.downloaded,
            regrab_requested_at: item.regrab_requested_at,
            created_at: item.created_at,
            grab: item.grab.map(GrabView::from),
        }
    }
}

/// An item that was downloaded.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = RssHistoryItemTaken)]
pub struct TakenView {
    #[serde(flatten)]
    pub item: HistoryView,
    pub torrent_hash: String,
}

/// An item that may be grabbed again.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = RssHistoryItemReset)]
pub struct ResetView {
    pub id: String,
    pub downloaded: bool,
    /// Rules that had the release.
    pub holds_cleared: u64,
    pub torrent_removed: bool,
    /// Copies in a library that were removed; 0 before there is one.
    pub library_items_removed: u64,
}

/// A page of what a feed has shown.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = RssHistoryPage)]
pub struct HistoryPage {
    /// The newest first.
    pub items: Vec<HistoryView>,
    /// Items over all pages.
    pub total: u64,
    pub page: u64,
    pub page_size: u64,
    /// Whatever `status` asks for.
    pub counts: CountsView,
}

/// Number of items in each state.
#[derive(Serialize, ToSchema)]
#[schema(as = RssHistoryCounts)]
pub struct CountsView {
    pub total: u64,
    pub downloaded: u64,
    /// Matched and not downloaded.
    pub matched: u64,
    /// Neither matched nor downloaded.
    pub seen: u64,
}

impl From<Counts> for CountsView {
    fn from(counts: Counts) -> Self {
        Self {
            total: counts.total,
            downloaded: counts.downloaded,
            matched: counts.matched,
            seen: counts.seen,
        }
    }
}

/// Evaluation of an item by a rule.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = RssEvaluation)]
pub struct EvaluationView {
    pub id: String,
    pub rss_rule_id: String,
    /// The guid of the item.
    pub rss_item_id: String,
    pub matched_candidate_id: Option<String>,
    pub matched_candidate_priority: Option<i64>,
    /// `matched`, `no_match` or `skipped_duplicate`
    pub result: String,
    /// `download`, `none` or `skipped_duplicate`
    pub action_taken: String,
    pub torrent_hash: Option<String>,
    /// `{parsed, candidates}`
    #[schema(value_type = Object)]
    pub evaluation_trace: Value,
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    /// State of the download.
    pub grab: Option<GrabView>,
}

impl EvaluationView {
    /// The evaluation as `reader` may see it.
    pub fn seen_by(evaluation: Evaluation, reader: &Principal) -> Self {
        let mut view = Self::from(evaluation);
        if !manages(reader) {
            view.rss_item_id = masked::url(&view.rss_item_id);
            view.grab = view.grab.map(GrabView::masked);
        }
        view
    }
}

impl From<Evaluation> for EvaluationView {
    fn from(evaluation: Evaluation) -> Self {
        Self {
            id: evaluation.id,
            rss_rule_id: evaluation.rule_id,
            rss_item_id: evaluation.item_guid,
            matched_candidate_id: evaluation.matched_candidate_id,
            matched_candidate_priority: evaluation.matched_candidate_priority,
            result: evaluation.result,
            action_taken: evaluation.action_taken,
            torrent_hash: evaluation.torrent_hash,
            evaluation_trace: evaluation.trace,
            created_at: evaluation.created_at,
            grab: evaluation.grab.map(GrabView::from),
        }
    }
}

/// A page of what a rule made of items.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = RssEvaluationPage)]
pub struct EvaluationPage {
    /// The newest first.
    pub items: Vec<EvaluationView>,
    pub total: u64,
    pub page: u64,
    pub page_size: u64,
}

/// Result of reading a feed.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = RssRefreshed)]
pub struct RefreshedView {
    pub new_items: u64,
    /// Torrents that a client has by now; more may follow.
    pub downloaded: u64,
}

/// Result of an import.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = RssImported)]
pub struct ImportedView {
    /// `skip`, `overwrite` or `merge`
    pub mode: &'static str,
    pub feeds_created: u64,
    pub rules_created: u64,
    pub rules_overwritten: u64,
    pub rules_merged: u64,
    pub rules_skipped: u64,
    pub candidates_created: u64,
    pub candidates_skipped: u64,
    /// Which row was left out, and why.
    pub problems: Vec<ProblemView>,
}

/// A row of a bundle that was left out, or a part of one.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = RssImportProblem)]
pub struct ProblemView {
    /// Place in `rules`, from 0.
    pub row: usize,
    pub rule: Option<String>,
    /// Place in its `candidates`, from 0; null: the rule itself.
    pub candidate: Option<usize>,
    pub reason: String,
}

impl ImportedView {
    pub fn new(mode: Mode, imported: Imported) -> Self {
        let shown = |problem: Problem| ProblemView {
            row: problem.row,
            rule: problem.rule,
            candidate: problem.candidate,
            reason: problem.reason,
        };
        Self {
            mode: mode.as_str(),
            feeds_created: imported.feeds_created,
            rules_created: imported.rules_created,
            rules_overwritten: imported.rules_overwritten,
            rules_merged: imported.rules_merged,
            rules_skipped: imported.rules_skipped,
            candidates_created: imported.candidates_created,
            candidates_skipped: imported.candidates_skipped,
            problems: imported.problems.into_iter().map(shown).collect(),
        }
    }
}

/// Id of the deleted object.
#[derive(Serialize, ToSchema)]
#[schema(as = RssRemoved)]
pub struct RemovedView {
    pub id: String,
}
