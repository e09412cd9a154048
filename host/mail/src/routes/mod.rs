//! `/api/media-server-analytics/settings/email`: the mail server of the service, which newsletters use too.

mod faults;

use std::sync::Arc;

use axum::extract::State;
use qm_kernel::Permission as P;
use qm_web::{ApiResult, Auth, Body, By, Created, Json, Routes, routes};

use crate::dto::{MailServerPatch, MailServerView, MailTaken, MailTrial};
use crate::service::Mail;

type App = State<Arc<Mail>>;

/// Test mails per client address and minute.
const TRIALS: u32 = 10;

/// All routes of this area, still without their state.
pub fn routes() -> Routes<Arc<Mail>> {
    let needed = P::MediaServerAnalyticsManageSettings;
    Routes::new()
        .add(routes!(show_mail_server).need(needed))
        .add(routes!(change_mail_server).need(needed))
        .add(routes!(try_mail_server).need(needed).limit(TRIALS))
}

/// The mail server, without its password.
#[utoipa::path(
    get, path = "/api/media-server-analytics/settings/email", tag = "mail",
    responses((status = 200, body = MailServerView))
)]
async fn show_mail_server(State(app): App) -> ApiResult<Json<MailServerView>> {
    Ok(Json(app.server().await?))
}

/// Changes the mail server. What is absent stays; it holds from the next letter on.
#[utoipa::path(
    patch, path = "/api/media-server-analytics/settings/email", tag = "mail",
    request_body = Body<MailServerPatch>, responses((status = 200, body = MailServerView), faults::Change)
)]
async fn change_mail_server(
    State(app): App,
    By(requester): By,
    Body(patch): Body<MailServerPatch>,
) -> ApiResult<Json<MailServerView>> {
    Ok(Json(app.change(requester.caller(), patch).await?))
}

/// Sends a letter by the mail server to see whether it takes it.
#[utoipa::path(
    post, path = "/api/media-server-analytics/settings/email/test", tag = "mail",
    request_body = Body<MailTrial>, responses((status = 201, body = MailTaken), faults::Try)
)]
async fn try_mail_server(
    State(app): App,
    Auth(principal): Auth,
    Body(trial): Body<MailTrial>,
) -> ApiResult<Created<MailTaken>> {
    app.try_out(&principal, trial.recipient).await?;
    Ok(Created(MailTaken { ok: true }))
}
