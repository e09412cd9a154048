//! Answers of trials. Traces are shown as `qm_matching` writes them.

use qm_matching::{Analysis, ListResult, Outcome};
use serde::Serialize;
use utoipa::ToSchema;

/// Results of a candidate on titles.
#[derive(Serialize, ToSchema)]
#[schema(as = RssCandidateTrial)]
pub struct CandidateTrial {
    pub results: Vec<CandidateOnTitle>,
}

/// Result of a candidate on a title: `candidateId`, `name`, `priorityOrder`, `matchType`, `result`, `reason`,
/// `checks`.
#[derive(Serialize, ToSchema)]
#[schema(as = RssCandidateOnTitle)]
pub struct CandidateOnTitle {
    pub title: String,
    #[serde(flatten)]
    #[schema(value_type = Object)]
    pub outcome: Outcome,
}

/// Results of a candidate list on titles.
#[derive(Serialize, ToSchema)]
#[schema(as = RssListTrial)]
pub struct ListTrial {
    pub results: Vec<ListOnTitle>,
}

/// Result of a candidate list on a title: `matched`, `matchedCandidateId`, `matchedCandidatePriority`,
/// `candidates`, `parsed`.
#[derive(Serialize, ToSchema)]
#[schema(as = RssListOnTitle)]
pub struct ListOnTitle {
    pub title: String,
    /// `download` or `none`
    pub action: &'static str,
    #[serde(flatten)]
    #[schema(value_type = Object)]
    pub evaluated: ListResult,
}

/// Result of a rule on the items that its feeds have listed.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = RssHistoryTrial)]
pub struct HistoryTrial {
    /// Those that match, the newest 500 first.
    pub results: Vec<ListOnItem>,
    /// Items that were looked at.
    pub history_count: usize,
    /// All that match.
    pub matched: usize,
}

/// Result of a candidate list on an item.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = RssListOnItem)]
pub struct ListOnItem {
    pub history_id: String,
    pub downloaded: bool,
    pub has_magnet: bool,
    pub title: String,
    #[serde(flatten)]
    #[schema(value_type = Object)]
    pub evaluated: ListResult,
}

/// Items that an unsaved rule would have grabbed.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = RssRulePreview)]
pub struct PreviewView {
    /// Items that were looked at: the newest 5,000.
    pub history_count: usize,
    pub matched: usize,
    pub would_grab: usize,
    /// Those that match, the newest 500 first.
    pub results: Vec<PreviewedView>,
    /// The newest 50 that do not match, with the reason.
    pub unmatched: Vec<PreviewedView>,
}

/// Result of an unsaved rule on an item.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = RssPreviewedItem)]
pub struct PreviewedView {
    pub history_id: String,
    pub feed_id: String,
    pub title: String,
    pub matched: bool,
    /// `download`, `none` or `skipped_duplicate`
    pub action: &'static str,
    /// It takes the place of an earlier one.
    pub is_upgrade: bool,
    /// It was downloaded, by whatever rule.
    pub downloaded: bool,
    /// Null where the rule has no candidates.
    #[schema(value_type = Option<Object>)]
    pub evaluation: Option<ListResult>,
}

/// A text as a regular expression.
#[derive(Serialize, ToSchema)]
#[schema(as = RssPattern)]
pub struct PatternView {
    pub pattern: String,
}

/// A parsed name, and candidates made from it.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = RssAnalysis, value_type = Object)]
pub struct AnalysisView(pub Analysis);

/// Suggestions, tried.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = RssSuggestionTrial)]
pub struct SuggestionTrial {
    #[schema(value_type = Object)]
    pub parsed_metadata: qm_release::Release,
    #[schema(value_type = Vec<Object>)]
    pub candidates: Vec<qm_matching::SmartCandidate>,
    pub results: Vec<ListOnTitle>,
    pub recommendation: Recommendation,
}

/// Which suggestion matches the name itself.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = RssRecommendation)]
pub struct Recommendation {
    pub matched_candidate_id: Option<String>,
    pub matched_candidate_name: Option<String>,
    /// `download` or `none`
    pub action: &'static str,
}
