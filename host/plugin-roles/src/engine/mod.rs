//! The role `engine`: a plugin drives one kind of torrent client.
//!
//! A configured engine is a `driver` over two lanes. A new version of `wit/engine` gets a module beside `v0_1`; nothing
//! else learns of it.

mod contract;
mod driver;
mod errors;
mod kinds;
mod sanitize;
mod v0_1;
mod v0_2;

use std::sync::Arc;

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use qm_plugin_host::Check;
use qm_plugin_host::role::{
    About, Code, Descriptor, Fault, Loaded, Resident, Role, State, Trial, Version, text_for_plugin,
};
use qm_ports::engine::*;
use serde_json::{Map, Value};
use wasmtime::Store;
use wasmtime::component::{InstancePre, Linker};

pub(crate) use kinds::Engines;

/// The name of the role in the API.
pub(crate) const NAME: &str = "engine";

/// The role.
pub(crate) struct EngineRole;

impl Role for EngineRole {
    fn name(&self) -> &'static str {
        NAME
    }

    fn interface(&self) -> &'static str {
        "engine/engine"
    }

    fn spoken(&self) -> (Version, Version) {
        (Version { major: 0, minor: 1 }, Version { major: 0, minor: 2 })
    }

    fn has_own_hosts(&self) -> bool {
        false
    }

    fn offers(&self) -> &'static [&'static str] {
        &[
            "quartermaster:engine/records@0.1",
            "quartermaster:engine/records@0.2",
        ]
    }

    fn add_to_linker(&self, linker: &mut Linker<State>) -> wasmtime::Result<()> {
        v0_1::add_to_linker(linker)?;
        v0_2::add_to_linker(linker)
    }

    fn prepare(&self, version: Version, pre: InstancePre<State>) -> wasmtime::Result<Arc<dyn Code>> {
        let code: Box<dyn EngineCode> = match version {
            Version { major: 0, minor: 1 } => Box::new(v0_1::Code::new(pre)?),
            Version { major: 0, minor: 2 } => Box::new(v0_2::Code::new(pre)?),
            other => return Err(wasmtime::Error::msg(format!("engine API {other} has no adapter"))),
        };
        Ok(Arc::new(Component(code)))
    }

    fn contract(&self, trial: Trial) -> BoxFuture<'static, Vec<Check>> {
        Box::pin(contract::run(trial))
    }
}

/// A compiled component of this role, whatever its version.
pub(crate) struct Component(Box<dyn EngineCode>);

#[async_trait]
impl Code for Component {
    async fn describe(&self, store: Store<State>) -> wasmtime::Result<Descriptor> {
        self.0.describe(store).await
    }
}

pub(crate) type Answer<T> = qm_plugin_host::role::Answer<T, EngineError>;

/// Calls that the adapter of each version implements.
#[async_trait]
trait EngineCode: Send + Sync {
    /// Runs `describe` in an instance of its own.
    async fn describe(&self, store: Store<State>) -> wasmtime::Result<Descriptor>;
    /// Makes an instance in `store` and opens a session in it.
    async fn open(&self, store: Store<State>, config: &str) -> Answer<Box<Session>>;
}

/// A live session in an instance of its own, of any version.
pub(crate) type Session = dyn Calls<Error = EngineError>;

/// Calls of a session.
#[async_trait]
pub(crate) trait Calls: Resident<Error = EngineError> {
    async fn health(&mut self) -> Answer<Health>;
    async fn poll(&mut self, cursor: Option<u64>, attention: Attention, fresh: Vec<String>) -> Answer<Delta>;
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
    async fn rate_limits(&mut self, mode: RateMode) -> Answer<RateLimits>;
    async fn set_rate_limits(&mut self, mode: RateMode, limits: RateLimits) -> Answer<()>;
    /// Questions that versions from 0.2 on know beside.
    async fn ask_more(&mut self, question: More) -> Answer<MoreAnswer>;
}

/// Questions about more than the list and its torrents, which not every version of the API has.
#[derive(Debug)]
pub(crate) enum More {
    Export(String),
    RateMode,
    SetRateMode(RateMode),
    Categories,
    CreateCategory(Category),
    EditCategory(Category),
    RemoveCategories(Vec<String>),
    Tags,
    CreateTags(Vec<String>),
    DeleteTags(Vec<String>),
    PreferencesSchema,
    Preferences,
    SetPreferences(Map<String, Value>),
    BannedPeers,
    SetBannedPeers(Vec<String>),
}

/// Answer to a [`More`], of the shape that its question has.
#[derive(Debug)]
pub(crate) enum MoreAnswer {
    Done,
    Bytes(Vec<u8>),
    RateMode(RateMode),
    Categories(Vec<Category>),
    Texts(Vec<String>),
    /// A JSON object.
    Object(Map<String, Value>),
}

/// Opens a session with `config` in an instance of `code`.
pub(crate) fn open(
    code: Arc<Loaded>,
    store: Store<State>,
    config: Arc<Map<String, Value>>,
) -> BoxFuture<'static, Answer<Box<Session>>> {
    Box::pin(async move {
        let Some(component) = code.code_as::<Component>() else {
            return Ok(Err(EngineError::InvalidConfig(format!(
                "the plugin `{}` no longer drives a torrent client",
                code.about.id
            ))));
        };
        let config = text_for_plugin(&code.about.config_schema, &config);
        component.0.open(store, &config).await
    })
}

/// The fault of a call in the words of the port.
fn failed(fault: Fault) -> EngineError {
    match fault {
        Fault::Busy => EngineError::Busy,
        Fault::Closed => EngineError::Unreachable("the engine was closed".to_owned()),
        Fault::Missing(why) | Fault::InvalidConfig(why) => EngineError::InvalidConfig(why),
        Fault::TimedOut(why) => EngineError::Timeout(why),
        Fault::Failed(why) => EngineError::Plugin(why),
    }
}

/// A kind of engine as its plugin describes it.
pub(crate) fn kind_of(about: About) -> EngineKind {
    EngineKind {
        id: about.id,
        label: about.label,
        version: about.version,
        config_schema: about.config_schema,
        capabilities: about.capabilities,
    }
}
