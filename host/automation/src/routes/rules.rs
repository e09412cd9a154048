//! `/api/automation`: rules and their logs.

use axum::extract::State;
use qm_web::{ApiResult, Auth, Body, By, Created, Json, Params, Path};

use super::{App, faults};
use crate::dto::answers::{ActionView, CatalogueView, LogPage, LogView, RuleView, TriggerView};
use crate::dto::requests::{ChangedRule, LogsQuery, NewRule};
use crate::error::AutomationError;
use crate::model::trigger;

/// Available triggers, and the actions of the loaded plugins.
#[utoipa::path(
    get, path = "/api/automation/catalog", tag = "automation", responses((status = 200, body = CatalogueView))
)]
pub async fn catalogue(State(app): App) -> ApiResult<Json<CatalogueView>> {
    let offered = app.offered().await.map_err(AutomationError::from)?;
    Ok(Json(CatalogueView {
        triggers: trigger::ALL.iter().map(TriggerView::from).collect(),
        actions: offered
            .into_iter()
            .map(|offered| ActionView::new(offered.action, offered.kind))
            .collect(),
    }))
}

/// Every rule, in the order in which rules run. Without `automation.manage` headers, and keys in addresses, are masked.
#[utoipa::path(
    get, path = "/api/automation/rules", tag = "automation", responses((status = 200, body = Vec<RuleView>))
)]
pub async fn list_rules(State(app): App, Auth(principal): Auth) -> ApiResult<Json<Vec<RuleView>>> {
    let rules = app.shown(app.rules().await?).await?.into_iter();
    let shown = rules.map(|rule| RuleView::seen_by(rule, &principal));
    Ok(Json(shown.collect()))
}

/// Makes a rule, whose author the caller is: one that does what they may not do by hand is refused. One on completions runs for
/// what is complete already, too.
#[utoipa::path(
    post, path = "/api/automation/rules", tag = "automation", request_body = Body<NewRule>,
    responses((status = 201, body = RuleView), faults::Create)
)]
pub async fn create_rule(
    State(app): App,
    By(requester): By,
    Body(new): Body<NewRule>,
) -> ApiResult<Created<RuleView>> {
    let rule = app.create(requester.caller(), new.into()).await?;
    Ok(Created(app.shown_one(rule).await?.into()))
}

/// Changes a rule. Who names its trigger, conditions or actions, or turns it on, is its author from then on, and refused where
/// they may not do by hand what it does. What its ledger has stays: torrents that it has run for are not run for again.
#[utoipa::path(
    patch, path = "/api/automation/rules/{id}", tag = "automation", params(("id" = String, Path)),
    request_body = Body<ChangedRule>, responses((status = 200, body = RuleView), faults::Change)
)]
pub async fn update_rule(
    State(app): App,
    By(requester): By,
    Path(id): Path<String>,
    Body(change): Body<ChangedRule>,
) -> ApiResult<Json<RuleView>> {
    let rule = app.update(requester.caller(), &id, change.into()).await?;
    Ok(Json(app.shown_one(rule).await?.into()))
}

/// Deletes a rule with its log, and what waits to be run for it. An action that has begun ends.
#[utoipa::path(
    delete, path = "/api/automation/rules/{id}", tag = "automation", params(("id" = String, Path)),
    responses((status = 200, body = RuleView), faults::OfRule)
)]
pub async fn delete_rule(
    State(app): App,
    By(requester): By,
    Path(id): Path<String>,
) -> ApiResult<Json<RuleView>> {
    let rule = app.delete(requester.caller(), &id).await?;
    Ok(Json(app.shown_one(rule).await?.into()))
}

/// Log of a rule's runs, the newest first; empty for an unknown rule.
#[utoipa::path(
    get, path = "/api/automation/rules/{id}/logs", tag = "automation",
    params(("id" = String, Path), Params::<LogsQuery>),
    responses((status = 200, body = LogPage))
)]
pub async fn rule_logs(
    State(app): App,
    Auth(principal): Auth,
    Path(id): Path<String>,
    Params(LogsQuery(page)): Params<LogsQuery>,
) -> ApiResult<Json<LogPage>> {
    let (lines, total) = app.logs(&id, page).await?;
    Ok(Json(LogPage {
        items: lines
            .into_iter()
            .map(|line| LogView::seen_by(line, &principal))
            .collect(),
        total,
        page: page.page,
        page_size: page.page_size,
    }))
}
