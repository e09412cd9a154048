//! `/api/media/jobs`

use axum::extract::State;
use qm_platform::Caller;
use qm_web::{ApiResult, Auth, Client, Created, Path};

use super::{App, faults};
use crate::dto::answers::CancelledView;

/// Asks a job of the media libraries to end. One that waits ends at once; one that is unknown or over is left as it is.
#[utoipa::path(
    post, path = "/api/media/jobs/{jobId}/cancel", tag = "media", params(("jobId" = String, Path)),
    responses((status = 201, body = CancelledView), faults::Scan)
)]
pub async fn cancel_media_job(
    State(app): App,
    Auth(principal): Auth,
    Client(client): Client,
    Path(id): Path<String>,
) -> ApiResult<Created<CancelledView>> {
    let caller = Caller {
        principal: &principal,
        client: &client,
    };
    let requested = app.cancel_job(caller, &id).await?;
    Ok(Created(CancelledView { requested }))
}
