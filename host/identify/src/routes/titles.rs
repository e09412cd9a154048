//! `/api/media/items`: identification of items.

use axum::extract::State;
use qm_web::{ApiResult, Body, By, Created, Path};

use super::{App, faults};
use crate::dto::titles::{ReidentifyInput, TallyView, TitledbMatchInput, TitledbMatchView};

/// Reads the names and folders of unlocked items again, and asks the data set of titles what they are. Answers when all is done; a
/// job goes on with it when nobody waits any more, as long as who asked for it may.
#[utoipa::path(
    post, path = "/api/media/items/reidentify", tag = "media", request_body = Body<ReidentifyInput>,
    responses((status = 201, body = TallyView), faults::Reidentify)
)]
pub async fn reidentify_items(
    State(app): App,
    By(requester): By,
    Body(input): Body<ReidentifyInput>,
) -> ApiResult<Created<TallyView>> {
    Ok(Created(
        app.reidentify(requester.caller(), input.into()).await?.into(),
    ))
}

/// Says which title of the data set an item is, be it locked or not: it counts as matched by hand.
#[utoipa::path(
    post, path = "/api/media/items/{id}/match/titledb", tag = "media", params(("id" = String, Path)),
    request_body = Body<TitledbMatchInput>, responses((status = 201, body = TitledbMatchView), faults::Entitle)
)]
pub async fn match_item_titledb(
    State(app): App,
    By(requester): By,
    Path(id): Path<String>,
    Body(input): Body<TitledbMatchInput>,
) -> ApiResult<Created<TitledbMatchView>> {
    let titled = app
        .entitle_item(requester.caller(), &id, &input.titledb_id, input.confidence)
        .await?;
    Ok(Created(titled.into()))
}
