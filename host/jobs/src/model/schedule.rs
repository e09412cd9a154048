//! Background loops and schedules of the server, as users see them. Pure.

use std::time::Duration;

use super::cron::Cron;

/// Name of the loop that finds running jobs without a heartbeat.
pub const STALL_DETECTOR: &str = "platform_job_stall_detector";
/// The name of the schedule that removes old jobs.
pub const RETENTION_CLEANUP: &str = "platform_job_retention_cleanup";

/// A loop or schedule that runs repeatedly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    pub name: &'static str,
    pub module: &'static str,
    pub trigger: Trigger,
}

/// The times at which a loop or a schedule runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trigger {
    Every(Duration),
    /// In the time zone of `app.timezone`, or the server's.
    Cron(Cron),
}
