//! Route of the server's health, for administrators.

use axum::extract::State;
use qm_kernel::Timestamp;
use qm_platform::{Node, Unreadable};
use qm_plugin_host::{PluginState, PluginStatus};
use qm_ports::EngineProbe;
use qm_web::Json;
use serde::Serialize;
use utoipa::ToSchema;

use crate::routes::System;
use crate::service::health::Report;
use crate::service::health::disks::Disk;

#[derive(Serialize, ToSchema)]
#[schema(as = SystemHealth)]
pub(in crate::routes) struct HealthView {
    process: ProcessView,
    engines: Vec<EngineView>,
    plugins: Vec<PluginView>,
    /// One a file root.
    disks: Vec<DiskView>,
    secrets: SecretsView,
    node: NodeView,
}

#[derive(Serialize, ToSchema)]
#[schema(as = SystemNode)]
struct NodeView {
    /// The server's name among those that share its database.
    name: String,
    /// `active` or, as long as it does not know whether it still is, `standby`.
    role: &'static str,
    /// Number of activations of any server on this database, including this one; null with SQLite, which has
    /// one server.
    term: Option<i64>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = SystemProcess)]
struct ProcessView {
    /// Seconds since the server started.
    uptime: f64,
    /// In use, in bytes.
    memory: u64,
    /// Compiler of the native program.
    runtime: &'static str,
    /// The same; the name is that of an older service whose clients still read it.
    node_version: &'static str,
    /// Load averages of the machine over 1, 5 and 15 minutes.
    load: [f64; 3],
    cpus: usize,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = SystemEngine)]
struct EngineView {
    engine_id: String,
    kind: String,
    online: bool,
    latency_ms: Option<u64>,
    /// The client's version.
    version: Option<String>,
    /// Why it is not online.
    error: Option<String>,
    #[schema(value_type = String, format = DateTime)]
    checked_at: Timestamp,
}

#[derive(Serialize, ToSchema)]
#[schema(as = SystemPlugin)]
struct PluginView {
    id: String,
    /// `active`, `compiling`, `failed`, `incompatible` or `conflicting`.
    #[schema(value_type = String)]
    state: PluginState,
    /// Why it is not active, or which of its lanes are parked and why.
    reason: Option<String>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = SystemDisk)]
struct DiskView {
    path: String,
    /// In bytes, as are the next two; all are 0 when they cannot be read.
    total: u64,
    /// Bytes that ordinary users may still write.
    free: u64,
    used: u64,
    /// `unavailable`
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'static str>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = SystemSecrets)]
struct SecretsView {
    /// Stored secrets that open under none of the keys; they read as absent.
    unreadable: Vec<Unreadable>,
}

/// Live health of the process, the engines, the plugins, the disks and the stored secrets. Takes at most
/// about ten seconds, whatever hangs.
#[utoipa::path(get, path = "/api/system/health", tag = "system", responses((status = 200, body = HealthView)))]
pub(in crate::routes) async fn health(State(system): State<System>) -> Json<HealthView> {
    let report = system.health.report().await;
    Json(HealthView::from_report(
        report,
        system.build.compiler(),
        &system.node,
    ))
}

impl HealthView {
    fn from_report(report: Report, runtime: &'static str, node: &Node) -> Self {
        Self {
            process: ProcessView {
                uptime: report.uptime.as_secs_f64(),
                memory: report.process.resident_bytes,
                runtime,
                node_version: runtime,
                load: report.load.averages,
                cpus: report.load.cpus,
            },
            engines: report.engines.into_iter().map(EngineView::from).collect(),
            plugins: report.plugins.into_iter().map(PluginView::from).collect(),
            disks: report.disks.into_iter().map(DiskView::from).collect(),
            secrets: SecretsView {
                unreadable: report.unreadable,
            },
            node: NodeView {
                name: node.name().to_owned(),
                role: node.role().word(),
                term: node.term(),
            },
        }
    }
}

impl From<EngineProbe> for EngineView {
    fn from(probe: EngineProbe) -> Self {
        Self {
            engine_id: probe.engine_id,
            kind: probe.kind,
            online: probe.online,
            latency_ms: probe.latency_ms,
            version: probe.version,
            error: probe.error,
            checked_at: probe.checked_at,
        }
    }
}

impl From<PluginStatus> for PluginView {
    fn from(plugin: PluginStatus) -> Self {
        Self {
            id: plugin.id,
            state: plugin.state,
            reason: plugin.reason,
        }
    }
}

impl From<Disk> for DiskView {
    fn from(disk: Disk) -> Self {
        let (total, free) = disk.space.map_or((0, 0), |space| (space.total, space.free));
        Self {
            path: disk.path,
            total,
            free,
            used: total.saturating_sub(free),
            error: disk.space.is_none().then_some("unavailable"),
        }
    }
}
