//! How the server is, asked live: its process, the engines, the plugins, the disks, the secrets at rest.
//!
//! Bounds: an engine that has not answered after [`ENGINE_PATIENCE`] is offline, a disk after [`disks::PATIENCE`]
//! unavailable, the secrets after [`SECRETS_PATIENCE`] unknown; all are asked at once, so an answer takes no longer than
//! the slowest.

pub mod disks;
pub mod process;

use std::sync::Arc;
use std::time::{Duration, Instant};

use qm_platform::{Sealed, Unreadable};
use qm_plugin_host::{PluginHost, PluginStatus};
use qm_ports::{EngineProbe, EngineProbes};

use self::disks::{Disk, Disks};
use self::process::{Load, Process};

/// How long engines may take.
pub const ENGINE_PATIENCE: Duration = Duration::from_secs(9);

/// How long the look at the secrets may take.
pub const SECRETS_PATIENCE: Duration = Duration::from_secs(5);

/// Asks everything there is to ask.
#[derive(Clone)]
pub struct Health {
    pub engines: Arc<dyn EngineProbes>,
    pub plugins: Arc<PluginHost>,
    pub disks: Disks,
    pub sealed: Sealed,
    /// When the process started.
    pub started: Instant,
}

/// How the server is.
pub struct Report {
    pub uptime: Duration,
    pub process: Process,
    pub load: Load,
    pub engines: Vec<EngineProbe>,
    pub plugins: Vec<PluginStatus>,
    pub disks: Vec<Disk>,
    /// Stored values that open under no key.
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
