//! Groups, their state, detections and their schedule.

use axum::extract::State;
use qm_web::{ApiResult, Body, By, Created, Json, Params, Path};

use super::{App, Change, Detail, Detect, Read, Settings};
use crate::dto::{
    GroupDetail, GroupRow, GroupsPage, GroupsQuery, IgnoreInput, JobView, Listing, OverviewView,
    ScheduleInput, ScheduleShown,
};
use crate::service::ScheduleView;

/// Shows duplicates in numbers.
#[utoipa::path(get, path = "/api/media/duplicates/overview", tag = "media", responses((status = 200, body = OverviewView)))]
pub async fn show_overview(State(app): App) -> ApiResult<Json<OverviewView>> {
    Ok(Json(app.find_overview().await?.into()))
}

/// Lists groups of duplicates, open ones unless told otherwise.
#[utoipa::path(
    get, path = "/api/media/duplicates", tag = "media", params(Params::<GroupsQuery>),
    responses((status = 200, body = GroupsPage), Read)
)]
pub async fn list_groups(State(app): App, Params(query): Params<GroupsQuery>) -> ApiResult<Json<GroupsPage>> {
    let page = query.page;
    let (groups, total) = app.list_groups(&query.into_filter(), page).await?;
    let items = groups
        .into_iter()
        .map(|listed| Listing::new(listed.group, listed.members));
    Ok(Json(GroupsPage {
        items: items.collect(),
        total,
        page: page.page,
        page_size: page.page_size,
    }))
}

/// Shows a group with its members and the verdict on each.
#[utoipa::path(
    get, path = "/api/media/duplicates/{groupId}", tag = "media", params(("groupId" = String, Path)),
    responses((status = 200, body = GroupDetail), Detail)
)]
pub async fn show_group(State(app): App, Path(id): Path<String>) -> ApiResult<Json<GroupDetail>> {
    let seen = app.find_group(&id).await?;
    Ok(Json(GroupDetail::new(seen.group, seen.members, &seen.libraries)))
}

/// Ignores a group until somebody opens it again.
#[utoipa::path(
    post, path = "/api/media/duplicates/{groupId}/ignore", tag = "media", params(("groupId" = String, Path)),
    request_body = Body<IgnoreInput>, responses((status = 201, body = GroupRow), Change)
)]
pub async fn ignore_group(
    State(app): App,
    By(requester): By,
    Path(id): Path<String>,
    Body(input): Body<IgnoreInput>,
) -> ApiResult<Created<GroupRow>> {
    let group = app.ignore_group(requester.caller(), &id, input.reason).await?;
    Ok(Created(group.into()))
}

/// Opens a group that was ignored or resolved.
#[utoipa::path(
    post, path = "/api/media/duplicates/{groupId}/reopen", tag = "media", params(("groupId" = String, Path)),
    responses((status = 201, body = GroupRow), Change)
)]
pub async fn reopen_group(
    State(app): App,
    By(requester): By,
    Path(id): Path<String>,
) -> ApiResult<Created<GroupRow>> {
    Ok(Created(app.reopen_group(requester.caller(), &id).await?.into()))
}

fn shown(view: ScheduleView) -> ScheduleShown {
    ScheduleShown {
        enabled: view.schedule.is_enabled,
        interval_hours: view.schedule.interval_hours,
        last_run_at: view.last,
        next_run_at: view.schedule.next(view.last),
    }
}

/// Shows the schedule of detections.
#[utoipa::path(get, path = "/api/media/duplicates/schedule", tag = "media", responses((status = 200, body = ScheduleShown)))]
pub async fn show_schedule(State(app): App) -> ApiResult<Json<ScheduleShown>> {
    Ok(Json(shown(app.find_schedule().await?)))
}

/// Changes the schedule of detections.
#[utoipa::path(
    patch, path = "/api/media/duplicates/schedule", tag = "media", request_body = Body<ScheduleInput>,
    responses((status = 200, body = ScheduleShown), Settings)
)]
pub async fn change_schedule(
    State(app): App,
    By(requester): By,
    Body(input): Body<ScheduleInput>,
) -> ApiResult<Json<ScheduleShown>> {
    let (enabled, hours) = (input.enabled, input.interval_hours);
    let view = app.change_schedule(requester.caller(), enabled, hours).await?;
    Ok(Json(shown(view)))
}

/// Starts a detection as a job. While one waits or runs, that one is answered.
#[utoipa::path(
    post, path = "/api/media/duplicates/detect", tag = "media", responses((status = 201, body = JobView), Detect)
)]
pub async fn detect(State(app): App, By(requester): By) -> ApiResult<Created<JobView>> {
    let job_id = app.start_detection(requester.caller()).await?;
    Ok(Created(JobView { job_id }))
}
