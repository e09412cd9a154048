//! The use cases of this area.

pub mod actions;
pub mod bulk;
pub mod context;
mod enqueue;
pub mod hosted;
pub mod hosted_jobs;
mod messages;
mod recover;
pub mod retention;
mod running_jobs;
mod schedules;
mod settle;
#[cfg(test)]
mod tests;
mod transitions;
pub mod types;
mod unstored;
pub mod views;
mod worker;

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard};

use prometheus::{IntCounter, IntCounterVec, IntGauge, Opts, Registry};
use qm_db::Db;
use qm_kernel::{Ctx, Timestamp};
use qm_lanes::IgnorePoison;
use qm_platform::{Audit, Background, Ground, Settings};
use qm_realtime::Hub;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub use enqueue::Enqueued;

use crate::model::cron::Cron;
use crate::model::pace::Pace;
use hosted_jobs::HostedJobs;
use running_jobs::RunningJobs;
use settle::Ended;
use types::Types;
use unstored::UnstoredJob;

/// Dependencies of this area.
pub struct JobsDeps {
    pub ground: Ground,
    pub hub: Hub,
    /// Program version, as shown for workers.
    pub version: &'static str,
    pub pace: Pace,
}

/// The jobs of a server; clones are handles to the same ones.
#[derive(Clone)]
pub struct Jobs(Arc<Inner>);

struct Inner {
    db: Db,
    ctx: Ctx,
    hub: Hub,
    audit: Audit,
    settings: Settings,
    background: Background,
    pace: Pace,
    types: Types,
    /// Cron schedules by name.
    crons: Mutex<BTreeMap<&'static str, Cron>>,
    running_jobs: RunningJobs,
    hosted_jobs: HostedJobs,
    worker: Worker,
    /// Wakes the dispatcher: a job may be ready to begin.
    wake: Notify,
    /// Runs that ended and are not written yet.
    ended: Mutex<Vec<Ended>>,
    /// The same for work that was never stored.
    unstored_jobs: Mutex<Vec<UnstoredJob>>,
    settling: tokio::sync::Mutex<()>,
    /// Tasks of the runs under way.
    runs: TaskTracker,
    draining: AtomicBool,
    /// Time of the last search for abandoned jobs.
    reaped_at: Mutex<Option<Timestamp>>,
    /// Fires when running jobs are to be abandoned as they are.
    abandoned: CancellationToken,
    tally: Tally,
}

/// This process as a worker.
struct Worker {
    /// `host:pid`, for people.
    id: String,
    host: String,
    /// Unique name in the leases; no two workers ever share one.
    owner: String,
    version: &'static str,
    started_at: Timestamp,
}

struct Tally {
    ended: IntCounterVec,
    running: IntGauge,
    looks: IntCounter,
}

impl Tally {
    fn new(metrics: &Registry) -> Result<Self, prometheus::Error> {
        let ended = Opts::new(
            "quartermaster_jobs_ended_total",
            "Jobs this server ran, by how they ended.",
        );
        let ended = IntCounterVec::new(ended, &["status"])?;
        let running = IntGauge::new("quartermaster_jobs_running", "Jobs this server is running.")?;
        let looks = IntCounter::new(
            "quartermaster_jobs_looks_total",
            "Looks of the worker's loops into the database.",
        )?;
        metrics.register(Box::new(ended.clone()))?;
        metrics.register(Box::new(running.clone()))?;
        metrics.register(Box::new(looks.clone()))?;
        Ok(Self {
            ended,
            running,
            looks,
        })
    }
}

impl Jobs {
    /// Creates the area with its own job types registered; nothing runs before [`Jobs::start`].
    pub fn new(deps: JobsDeps) -> Result<Self, prometheus::Error> {
        let host = host_name();
        let worker = Worker {
            id: format!("{host}:{}", std::process::id()),
            host,
            owner: deps.ground.ctx.id(),
            version: deps.version,
            started_at: deps.ground.ctx.now(),
        };
        let jobs = Self(Arc::new(Inner {
            tally: Tally::new(&deps.ground.metrics)?,
            db: deps.ground.db,
            ctx: deps.ground.ctx,
            hub: deps.hub,
            audit: deps.ground.audit,
            settings: deps.ground.settings,
            background: deps.ground.background,
            pace: deps.pace,
            types: Types::default(),
            crons: Mutex::default(),
            running_jobs: RunningJobs::default(),
            hosted_jobs: HostedJobs::default(),
            worker,
            wake: Notify::new(),
            ended: Mutex::default(),
            unstored_jobs: Mutex::default(),
            settling: tokio::sync::Mutex::default(),
            runs: TaskTracker::new(),
            draining: AtomicBool::new(false),
            reaped_at: Mutex::default(),
            abandoned: CancellationToken::new(),
        }));
        jobs.register(retention::job_type());
        Ok(jobs)
    }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // No holder of these locks can leave the data half changed.
    mutex.lock().ignore_poison()
}

/// Host name of the machine.
fn host_name() -> String {
    std::fs::read_to_string("/proc/sys/kernel/hostname")
        .ok()
        .map(|name| name.trim().to_owned())
        .filter(|name| !name.is_empty())
        .unwrap_or_else(|| "localhost".to_owned())
}
