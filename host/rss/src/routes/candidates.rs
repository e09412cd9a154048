//! `/api/rss/rules/{id}/match-candidates`. Bodies are read member by member: a member of the wrong type
//! counts as absent.

use axum::extract::State;
use qm_matching::CandidateDraft;
use qm_web::{ApiResult, Body, By, Created, Json, Path};
use serde_json::Value;

use super::{App, faults};
use crate::dto::answers::{CandidateView, ChangedCandidateView, RemovedView};
use crate::dto::requests::Loose;
use crate::error::RssError;
use crate::service::Suggestion;

/// Candidates of a rule, by priority.
#[utoipa::path(
    get, path = "/api/rss/rules/{id}/match-candidates", tag = "rss", params(("id" = String, Path)),
    responses((status = 200, body = Vec<CandidateView>), faults::OfRule)
)]
pub async fn list_candidates(State(app): App, Path(id): Path<String>) -> ApiResult<Json<Vec<CandidateView>>> {
    let candidates = app.candidates(&id).await?;
    Ok(Json(candidates.into_iter().map(CandidateView::from).collect()))
}

/// Adds a candidate: `name`, `matchType`, and optionally `description`, `enabled`, `pattern`, `requiredTerms`, `excludedTerms`,
/// `qualityRules`, `sizeRules`, `feedScope`, `priorityOrder`. The rule is shown what its feeds have shown before.
#[utoipa::path(
    post, path = "/api/rss/rules/{id}/match-candidates", tag = "rss", params(("id" = String, Path)),
    request_body = Body<Loose>, responses((status = 201, body = ChangedCandidateView), faults::CreateCandidate)
)]
pub async fn create_candidate(
    State(app): App,
    By(requester): By,
    Path(id): Path<String>,
    Body(body): Body<Loose>,
) -> ApiResult<Created<ChangedCandidateView>> {
    let draft = CandidateDraft::read(&body.0);
    let (candidate, filled) = app.add_candidate(requester.caller(), &id, draft).await?;
    Ok(Created(ChangedCandidateView {
        candidate: candidate.into(),
        backfill: filled.into(),
    }))
}

/// Gives all candidates of a rule the places 1, 2, …: `{orderedIds}`.
#[utoipa::path(
    post, path = "/api/rss/rules/{id}/match-candidates/reorder", tag = "rss", params(("id" = String, Path)),
    request_body = Body<Loose>, responses((status = 201, body = Vec<CandidateView>), faults::Reorder)
)]
pub async fn reorder_candidates(
    State(app): App,
    By(requester): By,
    Path(id): Path<String>,
    Body(body): Body<Loose>,
) -> ApiResult<Created<Vec<CandidateView>>> {
    let ids = body.texts("orderedIds").ok_or(RssError::NoOrder)?;
    let ordered = app.reorder(requester.caller(), &id, &ids).await?;
    Ok(Created(ordered.into_iter().map(CandidateView::from).collect()))
}

/// Changes a candidate; what is absent stays. The rule is shown what its feeds have shown before.
#[utoipa::path(
    patch, path = "/api/rss/rules/{id}/match-candidates/{candidate_id}", tag = "rss",
    params(("id" = String, Path), ("candidate_id" = String, Path)), request_body = Body<Loose>,
    responses((status = 200, body = ChangedCandidateView), faults::ChangeCandidate)
)]
pub async fn update_candidate(
    State(app): App,
    By(requester): By,
    Path((id, candidate_id)): Path<(String, String)>,
    Body(body): Body<Loose>,
) -> ApiResult<Json<ChangedCandidateView>> {
    let draft = CandidateDraft::read(&body.0);
    let (candidate, filled) = app
        .change_candidate(requester.caller(), &id, &candidate_id, draft)
        .await?;
    Ok(Json(ChangedCandidateView {
        candidate: candidate.into(),
        backfill: filled.into(),
    }))
}

/// Deletes a candidate.
#[utoipa::path(
    delete, path = "/api/rss/rules/{id}/match-candidates/{candidate_id}", tag = "rss",
    params(("id" = String, Path), ("candidate_id" = String, Path)),
    responses((status = 200, body = RemovedView), faults::DeleteCandidate)
)]
pub async fn delete_candidate(
    State(app): App,
    By(requester): By,
    Path((id, candidate_id)): Path<(String, String)>,
) -> ApiResult<Json<RemovedView>> {
    app.remove_candidate(requester.caller(), &id, &candidate_id)
        .await?;
    Ok(Json(RemovedView { id: candidate_id }))
}

/// Appends suggestions to what a rule prefers: `{recommendedCandidates, sourceName?, parsedMetadata?, confidenceScore?,
/// userEdited?}`. The rule is shown what its feeds have shown before.
#[utoipa::path(
    post, path = "/api/rss/rules/{id}/apply-smart-match", tag = "rss", params(("id" = String, Path)),
    request_body = Body<Loose>, responses((status = 201, body = Vec<CandidateView>), faults::Apply)
)]
pub async fn apply_smart_match(
    State(app): App,
    By(requester): By,
    Path(id): Path<String>,
    Body(body): Body<Loose>,
) -> ApiResult<Created<Vec<CandidateView>>> {
    let given = body.objects("recommendedCandidates");
    let suggestion = Suggestion {
        candidates: CandidateDraft::read_all(&given),
        given: Value::Array(given),
        source_name: body.text("sourceName"),
        parsed_metadata: body.0.get("parsedMetadata").cloned().unwrap_or_default(),
        confidence_score: body.0.get("confidenceScore").and_then(Value::as_f64),
        user_edited: body.0.get("userEdited").and_then(Value::as_bool).unwrap_or(false),
    };
    let candidates = app.apply_suggestion(requester.caller(), &id, suggestion).await?;
    Ok(Created(candidates.into_iter().map(CandidateView::from).collect()))
}
