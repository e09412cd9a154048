//! `/api/account/notifications/inbox`: the caller's notifications.

use axum::extract::State;
use qm_web::{ApiResult, Auth, Created, Json, Params, Path};

use super::{App, faults};
use crate::dto::inbox::{InboxPage, InboxQuery, ItemView, MarkedView, UnreadView};
use crate::model::inbox::Mark;

/// The caller's notifications.
#[utoipa::path(
    get, path = "/api/account/notifications/inbox", tag = "notifications", params(Params::<InboxQuery>),
    responses((status = 200, body = InboxPage))
)]
pub async fn list_inbox(
    State(app): App,
    Auth(principal): Auth,
    Params(query): Params<InboxQuery>,
) -> ApiResult<Json<InboxPage>> {
    let InboxQuery { page, wanted } = query;
    let (items, total) = app.inbox(&principal, &wanted, page).await?;
    Ok(Json(InboxPage {
        items: items.into_iter().map(ItemView::from).collect(),
        total,
        page: page.page,
        page_size: page.page_size,
    }))
}

/// Number of the caller's unread, unarchived notifications.
#[utoipa::path(
    get, path = "/api/account/notifications/inbox/unread-count", tag = "notifications",
    responses((status = 200, body = UnreadView))
)]
pub async fn count_unread(State(app): App, Auth(principal): Auth) -> ApiResult<Json<UnreadView>> {
    let unread = app.unread(&principal).await?;
    Ok(Json(UnreadView { unread }))
}

/// Marks all that is not archived as read.
#[utoipa::path(
    post, path = "/api/account/notifications/inbox/mark-all-read", tag = "notifications",
    responses((status = 201, body = MarkedView), faults::Own)
)]
pub async fn read_all(State(app): App, Auth(principal): Auth) -> ApiResult<Created<MarkedView>> {
    let updated = app.read_all(&principal).await?;
    Ok(Created(MarkedView { updated }))
}

/// Marks a notification as read.
#[utoipa::path(
    post, path = "/api/account/notifications/inbox/{id}/read", tag = "notifications",
    params(("id" = String, Path)), responses((status = 201, body = ItemView), faults::Mark)
)]
pub async fn mark_read(
    State(app): App,
    Auth(principal): Auth,
    Path(id): Path<String>,
) -> ApiResult<Created<ItemView>> {
    Ok(Created(app.mark(&principal, &id, Mark::Read).await?.into()))
}

/// Marks a notification as not read.
#[utoipa::path(
    post, path = "/api/account/notifications/inbox/{id}/unread", tag = "notifications",
    params(("id" = String, Path)), responses((status = 201, body = ItemView), faults::Mark)
)]
pub async fn mark_unread(
    State(app): App,
    Auth(principal): Auth,
    Path(id): Path<String>,
) -> ApiResult<Created<ItemView>> {
    Ok(Created(app.mark(&principal, &id, Mark::Unread).await?.into()))
}

/// Puts a notification away for good; it counts as read.
#[utoipa::path(
    post, path = "/api/account/notifications/inbox/{id}/archive", tag = "notifications",
    params(("id" = String, Path)), responses((status = 201, body = ItemView), faults::Mark)
)]
pub async fn archive(
    State(app): App,
    Auth(principal): Auth,
    Path(id): Path<String>,
) -> ApiResult<Created<ItemView>> {
    Ok(Created(app.mark(&principal, &id, Mark::Archived).await?.into()))
}
