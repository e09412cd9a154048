//! Jobs as an area of the service.

use std::sync::Arc;

use async_trait::async_trait;
use qm_kernel::Permission;
use qm_platform::area::{Area, AreaError, AreaSpec, Closing, ContextAction, Make};
use qm_platform::{Ground, Ports};
use qm_realtime::Hub;

use crate::{Jobs, JobsDeps, Pace, routes};

pub static AREA: AreaSpec = AreaSpec {
    name: "jobs",
    events: &[],
    sealed: Vec::new,
    module: "system",
    modules: &[],
    context_actions: CONTEXT_ACTIONS,
    notifications: &[],
    described: || routes().described(),
    after: &[],
    make: Make::Plain(make),
};

/// Context actions of a job, in the order in which toolbars show them.
static CONTEXT_ACTIONS: &[ContextAction] = &[
    single_action("jobs.cancel", &[Permission::JobsCancel], ("Ban", 10))
        .capability("cancel")
        .destructive(),
    single_action("jobs.pause", &[Permission::JobsPause], ("Pause", 20)).capability("pause"),
    single_action("jobs.resume", &[Permission::JobsResume], ("Play", 30)).capability("resume"),
    single_action("jobs.retry", &[Permission::JobsRetry], ("RotateCw", 40)).capability("retry"),
    single_action("jobs.rerun", &[Permission::JobsRerun], ("RefreshCw", 50)).capability("rerun"),
    many(
        "jobs.cancelBulk",
        &[Permission::JobsBulkManage, Permission::JobsCancel],
        ("Ban", 10),
    )
    .capability("cancel")
    .destructive(),
    many(
        "jobs.retryBulk",
        &[Permission::JobsBulkManage, Permission::JobsRetry],
        ("RotateCw", 40),
    )
    .capability("retry"),
    many(
        "jobs.rerunBulk",
        &[Permission::JobsBulkManage, Permission::JobsRerun],
        ("RefreshCw", 50),
    )
    .capability("rerun"),
];

const fn single_action(
    id: &'static str,
    permissions: &'static [Permission],
    shown: (&'static str, u16),
) -> ContextAction {
    ContextAction::new(id, ("maintenance", "job"), permissions, shown)
        .arity("single")
        .shown_disabled()
}

const fn many(
    id: &'static str,
    permissions: &'static [Permission],
    shown: (&'static str, u16),
) -> ContextAction {
    ContextAction::new(id, ("maintenance", "job"), permissions, shown)
        .arity("multi")
        .at_most(200)
        .shown_disabled()
}

/// The area, made from the ports of those before it.
fn make(ground: &Ground, ports: &mut Ports) -> Result<Area, AreaError> {
    let jobs = Jobs::new(JobsDeps {
        ground: ground.clone(),
        hub: ports.get::<Hub>()?,
        version: env!("CARGO_PKG_VERSION"),
        pace: Pace::default(),
    })?;
    ports.offer(jobs.clone());
    Ok(area(&jobs))
}

/// Area with its routes and loops.
fn area(jobs: &Jobs) -> Area {
    Area::new(&AREA, routes().with_state(jobs.clone())).closing(Arc::new(jobs.clone()))
}

#[async_trait]
impl Closing for Jobs {
    fn stop(&self) {
        self.drain();
    }

    /// Releases the leases first: a background loop prolongs them, so they must go before the loops stop.
    async fn settle(&self) {
        self.shutdown().await;
    }
}
