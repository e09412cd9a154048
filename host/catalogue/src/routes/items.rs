//! `/api/media/items`

use axum::body::Body;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use qm_media::LibraryError;
use qm_media::dto::items::ItemView;
use qm_web::{ApiResult, By, Json, Params, Path};

use super::{App, faults};
use crate::dto::items::{DetailView, IssuesView, ItemPage, LetterView};
use crate::dto::items::{IssuesQuery, ItemsQuery, WantedQuery};

/// A page of items.
#[utoipa::path(
    get, path = "/api/media/items", tag = "media", params(Params::<ItemsQuery>),
    responses((status = 200, body = ItemPage))
)]
pub async fn list_items(State(app): App, Params(query): Params<ItemsQuery>) -> ApiResult<Json<ItemPage>> {
    let page = query.page;
    let (items, total) = app.items(&query.into(), page).await?;
    Ok(Json(ItemPage {
        items: items.into_iter().map(ItemView::from).collect(),
        total,
        page: page.page,
        page_size: page.page_size,
    }))
}

/// Number of titles for each first letter: 27 rows, `#` first.
#[utoipa::path(
    get, path = "/api/media/items/alphabet", tag = "media", params(Params::<WantedQuery>),
    responses((status = 200, body = Vec<LetterView>))
)]
pub async fn item_alphabet(
    State(app): App,
    Params(query): Params<WantedQuery>,
) -> ApiResult<Json<Vec<LetterView>>> {
    let letters = app.alphabet(&query.into()).await?.into_iter();
    Ok(Json(
        letters
            .map(|(letter, count)| LetterView { letter, count })
            .collect(),
    ))
}

/// Counts of faults of items.
#[utoipa::path(
    get, path = "/api/media/items/issues", tag = "media", params(Params::<IssuesQuery>),
    responses((status = 200, body = IssuesView))
)]
pub async fn item_issues(
    State(app): App,
    Params(IssuesQuery { library_id }): Params<IssuesQuery>,
) -> ApiResult<Json<IssuesView>> {
    Ok(Json(app.issues(library_id.as_deref()).await?.into()))
}

/// An item with all that is known of it.
#[utoipa::path(
    get, path = "/api/media/items/{id}", tag = "media", params(("id" = String, Path)),
    responses((status = 200, body = DetailView), faults::Item)
)]
pub async fn get_item(State(app): App, Path(id): Path<String>) -> ApiResult<Json<DetailView>> {
    Ok(Json(app.item(&id).await?.into()))
}

/// All items that are wanted as a table, in the order of their ids. A cell that a spreadsheet would take for a formula has `'` before it.
#[utoipa::path(
    get, path = "/api/media/items/export.csv", tag = "media", params(Params::<WantedQuery>),
    responses((status = 200, description = "The table", content_type = "text/csv"))
)]
pub async fn export_items(
    State(app): App,
    By(requester): By,
    Params(query): Params<WantedQuery>,
) -> ApiResult<Response> {
    let mut export = app.export(query.into(), requester);
    // The first lines are read before the answer begins, so that an error can still be answered.
    let first = export.next().await?;
    let lines = stream::try_unfold((first, export), |(ready, mut export)| async move {
        let lines = match ready {
            Some(lines) => Some(lines),
            None => export.next().await?,
        };
        Ok::<_, LibraryError>(lines.map(|lines| (lines, (None, export))))
    });
    let headers = [
        (header::CONTENT_TYPE, "text/csv; charset=utf-8"),
        (
            header::CONTENT_DISPOSITION,
            "attachment; filename=\"media-items.csv\"",
        ),
    ];
    Ok((headers, Body::from_stream(lines)).into_response())
}
