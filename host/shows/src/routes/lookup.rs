//! `/api/rss/show-status`: lookups of titles.

use axum::extract::State;
use qm_web::{ApiResult, Body, By, Created, Json, Params};

use super::App;
use crate::dto::{Batch, LookupQuery, ShowStatusView};

/// Airing status of a show: are more episodes expected? An unknown show has the status `unknown`.
#[utoipa::path(
    get, path = "/api/rss/show-status/lookup", tag = "rss", params(Params::<LookupQuery>),
    responses((status = 200, body = ShowStatusView))
)]
pub async fn look_up(
    State(app): App,
    By(requester): By,
    Params(LookupQuery(asked)): Params<LookupQuery>,
) -> ApiResult<Json<ShowStatusView>> {
    Ok(Json(app.lookup(requester.caller(), &asked).await.into()))
}

/// The same of several shows, in their order; of the titles that are not blank the first fifty count.
#[utoipa::path(
    post, path = "/api/rss/show-status/lookup-batch", tag = "rss", request_body = Body<Batch>,
    responses((status = 201, body = Vec<ShowStatusView>))
)]
pub async fn look_up_all(
    State(app): App,
    By(requester): By,
    Body(batch): Body<Batch>,
) -> ApiResult<Created<Vec<ShowStatusView>>> {
    let told = app.lookup_all(requester.caller(), batch.queries).await;
    Ok(Created(told.into_iter().map(ShowStatusView::from).collect()))
}
