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

impl Schedule {
    pub fn from_trigger(name: &'static str, trigger: Trigger) -> Self {
        Self {
            name,
            module: module_of(name),
            trigger,
        }
    }
}

/// The module of a loop, derived from the prefix of its name.
fn module_of(name: &str) -> &'static str {
    const PARTS: &[(&str, &str)] = &[
        ("torrent", "torrents"),
        ("rss", "rss"),
        ("media_server", "media_server_analytics"),
        ("newsletter", "media_server_analytics"),
        ("media_acquisition", "media_acquisition_intelligence"),
        ("media", "media_manager"),
        ("library", "media_manager"),
        ("titledb", "media_manager"),
        ("probe", "media_manager"),
    ];
    if name == STALL_DETECTOR {
        return "jobs_center";
    }
    PARTS
        .iter()
        .find(|(part, _)| name.contains(part))
        .map_or("system", |(_, module)| module)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_are_told_from_names() {
        for (name, module) in [
            (STALL_DETECTOR, "jobs_center"),
            (RETENTION_CLEANUP, "system"),
            ("notification_delivery_worker", "system"),
            ("files_trash_retention_sweep", "system"),
            ("storage_watch", "system"),
            ("provider_watch", "system"),
            ("torrent_sync", "torrents"),
            ("rss_poll", "rss"),
            ("media_server_poll", "media_server_analytics"),
            ("media_acquisition_sweep", "media_acquisition_intelligence"),
            ("library_watch", "media_manager"),
        ] {
            assert_eq!(module_of(name), module, "{name}");
        }
    }
}
