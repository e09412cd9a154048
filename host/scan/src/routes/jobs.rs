//! `/api/media/jobs`

use axum::extract::State;
use qm_web::{ApiResult, By, Created, Path};

use super::{App, faults};
use crate::dto::answers::CancelledView;

/// Asks a job of the media libraries to end. One that waits ends at once; one that is unknown or over is left as it is.
#[utoipa::path(
    post, path = "/api/media/jobs/{jobId}/cancel", tag = "media", params(("jobId" = String, Path)),
    responses((status = 201, body = CancelledView), faults::Scan)
)]
pub async fn cancel_media_job(
    State(app): App,
    By(requester): By,
    Path(id): Path<String>,
) -> ApiResult<Created<CancelledView>> {
    let requested = app.cancel_job(requester.caller(), &id).await?;
    Ok(Created(CancelledView { requested }))
}
