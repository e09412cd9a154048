//! Trials of rules, candidates and names. Nothing is stored.

use axum::extract::State;
use qm_matching::CandidateDraft;
use qm_web::{ApiResult, Body, Created, Path};

use super::{App, faults};
use crate::dto::requests::{Loose, TriedRule};
use crate::dto::trials::{
    AnalysisView, CandidateOnTitle, CandidateTrial, HistoryTrial, ListOnItem, ListOnTitle, ListTrial,
    PatternView, PreviewView, PreviewedView, Recommendation, SuggestionTrial,
};
use crate::error::RssError;
use crate::service::{Previewed, Tried};

const fn action(is_download: bool) -> &'static str {
    if is_download { "download" } else { "none" }
}

impl From<Tried> for ListOnTitle {
    fn from(tried: Tried) -> Self {
        Self {
            title: tried.title,
            action: action(tried.evaluated.matched),
            evaluated: tried.evaluated,
        }
    }
}

impl From<Previewed> for PreviewedView {
    fn from(previewed: Previewed) -> Self {
        Self {
            history_id: previewed.item.id,
            feed_id: previewed.item.feed_id,
            title: previewed.item.title,
            matched: previewed.matched,
            action: previewed.action.as_str(),
            is_upgrade: previewed.is_upgrade,
            downloaded: previewed.item.downloaded,
            evaluation: previewed.evaluated,
        }
    }
}

/// Items that a rule would have grabbed from the history of its feeds, had it existed from the beginning,
/// with the trace of each candidate. Nothing is stored and nothing is grabbed.
#[utoipa::path(
    post, path = "/api/rss/rules/preview", tag = "rss", request_body = Body<TriedRule>,
    responses((status = 201, body = PreviewView), faults::Preview)
)]
pub async fn preview_rss_rule(
    State(app): App,
    Body(tried): Body<TriedRule>,
) -> ApiResult<Created<PreviewView>> {
    let (feed_id, change, drafts) = tried.into_parts();
    let preview = app.preview(&feed_id, change, drafts).await?;
    Ok(Created(PreviewView {
        history_count: preview.looked_at,
        matched: preview.matched,
        would_grab: preview.would_grab,
        results: preview.results.into_iter().map(PreviewedView::from).collect(),
        unmatched: preview.unmatched.into_iter().map(PreviewedView::from).collect(),
    }))
}

/// One candidate on titles: `{titles, candidateId}`, or `{titles, candidate}` with one that is not stored.
#[utoipa::path(
    post, path = "/api/rss/rules/{id}/test-match", tag = "rss", params(("id" = String, Path)),
    request_body = Body<Loose>, responses((status = 201, body = CandidateTrial), faults::TestMatch)
)]
pub async fn test_match(
    State(app): App,
    Path(id): Path<String>,
    Body(body): Body<Loose>,
) -> ApiResult<Created<CandidateTrial>> {
    let titles = body.texts("titles").filter(|titles| !titles.is_empty());
    let titles = titles.ok_or(RssError::NoTitles)?;
    let draft = body.0.get("candidate").and_then(serde_json::Value::as_object);
    let draft = draft.map(CandidateDraft::read);
    let candidate_id = body.text("candidateId");
    let tried = app
        .try_candidate(&id, titles, candidate_id.as_deref(), draft)
        .await?;
    let results = tried.into_iter();
    let results = results.map(|(title, outcome)| CandidateOnTitle { title, outcome });
    Ok(Created(CandidateTrial {
        results: results.collect(),
    }))
}

/// Tries the candidates of a rule on titles: `{titles}`.
#[utoipa::path(
    post, path = "/api/rss/rules/{id}/test-preference-list", tag = "rss", params(("id" = String, Path)),
    request_body = Body<Loose>, responses((status = 201, body = ListTrial), faults::TestList)
)]
pub async fn test_preference_list(
    State(app): App,
    Path(id): Path<String>,
    Body(body): Body<Loose>,
) -> ApiResult<Created<ListTrial>> {
    let titles = body.texts("titles").filter(|titles| !titles.is_empty());
    let tried = app.try_list(&id, titles.ok_or(RssError::NoTitles)?).await?;
    Ok(Created(ListTrial {
        results: tried.into_iter().map(ListOnTitle::from).collect(),
    }))
}

/// Tries a rule on the newest 5,000 items of its feeds; returns those that match.
#[utoipa::path(
    post, path = "/api/rss/rules/{id}/test-history", tag = "rss", params(("id" = String, Path)),
    responses((status = 201, body = HistoryTrial), faults::OfRule)
)]
pub async fn test_history(State(app): App, Path(id): Path<String>) -> ApiResult<Created<HistoryTrial>> {
    let tried = app.try_history(&id).await?;
    let results = tried.results.into_iter().map(|(item, evaluated)| ListOnItem {
        history_id: item.id,
        downloaded: item.downloaded,
        has_magnet: item.magnet.is_some(),
        title: item.title,
        evaluated,
    });
    Ok(Created(HistoryTrial {
        results: results.collect(),
        history_count: tried.looked_at,
        matched: tried.matched,
    }))
}

/// A text as a regular expression that finds it whatever separates its words: `{text}`.
#[utoipa::path(
    post, path = "/api/rss/convert-to-regex", tag = "rss", request_body = Body<Loose>,
    responses((status = 201, body = PatternView))
)]
pub async fn convert_to_regex(Body(body): Body<Loose>) -> Created<PatternView> {
    let text = body.text("text").unwrap_or_default();
    Created(PatternView {
        pattern: qm_matching::convert_to_regex(&text),
    })
}

/// Parses a name, and makes candidates from it: `{torrentName}`.
#[utoipa::path(
    post, path = "/api/rss/smart-match/analyze", tag = "rss", request_body = Body<Loose>,
    responses((status = 201, body = AnalysisView), faults::Named)
)]
pub async fn analyze_name(Body(body): Body<Loose>) -> ApiResult<Created<AnalysisView>> {
    let name = body.text("torrentName").ok_or(RssError::NoTorrentName)?;
    Ok(Created(AnalysisView(qm_matching::analyze(&name))))
}

/// Candidates made of a name, on samples and on what a feed has shown: `{torrentName, sampleItems?, rssFeedId?}`.
#[utoipa::path(
    post, path = "/api/rss/smart-match/test", tag = "rss", request_body = Body<Loose>,
    responses((status = 201, body = SuggestionTrial), faults::Named)
)]
pub async fn test_smart_match(
    State(app): App,
    Body(body): Body<Loose>,
) -> ApiResult<Created<SuggestionTrial>> {
    let name = body.text("torrentName").ok_or(RssError::NoTorrentName)?;
    let samples = body.texts("sampleItems").unwrap_or_default();
    let feed_id = body.text("rssFeedId");
    let tried = app.try_suggestions(&name, samples, feed_id.as_deref()).await?;
    let (id, title) = tried.winner.unzip();
    Ok(Created(SuggestionTrial {
        parsed_metadata: tried.analysis.parsed_metadata,
        candidates: tried.analysis.recommended_candidates,
        results: tried.results.into_iter().map(ListOnTitle::from).collect(),
        recommendation: Recommendation {
            action: action(id.is_some()),
            matched_candidate_id: id,
            matched_candidate_name: title,
        },
    }))
}
