//! `/api/rss/show-status`: lookups of titles.

use axum::extract::State;
use qm_web::{ApiResult, Auth, Body, Client, Created, Json, Params};

use super::App;
use crate::dto::{Batch, LookupQuery, ShowStatusView};
use crate::service::Caller;

/// Airing status of a show: are more episodes expected? An unknown show has the status `unknown`.
#[utoipa::path(
    get, path = "/api/rss/show-status/lookup", tag = "rss", params(Params::<LookupQuery>),
    responses((status = 200, body = ShowStatusView))
)]
pub async fn look_up(
    State(app): App,
    Auth(principal): Auth,
    Client(client): Client,
    Params(LookupQuery(asked)): Params<LookupQuery>,
) -> ApiResult<Json<ShowStatusView>> {
    let caller = Caller {
        principal: &principal,
        client: &client,
    };
    Ok(Json(app.lookup(caller, &asked).await.into()))
}

/// The same of several shows, in their order; of the titles that are not blank the first fifty count.
#[utoipa::path(
    post, path = "/api/rss/show-status/lookup-batch", tag = "rss", request_body = Body<Batch>,
    responses((status = 201, body = Vec<ShowStatusView>))
)]
pub async fn look_up_all(
    State(app): App,
    Auth(principal): Auth,
    Client(client): Client,
    Body(batch): Body<Batch>,
) -> ApiResult<Created<Vec<ShowStatusView>>> {
    let caller = Caller {
        principal: &principal,
        client: &client,
    };
    let told = app.lookup_all(caller, batch.queries).await;
    Ok(Created(told.into_iter().map(ShowStatusView::from).collect()))
}
