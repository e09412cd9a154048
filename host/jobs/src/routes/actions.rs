//! What is done with jobs, one by one and many at once.

use axum::extract::State;
use qm_web::{ApiResult, Auth, Body, Client, Created, Path};

use super::{App, TAG, caller, faults};
use crate::dto::answers::{ActionResult, BulkResult};
use crate::dto::requests::JobIds;
use crate::service::actions::Verb;

/// Cancel a job. One that runs is asked to end, any other has ended at once.
#[utoipa::path(
    post, path = "/api/jobs/{id}/cancel", tag = TAG, params(("id" = String, Path)),
    responses((status = 201, body = ActionResult), faults::Cancel),
)]
pub async fn cancel_job(
    State(app): App,
    auth: Auth,
    client: Client,
    Path(id): Path<String>,
    Body(()): Body<()>,
) -> ApiResult<Created<ActionResult>> {
    let acted = app.act(&caller(auth, client), Verb::Cancel, &id).await?;
    Ok(Created(acted.into()))
}

/// Ask a running job to pause.
#[utoipa::path(
    post, path = "/api/jobs/{id}/pause", tag = TAG, params(("id" = String, Path)),
    responses((status = 201, body = ActionResult), faults::Act),
)]
pub async fn pause_job(
    State(app): App,
    auth: Auth,
    client: Client,
    Path(id): Path<String>,
    Body(()): Body<()>,
) -> ApiResult<Created<ActionResult>> {
    let acted = app.act(&caller(auth, client), Verb::Pause, &id).await?;
    Ok(Created(acted.into()))
}

/// Queue a paused job again; it goes on from where it was.
#[utoipa::path(
    post, path = "/api/jobs/{id}/resume", tag = TAG, params(("id" = String, Path)),
    responses((status = 201, body = ActionResult), faults::Act),
)]
pub async fn resume_job(
    State(app): App,
    auth: Auth,
    client: Client,
    Path(id): Path<String>,
    Body(()): Body<()>,
) -> ApiResult<Created<ActionResult>> {
    let acted = app.act(&caller(auth, client), Verb::Resume, &id).await?;
    Ok(Created(acted.into()))
}

/// Give a failed job another attempt, however many it has had.
#[utoipa::path(
    post, path = "/api/jobs/{id}/retry", tag = TAG, params(("id" = String, Path)),
    responses((status = 201, body = ActionResult), faults::Act),
)]
pub async fn retry_job(
    State(app): App,
    auth: Auth,
    client: Client,
    Path(id): Path<String>,
    Body(()): Body<()>,
) -> ApiResult<Created<ActionResult>> {
    let acted = app.act(&caller(auth, client), Verb::Retry, &id).await?;
    Ok(Created(acted.into()))
}

/// Make a new job that does the same again.
#[utoipa::path(
    post, path = "/api/jobs/{id}/rerun", tag = TAG, params(("id" = String, Path)),
    responses((status = 201, body = ActionResult), faults::Rerun),
)]
pub async fn rerun_job(
    State(app): App,
    auth: Auth,
    client: Client,
    Path(id): Path<String>,
    Body(()): Body<()>,
) -> ApiResult<Created<ActionResult>> {
    let acted = app.act(&caller(auth, client), Verb::Rerun, &id).await?;
    Ok(Created(acted.into()))
}

/// Cancel many jobs, each for itself.
#[utoipa::path(
    post, path = "/api/jobs/bulk/cancel", tag = TAG, request_body = Body<JobIds>,
    responses((status = 201, body = BulkResult)),
)]
pub async fn cancel_jobs(
    State(app): App,
    auth: Auth,
    client: Client,
    Body(body): Body<JobIds>,
) -> Created<BulkResult> {
    let caller = caller(auth, client);
    let outcome = app
        .act_on_many(&caller, Verb::Cancel, "jobs.bulk_cancel", body.job_ids)
        .await;
    Created(outcome.into())
}

/// Give many failed jobs another attempt, each for itself.
#[utoipa::path(
    post, path = "/api/jobs/bulk/retry", tag = TAG, request_body = Body<JobIds>,
    responses((status = 201, body = BulkResult)),
)]
pub async fn retry_jobs(
    State(app): App,
    auth: Auth,
    client: Client,
    Body(body): Body<JobIds>,
) -> Created<BulkResult> {
    let caller = caller(auth, client);
    let outcome = app
        .act_on_many(&caller, Verb::Retry, "jobs.bulk_retry", body.job_ids)
        .await;
    Created(outcome.into())
}

/// Make new jobs that do the same as these, each for itself.
#[utoipa::path(
    post, path = "/api/jobs/bulk/rerun", tag = TAG, request_body = Body<JobIds>,
    responses((status = 201, body = BulkResult)),
)]
pub async fn rerun_jobs(
    State(app): App,
    auth: Auth,
    client: Client,
    Body(body): Body<JobIds>,
) -> Created<BulkResult> {
    let caller = caller(auth, client);
    let outcome = app
        .act_on_many(&caller, Verb::Rerun, "jobs.bulk_rerun", body.job_ids)
        .await;
    Created(outcome.into())
}
