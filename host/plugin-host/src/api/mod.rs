//! The versions of the plugin API this host speaks, each behind the same two traits.
//!
//! A new version of `wit/` gets a module here; the rest of the crate does not learn of it.

mod sanitize;
pub(crate) mod v0_1;

use async_trait::async_trait;
use qm_kernel::engine::*;
use wasmtime::Store;
use wasmtime::component::{InstancePre, Linker};

use crate::state::State;

/// Package of the plugin API, as it stands in the names of interfaces.
pub(crate) const PACKAGE: &str = "quartermaster:plugin/";
/// The oldest and the newest version this host speaks.
pub(crate) const SPOKEN: (Version, Version) =
    (Version { major: 0, minor: 1 }, Version { major: 0, minor: 1 });

/// A version of the plugin API. Patches are compatible both ways and so don't count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Version {
    pub(crate) major: u32,
    pub(crate) minor: u32,
}

impl Version {
    /// Reads `0.1.7` (or `0.1`).
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('.').map(|part| part.parse().ok());
        Some(Self {
            major: parts.next()??,
            minor: parts.next()??,
        })
    }
}

impl std::fmt::Display for Version {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// What a plugin says of itself, before anybody checked it.
#[derive(Debug)]
pub(crate) struct Descriptor {
    pub(crate) id: String,
    pub(crate) label: String,
    pub(crate) version: String,
    pub(crate) config_schema: String,
    pub(crate) capabilities: Vec<String>,
}

/// The outer result is the instance's: an error is a trap and the instance is lost. The inner one is the plugin's word.
pub(crate) type Answer<T> = wasmtime::Result<Result<T, EngineError>>;

/// A compiled component of the role `engine`.
#[async_trait]
pub(crate) trait EngineCode: Send + Sync {
    /// Runs `describe` in an instance of its own.
    async fn describe(&self, store: Store<State>) -> wasmtime::Result<Descriptor>;
    /// Makes an instance in `store` and opens a session in it.
    async fn open(&self, store: Store<State>, config: &str) -> Answer<Box<dyn Session>>;
}

/// A live session in an instance of its own. After an outer error, or when a call's future was dropped, it is dead.
#[async_trait]
pub(crate) trait Session: Send {
    fn state(&mut self) -> &mut State;
    async fn health(&mut self) -> Answer<Health>;
    async fn poll(&mut self, cursor: Option<u64>, attention: Attention) -> Answer<Delta>;
    async fn get(&mut self, hash: String) -> Answer<Option<Torrent>>;
    async fn files(&mut self, hash: String) -> Answer<Vec<File>>;
    async fn peers(&mut self, hash: String) -> Answer<Vec<Peer>>;
    async fn trackers(&mut self, hash: String) -> Answer<Vec<Tracker>>;
    async fn add(&mut self, request: AddRequest) -> Answer<()>;
    async fn run(&mut self, hashes: Vec<String>, command: Command) -> Answer<Vec<Outcome>>;
    /// A command this host does not know itself, for the contract tests.
    async fn run_other(&mut self, hashes: Vec<String>, name: &str, arguments: &str) -> Answer<Vec<Outcome>>;
    async fn session_stats(&mut self) -> Answer<SessionStats>;
    async fn all_time(&mut self) -> Answer<Option<Transfer>>;
    async fn rate_limits(&mut self) -> Answer<RateLimits>;
    async fn set_rate_limits(&mut self, limits: RateLimits) -> Answer<()>;
    /// Runs the plugin's own destructor.
    async fn close(&mut self) -> wasmtime::Result<()>;
}

/// Offers the imports of every version. Interfaces are added, not worlds: worlds share interfaces.
pub(crate) fn add_to_linker(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    v0_1::add_to_linker(linker)
}

/// Wraps a component that exports the role `engine` in `version`; the caller has checked that it is spoken.
pub(crate) fn engine_code(
    version: Version,
    pre: InstancePre<State>,
) -> wasmtime::Result<Box<dyn EngineCode>> {
    match version {
        Version { major: 0, minor: 1 } => Ok(Box::new(v0_1::Code::new(pre)?)),
        other => Err(wasmtime::Error::msg(format!("plugin API {other} has no adapter"))),
    }
}
