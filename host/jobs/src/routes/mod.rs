//! The routes of the jobs: parse, call the service, shape.

mod actions;
mod faults;
mod lists;

use qm_kernel::Permission as P;
use qm_web::{Routes, routes};

use crate::service::Jobs;

type App = axum::extract::State<Jobs>;

const TAG: &str = "jobs";

/// All routes of this area, still without their state.
pub fn routes() -> Routes<Jobs> {
    Routes::new()
        .add(routes!(lists::recent_jobs).authenticated())
        .add(routes!(lists::job_overview).need(P::JobsView))
        .add(routes!(lists::job_catalog).need(P::JobsView))
        .add(routes!(lists::list_jobs).need(P::JobsView))
        .add(routes!(lists::job_schedules).need(P::JobsView))
        .add(routes!(lists::job_workers).need(P::JobsViewWorkers))
        .add(routes!(lists::job_settings).need(P::JobsManageSettings))
        .add(routes!(lists::get_job).need(P::JobsView))
        .add(routes!(lists::job_events).need(P::JobsView))
        .add(routes!(lists::job_children).need(P::JobsView))
        .add(routes!(actions::cancel_jobs).need_all(&[P::JobsBulkManage, P::JobsCancel]))
        .add(routes!(actions::retry_jobs).need_all(&[P::JobsBulkManage, P::JobsRetry]))
        .add(routes!(actions::rerun_jobs).need_all(&[P::JobsBulkManage, P::JobsRerun]))
        .add(routes!(actions::cancel_job).need(P::JobsCancel))
        .add(routes!(actions::pause_job).need(P::JobsPause))
        .add(routes!(actions::resume_job).need(P::JobsResume))
        .add(routes!(actions::retry_job).need(P::JobsRetry))
        .add(routes!(actions::rerun_job).need(P::JobsRerun))
}
