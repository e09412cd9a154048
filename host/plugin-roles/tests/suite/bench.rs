//! A plugin host over a directory of its own, with limits small enough to reach.

use std::collections::HashSet;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use qm_kernel::Ctx;
use qm_net::{Net, NetConfig, Resolver, SystemResolver};
use qm_plugin_host::{
    Compiler, LaneStatus, Limits, PinsInMemory, PluginHostConfig, PluginStatus, ValuesInMemory,
};
use qm_plugin_roles::Plugins;
use qm_ports::engine::{EngineConfig, EngineDriver, EngineError};
use serde_json::Value;
use tempfile::TempDir;

/// Time that a test waits for what must happen.
const PATIENCE: Duration = Duration::from_mins(2);

pub struct Bench {
    pub host: Arc<Plugins>,
    pub pins: Arc<PinsInMemory>,
    pub values: Arc<ValuesInMemory>,
    home: TempDir,
}

/// Small, so that they are reached soon; strikes are many, so that only the tests about parking meet it.
pub fn limits() -> Limits {
    Limits {
        memory_bytes: 32 << 20,
        cpu: Duration::from_millis(300),
        silence: Duration::from_millis(800),
        poll_total: Duration::from_secs(4),
        call_total: Duration::from_secs(4),
        ..Limits::default()
    }
}

/// The same with a limit on computing alone: on a busy machine a loop is silent for long before it has computed for as long.
pub fn patient() -> Limits {
    Limits {
        silence: Duration::from_mins(1),
        poll_total: Duration::from_mins(1),
        call_total: Duration::from_mins(1),
        ..limits()
    }
}

/// A fixture's bytes.
pub fn fixture(name: &str) -> Vec<u8> {
    built("QM_FIXTURES_DIR", "plugins-fixtures", name)
}

/// The bytes of a plugin that is built together with the server.
pub fn first_party(name: &str) -> Vec<u8> {
    built("QM_PLUGINS_DIR", "plugins", name)
}

fn built(variable: &str, folder: &str, name: &str) -> Vec<u8> {
    let default = || {
        let home = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
        home.join(".cache/quartermaster").join(folder)
    };
    let dir = std::env::var_os(variable).map_or_else(default, PathBuf::from);
    let path = dir.join(name);
    std::fs::read(&path).unwrap_or_else(|error| {
        panic!(
            "{}: {error}; run `cargo xtask plugins` to build it",
            path.display()
        )
    })
}

impl Bench {
    /// A host with these fixtures installed, file name and fixture name.
    pub async fn start(files: &[(&str, &str)]) -> Self {
        Self::with(files, limits()).await
    }

    pub async fn with(files: &[(&str, &str)], limits: Limits) -> Self {
        let files: Vec<_> = files.iter().map(|(file, name)| (*file, fixture(name))).collect();
        let bench = Self::at_once(&files, limits, Compiler::InProcess).await;
        bench.host.settled().await;
        bench
    }

    /// A host with these files installed, whatever they are, that may still be compiling them.
    pub async fn at_once(files: &[(&str, Vec<u8>)], limits: Limits, compiler: Compiler) -> Self {
        Self::relaying(files, limits, compiler, Vec::new()).await
    }

    /// The same, with plugins' own hosts asked for elsewhere.
    pub async fn relaying(
        files: &[(&str, Vec<u8>)],
        limits: Limits,
        compiler: Compiler,
        relays: Vec<String>,
    ) -> Self {
        let home = tempfile::tempdir().unwrap();
        std::fs::create_dir(home.path().join("plugins")).unwrap();
        for (file, bytes) in files {
            std::fs::write(home.path().join("plugins").join(file), bytes).unwrap();
        }
        let pins = Arc::<PinsInMemory>::default();
        let values = Arc::<ValuesInMemory>::default();
        let kept = (pins.clone(), values.clone());
        let net = config_of_net(relays);
        let host = start(home.path(), limits, compiler, kept, (HashSet::new(), net)).await;
        Self {
            host,
            pins,
            values,
            home,
        }
    }

    pub fn dir(&self) -> PathBuf {
        self.home.path().join("plugins")
    }

    pub fn cache(&self) -> PathBuf {
        self.home.path().join("cache")
    }

    /// A second host over the same directories, as after a restart.
    pub async fn again(&self) -> Arc<Plugins> {
        let host = self.again_with(limits(), Compiler::InProcess).await;
        host.settled().await;
        host
    }

    /// The same, as it is right after its start.
    pub async fn again_with(&self, limits: Limits, compiler: Compiler) -> Arc<Plugins> {
        start(
            self.home.path(),
            limits,
            compiler,
            (self.pins.clone(), self.values.clone()),
            (HashSet::new(), config_of_net(Vec::new())),
        )
        .await
    }

    /// A second host, together with which the files that are in use now were built.
    pub async fn again_built_together(&self) -> Arc<Plugins> {
        let hashes = self.host.list().into_iter().filter_map(|plugin| plugin.sha256);
        let kept = (self.pins.clone(), self.values.clone());
        let host = start(
            self.home.path(),
            limits(),
            Compiler::InProcess,
            kept,
            (hashes.collect(), config_of_net(Vec::new())),
        )
        .await;
        host.settled().await;
        host
    }

    /// Puts a file in place in one step.
    pub fn install(&self, file: &str, bytes: &[u8]) {
        let temporary = self.home.path().join("new");
        std::fs::write(&temporary, bytes).unwrap();
        std::fs::rename(temporary, self.dir().join(file)).unwrap();
    }

    /// An engine of the kind `misbehave`.
    pub async fn engine(&self, id: &str, config: Value) -> Arc<dyn EngineDriver> {
        self.open(id, "misbehave", config).await.unwrap()
    }

    pub async fn open(
        &self,
        id: &str,
        kind: &str,
        config: Value,
    ) -> Result<Arc<dyn EngineDriver>, EngineError> {
        let Value::Object(config) = config else {
            panic!("a configuration is an object")
        };
        self.open_with(id, kind, config, &[]).await
    }

    /// With the values among it that the host stores encrypted.
    pub async fn open_with(
        &self,
        id: &str,
        kind: &str,
        fields: serde_json::Map<String, Value>,
        secrets: &[&str],
    ) -> Result<Arc<dyn EngineDriver>, EngineError> {
        let secrets = secrets.iter().map(|&text| text.to_owned()).collect();
        let kinds = self.host.engine_kinds();
        kinds.open(id, kind, EngineConfig { fields, secrets }).await
    }

    /// The plugin in this file.
    pub fn status(&self, file: &str) -> PluginStatus {
        let found = self.host.list().into_iter().find(|status| status.file == file);
        found.unwrap_or_else(|| panic!("{file} is not listed"))
    }

    pub fn lane(&self, engine: &str, lane: &str) -> LaneStatus {
        let all = self.host.list().into_iter().flat_map(|status| status.lanes);
        all.into_iter()
            .find(|l| l.owner == engine && l.lane == lane)
            .unwrap_or_else(|| panic!("no lane {lane} of {engine}"))
    }

    /// Waits until the list is as wanted.
    pub async fn until(&self, what: &str, wanted: impl Fn(&[PluginStatus]) -> bool) {
        let started = Instant::now();
        while !wanted(&self.host.list()) {
            assert!(
                started.elapsed() < PATIENCE,
                "{what} did not happen: {:#?}",
                self.host.list()
            );
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

async fn start(
    home: &Path,
    limits: Limits,
    compiler: Compiler,
    (pins, values): (Arc<PinsInMemory>, Arc<ValuesInMemory>),
    (first_party, net): (HashSet<String>, NetConfig),
) -> Arc<Plugins> {
    let config = PluginHostConfig {
        plugins_dir: home.join("plugins"),
        cache_dir: home.join("cache"),
        compiler,
        pins,
        values,
        judge: qm_platform::config_schema::judge_params,
        limits,
        net: Net::with_resolver(net, Arc::new(Names)).unwrap(),
        first_party,
    };
    Plugins::start(config, Ctx::system()).await.unwrap()
}

/// `listed.example` may lead inside, other names may not.
fn config_of_net(plugin_relays: Vec<String>) -> NetConfig {
    NetConfig {
        ssrf_allow_hosts: vec!["listed.example".to_owned()],
        plugin_relays,
    }
}

/// The system's names, and made-up ones that lead to this machine.
struct Names;

#[async_trait]
impl Resolver for Names {
    async fn resolve(&self, host: &str) -> std::io::Result<Vec<IpAddr>> {
        if host.ends_with(".example") {
            return Ok(vec![IpAddr::from([127, 0, 0, 1])]);
        }
        SystemResolver.resolve(host).await
    }
}

/// The text of a plugin's failure.
pub fn plugin_error<T: std::fmt::Debug>(result: Result<T, EngineError>) -> String {
    match result {
        Err(EngineError::Plugin(text)) => text,
        other => panic!("not a failure of the plugin: {other:?}"),
    }
}

/// Text that a fixture answers as `other("…", text)`.
pub fn protocol_text<T: std::fmt::Debug>(result: Result<T, EngineError>) -> String {
    match result {
        Err(EngineError::Protocol(text)) => text,
        other => panic!("not an answer of the fixture: {other:?}"),
    }
}
