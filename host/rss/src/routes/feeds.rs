//! `/api/rss/feeds`

use axum::extract::State;
use qm_web::{ApiResult, Auth, Body, By, Created, Json, Params, Path};

use super::{App, faults};
use crate::dto::answers::{FeedWithRulesView, HistoryPage, HistoryView, RefreshedView};
use crate::dto::requests::{ChangedFeed, HistoryQuery, NewFeed};
use crate::model::history::Standing;

/// Every feed, the oldest first, with its rules. Without `rss.manage` what its address holds beside host and path is masked.
#[utoipa::path(
    get, path = "/api/rss/feeds", tag = "rss", responses((status = 200, body = Vec<FeedWithRulesView>))
)]
pub async fn list_feeds(State(app): App, Auth(principal): Auth) -> ApiResult<Json<Vec<FeedWithRulesView>>> {
    let feeds = app.list_feeds().await?.into_iter();
    let shown = feeds.map(|feed| FeedWithRulesView::seen_by(feed, &principal));
    Ok(Json(shown.collect()))
}

/// Follows a feed: it is read at once.
#[utoipa::path(
    post, path = "/api/rss/feeds", tag = "rss", request_body = Body<NewFeed>,
    responses((status = 201, body = FeedWithRulesView), faults::CreateFeed)
)]
pub async fn create_feed(
    State(app): App,
    By(requester): By,
    Body(new): Body<NewFeed>,
) -> ApiResult<Created<FeedWithRulesView>> {
    let feed = app.create_feed(requester.caller(), new.into()).await?;
    Ok(Created(FeedWithRulesView::from((feed, Vec::new()))))
}

/// Changes a feed.
#[utoipa::path(
    patch, path = "/api/rss/feeds/{id}", tag = "rss", params(("id" = String, Path)),
    request_body = Body<ChangedFeed>, responses((status = 200, body = FeedWithRulesView), faults::OfFeed)
)]
pub async fn update_feed(
    State(app): App,
    By(requester): By,
    Path(id): Path<String>,
    Body(change): Body<ChangedFeed>,
) -> ApiResult<Json<FeedWithRulesView>> {
    let feed = app.update_feed(requester.caller(), &id, change.into()).await?;
    Ok(Json(app.with_rules(feed).await?.into()))
}

/// Deletes a feed, with its rules and its history. Torrents stay.
#[utoipa::path(
    delete, path = "/api/rss/feeds/{id}", tag = "rss", params(("id" = String, Path)),
    responses((status = 200, body = FeedWithRulesView), faults::OfFeed)
)]
pub async fn delete_feed(
    State(app): App,
    By(requester): By,
    Path(id): Path<String>,
) -> ApiResult<Json<FeedWithRulesView>> {
    Ok(Json(app.delete_feed(requester.caller(), &id).await?.into()))
}

/// Reads a feed now, and grabs what its rules ask for.
#[utoipa::path(
    post, path = "/api/rss/feeds/{id}/refresh", tag = "rss", params(("id" = String, Path)),
    responses((status = 201, body = RefreshedView), faults::Refresh)
)]
pub async fn refresh_feed(
    State(app): App,
    By(requester): By,
    Path(id): Path<String>,
) -> ApiResult<Created<RefreshedView>> {
    let (new_items, downloaded) = app.refresh_for(requester.caller(), &id).await?;
    Ok(Created(RefreshedView {
        new_items,
        downloaded,
    }))
}

/// History of a feed, the newest item first. Without `rss.manage` keys in its links are masked.
#[utoipa::path(
    get, path = "/api/rss/feeds/{id}/history", tag = "rss", params(("id" = String, Path), Params::<HistoryQuery>),
    responses((status = 200, body = HistoryPage), faults::History)
)]
pub async fn feed_history(
    State(app): App,
    Auth(principal): Auth,
    Path(id): Path<String>,
    Params(query): Params<HistoryQuery>,
) -> ApiResult<Json<HistoryPage>> {
    let (items, counts) = app.history(&id, &query.filter, query.page).await?;
    let total = match query.filter.standing {
        Standing::All => counts.total,
        Standing::Downloaded => counts.downloaded,
        Standing::Matched => counts.matched,
        Standing::Seen => counts.seen,
    };
    Ok(Json(HistoryPage {
        items: items
            .into_iter()
            .map(|item| HistoryView::seen_by(item, &principal))
            .collect(),
        total,
        page: query.page.page,
        page_size: query.page.page_size,
        counts: counts.into(),
    }))
}
