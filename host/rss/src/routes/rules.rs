//! `/api/rss/rules`

use axum::extract::State;
use qm_kernel::as_error;
use qm_web::{ApiResult, Auth, Body, By, Created, Json, Params, Path};

use super::{App, faults};
use crate::dto::answers::{EvaluationPage, EvaluationView, ListedRuleView, RuleOfFeedView, TallyView};
use crate::dto::requests::{ChangedRule, EvaluationsQuery, NewRule};
use crate::model::rule::RuleChange;

/// Every rule by its name.
#[utoipa::path(
    get, path = "/api/rss/rules", tag = "rss", responses((status = 200, body = Vec<ListedRuleView>))
)]
pub async fn list_rss_rules(State(app): App) -> ApiResult<Json<Vec<ListedRuleView>>> {
    let listed = app.list_rules().await?.into_iter().map(|listed| ListedRuleView {
        id: listed.rule.id,
        name: listed.rule.name,
        is_enabled: listed.rule.is_enabled,
        media_type: listed.rule.media_type,
        feed_id: listed.rule.feed_id,
        feed_name: listed.feed_name,
        feed_ids: listed.feed_ids,
    });
    Ok(Json(listed.collect()))
}

/// Makes a rule.
#[utoipa::path(
    post, path = "/api/rss/rules", tag = "rss", request_body = Body<NewRule>,
    responses((status = 201, body = RuleOfFeedView), faults::CreateRule)
)]
pub async fn create_rss_rule(
    State(app): App,
    By(requester): By,
    Body(new): Body<NewRule>,
) -> ApiResult<Created<RuleOfFeedView>> {
    let (feed_id, change) = new.into_change();
    let said = change.import_mode;
    let rule = app.create_rule(requester.caller(), &feed_id, change).await?;
    let feed_ids = app.targets_of(&rule).await?;
    Ok(Created(RuleOfFeedView::written((rule, feed_ids), said)))
}

/// Changes a rule, and shows it what its feeds have shown before.
#[utoipa::path(
    patch, path = "/api/rss/rules/{id}", tag = "rss", params(("id" = String, Path)),
    request_body = Body<ChangedRule>, responses((status = 200, body = RuleOfFeedView), faults::ChangeRule)
)]
pub async fn update_rss_rule(
    State(app): App,
    By(requester): By,
    Path(id): Path<String>,
    Body(change): Body<ChangedRule>,
) -> ApiResult<Json<RuleOfFeedView>> {
    let change = RuleChange::from(change);
    let said = change.import_mode;
    let rule = app.update_rule(requester.caller(), &id, change).await?;
    // The change is stored, even if the backfill fails.
    if let Err(error) = app.backfill(&id).await {
        tracing::warn!(error = as_error(&error), "a rule was not shown the history");
    }
    let feed_ids = app.targets_of(&rule).await?;
    Ok(Json(RuleOfFeedView::written((rule, feed_ids), said)))
}

/// Deletes a rule, with its candidates and what it decided and did not do yet. Torrents stay.
#[utoipa::path(
    delete, path = "/api/rss/rules/{id}", tag = "rss", params(("id" = String, Path)),
    responses((status = 200, body = RuleOfFeedView), faults::DeleteRule)
)]
pub async fn delete_rss_rule(
    State(app): App,
    By(requester): By,
    Path(id): Path<String>,
) -> ApiResult<Json<RuleOfFeedView>> {
    Ok(Json(app.delete_rule(requester.caller(), &id).await?.into()))
}

/// Shows a rule the newest 500 items of its feeds that were not downloaded; zeros for a rule that is not there or is disabled.
#[utoipa::path(
    post, path = "/api/rss/rules/{id}/backfill", tag = "rss", params(("id" = String, Path)),
    responses((status = 201, body = TallyView), faults::Backfill)
)]
pub async fn backfill_rule(
    State(app): App,
    By(requester): By,
    Path(id): Path<String>,
) -> ApiResult<Created<TallyView>> {
    Ok(Created(app.backfill_for(requester.caller(), &id).await?.into()))
}

/// Evaluations of items by a rule, the newest first.
#[utoipa::path(
    get, path = "/api/rss/rules/{id}/match-history", tag = "rss",
    params(("id" = String, Path), Params::<EvaluationsQuery>),
    responses((status = 200, body = EvaluationPage), faults::OfRule)
)]
pub async fn match_history(
    State(app): App,
    Auth(principal): Auth,
    Path(id): Path<String>,
    Params(EvaluationsQuery(page)): Params<EvaluationsQuery>,
) -> ApiResult<Json<EvaluationPage>> {
    let (items, total) = app.evaluations(&id, page).await?;
    Ok(Json(EvaluationPage {
        items: items
            .into_iter()
            .map(|item| EvaluationView::seen_by(item, &principal))
            .collect(),
        total,
        page: page.page,
        page_size: page.page_size,
    }))
}
