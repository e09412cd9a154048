//! Routes that read jobs, types, schedules and workers.

use axum::extract::State;
use qm_kernel::Permission;
use qm_web::{ApiResult, Auth, Json, Params, Path};

use super::{App, TAG, faults};
use crate::dto::answers::{
    CatalogueItem, JobDetail, JobEventItem, JobEventPage, JobItem, JobOverview, JobPage, JobSummaries,
    JobSummary, ScheduleItem, WorkerItem, WorkerSettings,
};
use crate::dto::requests::{EventsQuery, ListQuery, SimpleQuery};
use crate::service::types::JobType;

/// The latest jobs of each part of the product the caller may see, the newest first.
#[utoipa::path(
    get, path = "/api/jobs", tag = TAG,
    params(
        ("subsystem" = Option<String>, Query, description = "Only this part of the product: `media`."),
        ("status" = Option<String>, Query, description = "`queued`, `running`, `completed`, `failed` or `cancelled`."),
        ("active" = Option<String>, Query, description = "`true` or `1`: only what is queued or running."),
        ("limit" = Option<String>, Query, description = "1 to 200, default 50."),
        Params::<SimpleQuery>,
    ),
    responses((status = 200, body = JobSummaries)),
)]
pub async fn recent_jobs(
    State(app): App,
    Auth(principal): Auth,
    Params(SimpleQuery(asked)): Params<SimpleQuery>,
) -> ApiResult<Json<JobSummaries>> {
    let jobs = app.simple(&principal, &asked).await?;
    let jobs = jobs
        .into_iter()
        .map(|(subsystem, job)| JobSummary::from_item(subsystem, job));
    Ok(Json(JobSummaries { jobs: jobs.collect() }))
}

/// Number of jobs in each state, and results of today.
#[utoipa::path(get, path = "/api/jobs/overview", tag = TAG, responses((status = 200, body = JobOverview)))]
pub async fn job_overview(State(app): App, Auth(principal): Auth) -> ApiResult<Json<JobOverview>> {
    Ok(Json(app.overview(&principal).await?.into()))
}

/// The types of jobs there are.
#[utoipa::path(get, path = "/api/jobs/catalog", tag = TAG, responses((status = 200, body = Vec<CatalogueItem>)))]
pub async fn job_catalog(State(app): App) -> Json<Vec<CatalogueItem>> {
    let types = app.catalogue();
    Json(types.iter().map(|job_type| catalogue_item(job_type)).collect())
}

fn catalogue_item(job_type: &JobType) -> CatalogueItem {
    CatalogueItem {
        r#type: job_type.key,
        module_key: job_type.module,
        workspace_key: job_type.workspace,
        label_key: job_type.label_key,
        description_key: job_type
            .description_key
            .map_or_else(|| format!("{}.description", job_type.label_key), str::to_owned),
        required_permission: job_type.required_permission.map(Permission::key),
        capabilities: job_type.capabilities.into(),
    }
}

/// The jobs the caller may see, page by page.
#[utoipa::path(
    get, path = "/api/jobs/list", tag = TAG,
    params(
        ("search" = Option<String>, Query, description = "A part of the name or of the type, or a whole id or correlation id."),
        ("active" = Option<bool>, Query, description = "Whether something is still to happen to them."),
        Params::<ListQuery>,
    ),
    responses((status = 200, body = JobPage)),
)]
pub async fn list_jobs(
    State(app): App,
    Auth(principal): Auth,
    Params(query): Params<ListQuery>,
) -> ApiResult<Json<JobPage>> {
    let (jobs, total) = app.list(&principal, &query.wanted, query.page).await?;
    Ok(Json(JobPage {
        items: jobs.into_iter().map(JobItem::from).collect(),
        total,
        page: query.page.page,
        page_size: query.page.page_size,
    }))
}

/// Every background loop and schedule of the server, by name.
#[utoipa::path(get, path = "/api/jobs/schedules", tag = TAG, responses((status = 200, body = Vec<ScheduleItem>)))]
pub async fn job_schedules(State(app): App) -> Json<Vec<ScheduleItem>> {
    Json(app.schedules().into_iter().map(ScheduleItem::from).collect())
}

/// The processes that run jobs.
#[utoipa::path(get, path = "/api/jobs/workers", tag = TAG, responses((status = 200, body = Vec<WorkerItem>)))]
pub async fn job_workers(State(app): App) -> Json<Vec<WorkerItem>> {
    Json(vec![app.worker().into()])
}

/// Settings of the worker.
#[utoipa::path(get, path = "/api/jobs/settings", tag = TAG, responses((status = 200, body = WorkerSettings)))]
pub async fn job_settings(State(app): App) -> Json<WorkerSettings> {
    Json(app.pace().into())
}

/// All that is shown of a job.
#[utoipa::path(
    get, path = "/api/jobs/{id}", tag = TAG, params(("id" = String, Path)),
    responses((status = 200, body = JobDetail), faults::Read),
)]
pub async fn get_job(
    State(app): App,
    Auth(principal): Auth,
    Path(id): Path<String>,
) -> ApiResult<Json<JobDetail>> {
    Ok(Json(app.get(&principal, &id).await?.into()))
}

/// Events of a job, in order.
///
/// Needs `jobs.view_events` too, or the right to see all jobs.
#[utoipa::path(
    get, path = "/api/jobs/{id}/events", tag = TAG,
    params(
        ("id" = String, Path),
        ("page" = Option<u64>, Query, description = "From 1."),
        ("pageSize" = Option<u64>, Query, description = "At most 200, default 50."),
        Params::<EventsQuery>,
    ),
    responses((status = 200, body = JobEventPage), faults::Events),
)]
pub async fn job_events(
    State(app): App,
    Auth(principal): Auth,
    Path(id): Path<String>,
    Params(query): Params<EventsQuery>,
) -> ApiResult<Json<JobEventPage>> {
    let (events, total) = app
        .events(&principal, &id, query.level.as_deref(), query.page)
        .await?;
    Ok(Json(JobEventPage {
        items: events.into_iter().map(JobEventItem::from).collect(),
        total,
        page: query.page.page,
        page_size: query.page.page_size,
    }))
}

/// The jobs a job has made, the oldest first; 500 at most.
#[utoipa::path(
    get, path = "/api/jobs/{id}/children", tag = TAG, params(("id" = String, Path)),
    responses((status = 200, body = Vec<JobItem>), faults::Read),
)]
pub async fn job_children(
    State(app): App,
    Auth(principal): Auth,
    Path(id): Path<String>,
) -> ApiResult<Json<Vec<JobItem>>> {
    let children = app.children(&principal, &id).await?;
    Ok(Json(children.into_iter().map(JobItem::from).collect()))
}
