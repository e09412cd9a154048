//! Answer bodies of the routes about the system and its plugins.

use qm_kernel::Timestamp;
use qm_plugin_host::{LaneState, LaneStatus, PluginState, PluginStatus, Refusal};
use serde::Serialize;
use utoipa::ToSchema;

#[derive(Serialize, ToSchema)]
pub(crate) struct Live {
    /// Always `ok`.
    pub(crate) status: &'static str,
    /// Seconds since the process started.
    pub(crate) uptime: f64,
}

#[derive(Serialize, ToSchema)]
pub(crate) struct Ready {
    /// `ok` or `degraded`.
    pub(crate) status: &'static str,
    /// True when the database answers and is writable.
    pub(crate) database: bool,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Release {
    /// The product's name.
    product: String,
    /// e.g. `1.4.2`
    version: &'static str,
    /// Always `community`.
    edition: &'static str,
    /// Always `v1`.
    api_version: &'static str,
    /// The tag it was built from; `v<version>` when it was built from none.
    git_tag: String,
    /// The commit it was built from, when that is known.
    git_sha: Option<&'static str>,
    /// When it was built, or the time of its commit.
    #[schema(value_type = Option<String>, format = DateTime)]
    build_time: Option<Timestamp>,
    /// Compiler of the native program.
    runtime: &'static str,
    /// The same; the name is that of an older service whose clients still read it.
    node: &'static str,
}

/// The [`Build`] of the program whose crate calls it: its version, and what its build script put into
/// `QM_GIT_SHA`, `QM_GIT_TAG`, `QM_BUILD_EPOCH` (unix seconds) and `QM_COMPILER`, each of which may be missing.
#[macro_export]
macro_rules! build {
    () => {
        $crate::Build {
            version: env!("CARGO_PKG_VERSION"),
            git_tag: option_env!("QM_GIT_TAG"),
            git_sha: option_env!("QM_GIT_SHA"),
            epoch: option_env!("QM_BUILD_EPOCH"),
            compiler: option_env!("QM_COMPILER"),
        }
    };
}

/// Facts about the build. Made by [`build!`](macro@crate::build) in the crate of the program.
#[derive(Clone, Copy, Debug)]
pub struct Build {
    pub version: &'static str,
    pub git_tag: Option<&'static str>,
    pub git_sha: Option<&'static str>,
    /// Unix seconds.
    pub epoch: Option<&'static str>,
    pub compiler: Option<&'static str>,
}

impl Build {
    pub(crate) fn describe(&self, product: &str) -> Release {
        let epoch = self.epoch.and_then(|secs| secs.parse().ok());
        Release {
            product: product.to_owned(),
            version: self.version,
            edition: "community",
            api_version: "v1",
            git_tag: self
                .git_tag
                .map_or_else(|| format!("v{}", self.version), str::to_owned),
            git_sha: self.git_sha,
            build_time: epoch.map(Timestamp::from_secs),
            runtime: self.compiler(),
            node: self.compiler(),
        }
    }

    pub(crate) fn compiler(&self) -> &'static str {
        self.compiler.unwrap_or("rust")
    }
}

/// A file of the plugins directory.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Plugin {
    /// The id it gives itself; the file's name without `.wasm` as long as that is unknown.
    id: String,
    /// The product's name.
    label: Option<String>,
    /// The plugin's own version.
    version: Option<String>,
    /// The role it has: `engine`, `channel` or `action-set`.
    kind: Option<String>,
    /// The file's name in the plugins directory.
    file: String,
    /// The version of the plugin API it was built against.
    api_version: Option<String>,
    /// SHA-256 of the file in use, in lower-case hex.
    sha256: Option<String>,
    /// Size of the file in use, in bytes.
    size: u64,
    /// `active`, `compiling`, `failed`, `incompatible` or `conflicting`.
    #[schema(value_type = String)]
    state: PluginState,
    /// Why it is not active, which of its lanes are parked and why, or which of its actions another plugin provides.
    reason: Option<String>,
    /// Why a newer file of the same name was not taken; the older one goes on working.
    pending_error: Option<String>,
    /// Interfaces it imports, with versions.
    imports: Vec<String>,
    /// Interfaces it exports, with versions.
    exports: Vec<String>,
    /// Optional capabilities of its kind.
    capabilities: Vec<String>,
    /// Origins it asks to reach beside what is configured, as `https://host`.
    hosts: Vec<String>,
    /// Capabilities it asks for that have to be granted: `torrents` (to touch the torrent that a rule runs it for),
    /// `http-guarded` (to send to addresses that users choose).
    needed_capabilities: Vec<String>,
    /// True when it was built with the server: then all its requests are granted.
    first_party: bool,
    /// Those of its hosts that it may reach, granted by an administrator (`PUT /api/plugins/{id}/grants`); the others are denied to it.
    granted_hosts: Vec<String>,
    /// Those of the capabilities it asks for that it may use.
    granted_capabilities: Vec<String>,
    /// Last refused request; null if there was none since the start of the server.
    last_refusal: Option<PluginRefusal>,
    /// Live instances.
    instances: u32,
    /// Calls since the server started; so are the next four.
    calls: u64,
    /// Calls that ended in a trap, a CPU or a memory limit among them.
    traps: u64,
    /// Calls cut off by their deadline.
    timeouts: u64,
    /// Instances made to replace one that failed.
    restarts: u64,
    /// Log lines dropped as a flood.
    log_dropped: u64,
    /// Memory of the live instances, in bytes.
    memory_bytes: u64,
    /// One entry a lane.
    lanes: Vec<PluginLane>,
}

/// One lane: of a configured engine the reads of its sync loop or the commands of users, of a channel what it sends, of a set of
/// actions its runs.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PluginLane {
    /// The engine's id; null for a plugin that no engine is configured of.
    engine: Option<String>,
    /// `sync`, `command`, `send` or `run`.
    lane: String,
    /// `idle`, `ready`, `running`, `backing-off` or `parked`.
    #[schema(value_type = String)]
    state: LaneState,
    /// The last failure, while it matters.
    reason: Option<String>,
    calls: u64,
    traps: u64,
    timeouts: u64,
    restarts: u64,
    memory_bytes: u64,
}

/// Something that a plugin asked for and was refused.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PluginRefusal {
    /// Sentence about the refused request.
    what: String,
    #[schema(value_type = String, format = DateTime)]
    at: Timestamp,
}

impl From<Refusal> for PluginRefusal {
    fn from(refusal: Refusal) -> Self {
        Self {
            what: refusal.what,
            at: refusal.at,
        }
    }
}

impl From<PluginStatus> for Plugin {
    fn from(status: PluginStatus) -> Self {
        Self {
            id: status.id,
            label: status.label,
            version: status.version,
            kind: status.kind,
            file: status.file,
            api_version: status.api_version,
            sha256: status.sha256,
            size: status.size,
            state: status.state,
            reason: status.reason,
            pending_error: status.pending_error,
            imports: status.imports,
            exports: status.exports,
            capabilities: status.capabilities,
            hosts: status.hosts,
            needed_capabilities: status.asks,
            first_party: status.first_party,
            granted_hosts: status.granted_hosts,
            granted_capabilities: status.granted_capabilities,
            last_refusal: status.last_refusal.map(PluginRefusal::from),
            instances: status.instances,
            calls: status.calls,
            traps: status.traps,
            timeouts: status.timeouts,
            restarts: status.restarts,
            log_dropped: status.log_dropped,
            memory_bytes: status.memory_bytes,
            lanes: status.lanes.into_iter().map(PluginLane::from).collect(),
        }
    }
}

impl From<LaneStatus> for PluginLane {
    fn from(status: LaneStatus) -> Self {
        Self {
            engine: Some(status.owner).filter(|owner| !owner.is_empty()),
            lane: status.lane,
            state: status.state,
            reason: status.reason,
            calls: status.calls,
            traps: status.traps,
            timeouts: status.timeouts,
            restarts: status.restarts,
            memory_bytes: status.memory_bytes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_without_facts_says_so() {
        let build = Build {
            version: "1.4.2",
            git_tag: None,
            git_sha: None,
            epoch: None,
            compiler: None,
        };
        let version = serde_json::to_value(build.describe("Box")).unwrap();
        assert_eq!(
            version,
            serde_json::json!({
                "product": "Box", "version": "1.4.2", "edition": "community", "apiVersion": "v1", "gitTag": "v1.4.2",
                "gitSha": null, "buildTime": null, "runtime": "rust", "node": "rust",
            })
        );
    }

    #[test]
    fn a_build_with_facts_shows_them() {
        let build = Build {
            version: "1.4.2",
            git_tag: Some("v1.4.2-rc1"),
            git_sha: Some("0123abc"),
            epoch: Some("1932628500"),
            compiler: Some("rustc 1.95.0"),
        };
        let version = serde_json::to_value(build.describe("Box")).unwrap();
        assert_eq!(version["gitTag"], "v1.4.2-rc1");
        assert_eq!(version["gitSha"], "0123abc");
        assert_eq!(version["buildTime"], "2031-03-30T09:15:00.000Z");
        assert_eq!(
            (&version["runtime"], &version["node"]),
            (&"rustc 1.95.0".into(), &"rustc 1.95.0".into())
        );
    }
}
