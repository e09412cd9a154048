//! Live health of the server: process, engines, plugins, disks, encrypted secrets.
//!
//! Bounds: an engine without an answer after [`ENGINE_PATIENCE`] counts as offline, a disk after
//! [`disks::PATIENCE`] as unavailable, the secrets after [`SECRETS_PATIENCE`] as unknown; all are checked
//! concurrently, so the whole takes no longer than the slowest.

pub mod disks;
pub mod process;

use std::sync::Arc;
use std::time::{Duration, Instant};

use qm_platform::{Sealed, Unreadable};
use qm_plugin_host::{PluginHost, PluginStatus};
use qm_ports::{EngineProbe, EngineProbes};

use self::disks::{Disk, Disks};
use self::process::{Load, Process};

/// Time limit for the engines.
pub const ENGINE_PATIENCE: Duration = Duration::from_secs(9);

/// Time limit for the check of the secrets.
pub const SECRETS_PATIENCE: Duration = Duration::from_secs(5);

/// Sources of the health report.
#[derive(Clone)]
pub struct Health {
    pub engines: Arc<dyn EngineProbes>,
    pub plugins: Arc<PluginHost>,
    pub disks: Disks,
    pub sealed: Sealed,
    /// Start of the process.
    pub started: Instant,
}

/// Health report.
pub struct Report {
    pub uptime: Duration,
    pub process: Process,
    pub load: Load,
    pub engines: Vec<EngineProbe>,
    pub plugins: Vec<PluginStatus>,
    pub disks: Vec<Disk>,
    /// Stored values that cannot be decrypted.
    pub unreadable: Vec<Unreadable>,
}

impl Health {
    pub async fn report(&self) -> Report {
        let (engines, disks, unreadable) = tokio::join!(
            self.engines.probe_all(ENGINE_PATIENCE),
            self.disks.read(),
            tokio::time::timeout(SECRETS_PATIENCE, self.sealed.unreadable()),
        );
        Report {
            uptime: self.started.elapsed(),
            process: Process::read(),
            load: Load::read(),
            engines,
            plugins: self.plugins.list(),
            disks,
            unreadable: unreadable.unwrap_or_else(|_| {
                tracing::warn!("stored secrets were not looked at: the database does not answer");
                Vec::new()
            }),
        }
    }
}
