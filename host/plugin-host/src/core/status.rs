//! Status of a plugin, as `GET /api/plugins` and `quartermaster plugin check` show it.

use qm_plugin_guest::refusals::Refusal;
use serde::Serialize;

/// State of a file in the plugins directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PluginState {
    /// In use.
    Active,
    /// It is new and being compiled, or waits for its turn.
    Compiling,
    /// It cannot be used; `reason` says why.
    Failed,
    /// It wants a version of the plugin API that this host does not speak.
    Incompatible,
    /// Another file, loaded before, has the same id.
    Conflicting,
}

/// One file of the plugins directory.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PluginStatus {
    /// The id of its `describe`; the file's name without `.wasm` as long as that is unknown.
    pub id: String,
    /// The product's name.
    pub label: Option<String>,
    /// The plugin's own version.
    pub version: Option<String>,
    /// The role it exports, e.g. `engine`.
    pub kind: Option<String>,
    /// The file's name in the plugins directory.
    pub file: String,
    /// The version of the plugin API it was built against, e.g. `0.1.0`.
    pub api_version: Option<String>,
    /// SHA-256 of the file in use, lower-case hex.
    pub sha256: Option<String>,
    /// Size of the file in use, in bytes.
    pub size: u64,
    pub state: PluginState,
    /// Why it is not active, which of its lanes are parked and why, or what of it another plugin provides.
    pub reason: Option<String>,
    /// Why a newer file of the same name was not taken; the older one goes on working.
    pub pending_error: Option<String>,
    /// Interfaces it imports, with versions.
    pub imports: Vec<String>,
    /// Interfaces it exports, with versions.
    pub exports: Vec<String>,
    pub capabilities: Vec<String>,
    /// Origins it asks to reach beside what is configured.
    pub hosts: Vec<String>,
    /// Capabilities it asks for that have to be granted.
    pub asks: Vec<String>,
    /// True where it was built together with the server.
    pub first_party: bool,
    /// Those of its hosts that are granted.
    pub granted_hosts: Vec<String>,
    /// Those of the capabilities it asks for that are granted.
    pub granted_capabilities: Vec<String>,
    /// The last request of it that was refused.
    pub last_refusal: Option<Refusal>,
    /// Live instances.
    pub instances: u32,
    /// Calls since the host started; so are the next four.
    pub calls: u64,
    /// Calls that ended in a trap, a CPU or a memory limit among them.
    pub traps: u64,
    /// Calls cut off by their deadline.
    pub timeouts: u64,
    /// Instances made to replace one that failed.
    pub restarts: u64,
    /// Log lines dropped as a flood.
    pub log_dropped: u64,
    /// Linear memory of the live instances, in bytes.
    pub memory_bytes: u64,
    /// One entry a lane.
    pub lanes: Vec<LaneStatus>,
}

/// State of a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LaneState {
    /// No instance yet: the first call makes one.
    Idle,
    /// An instance is warm.
    Ready,
    /// A call is under way.
    Running,
    /// It failed and waits before it may try again.
    BackingOff,
    /// It failed too often; a reload of the plugin or a change of its owner revives it.
    Parked,
}

/// One lane: of a configured engine `sync` or `command`, of a channel `send`, of a set of actions `run`.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LaneStatus {
    /// Id of the configured engine it belongs to; empty when it serves all.
    pub owner: String,
    /// Purpose of the lane, e.g. `sync`.
    pub lane: String,
    pub state: LaneState,
    /// The last failure, while it matters.
    pub reason: Option<String>,
    pub calls: u64,
    pub traps: u64,
    pub timeouts: u64,
    pub restarts: u64,
    pub memory_bytes: u64,
}
