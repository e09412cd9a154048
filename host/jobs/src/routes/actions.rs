//! Routes that act on jobs, one job or many at once.

use axum::extract::State;
use qm_web::{ApiResult, Body, By, Created, Path};

use super::{App, TAG, faults};
use crate::dto::answers::{ActionResult, BulkResult};
use crate::dto::requests::JobIds;
use crate::service::actions::Verb;

/// Generates the handlers of actions on one job.
macro_rules! actions {
    ($($(#[doc = $doc:literal])+ $name:ident, $path:literal, $verb:ident, $faults:ident;)+) => {$(
        $(#[doc = $doc])+
        #[utoipa::path(
            post, path = $path, tag = TAG, params(("id" = String, Path)),
            responses((status = 201, body = ActionResult), faults::$faults),
        )]
        pub async fn $name(
            State(app): App,
            By(requester): By,
            Path(id): Path<String>,
            Body(()): Body<()>,
        ) -> ApiResult<Created<ActionResult>> {
            let acted = app.act(&requester, Verb::$verb, &id).await?;
            Ok(Created(acted.into()))
        }
    )+};
}

actions! {
    /// Cancel a job. One that runs is asked to end, any other has ended at once.
    cancel_job, "/api/jobs/{id}/cancel", Cancel, Cancel;
    /// Ask a running job to pause.
    pause_job, "/api/jobs/{id}/pause", Pause, Act;
    /// Queue a paused job again; it goes on from where it was.
    resume_job, "/api/jobs/{id}/resume", Resume, Act;
    /// Give a failed job another attempt, however many it has had.
    retry_job, "/api/jobs/{id}/retry", Retry, Retry;
    /// Make a new job that does the same again.
    rerun_job, "/api/jobs/{id}/rerun", Rerun, Rerun;
}

/// Generates the handlers of actions on many jobs; `$action` is the name in the audit log.
macro_rules! bulk_actions {
    ($($(#[doc = $doc:literal])+ $name:ident, $path:literal, $verb:ident, $action:literal;)+) => {$(
        $(#[doc = $doc])+
        #[utoipa::path(
            post, path = $path, tag = TAG, request_body = Body<JobIds>,
            responses((status = 201, body = BulkResult)),
        )]
        pub async fn $name(
            State(app): App,
            By(requester): By,
            Body(body): Body<JobIds>,
        ) -> Created<BulkResult> {
            let outcome = app.act_on_many(&requester, Verb::$verb, $action, body.job_ids).await;
            Created(outcome.into())
        }
    )+};
}

bulk_actions! {
    /// Cancel many jobs, each for itself.
    cancel_jobs, "/api/jobs/bulk/cancel", Cancel, "jobs.bulk_cancel";
    /// Give many failed jobs another attempt, each for itself.
    retry_jobs, "/api/jobs/bulk/retry", Retry, "jobs.bulk_retry";
    /// Make new jobs that do the same as these, each for itself.
    rerun_jobs, "/api/jobs/bulk/rerun", Rerun, "jobs.bulk_rerun";
}
