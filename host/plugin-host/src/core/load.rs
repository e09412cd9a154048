//! From a file to code that may be used: read whole, its outside checked, compiled or taken from the cache, tried once.
//!
//! Bounds: 32 MiB a file; one compilation at a time, and one more that an administrator asked for; the trial has no
//! grants and 5 s.

use std::any::Any;
use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use qm_net::Grants;
use qm_plugin_guest::services::Rights;
use qm_plugin_guest::voice::{Secrets, one_line};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use tokio::sync::Semaphore;
use wasmtime::component::Component;

use crate::core::blocking::FILES;
use crate::core::cache::CodeCache;
use crate::core::call::{End, Witness, drive};
use crate::core::certificate::with_certificate;
use crate::core::compile::{Compiler, Failure};
use crate::core::role::{About, Code, Descriptor, NAMESPACE, Role, Roles, Version, spoken};
use crate::core::runtime::{Runtime, Tenant};
use crate::core::status::PluginState;
use crate::core::surface::Surface;

/// The most of a wasmtime error that is shown.
const REASON: usize = 600;

/// Facts about a file before anything in it runs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Facts {
    pub(crate) sha256: Option<String>,
    pub(crate) size: u64,
    pub(crate) role: Option<String>,
    pub(crate) api_version: Option<String>,
    pub(crate) imports: Vec<String>,
    pub(crate) exports: Vec<String>,
}

/// A plugin that passed every check.
pub struct Loaded {
    pub(crate) facts: Facts,
    /// Built together with the server, by the hash of its bytes.
    pub(crate) first_party: bool,
    pub(crate) role: &'static dyn Role,
    pub about: About,
    pub(crate) code: Arc<dyn Code>,
}

impl Loaded {
    /// Tells whether it is a plugin of the role of this name.
    pub(crate) fn is_of(&self, role: &str) -> bool {
        self.facts.role.as_deref() == Some(role)
    }

    /// Tells whether it asks for something that somebody has to grant: the server does so for those built together with it.
    pub(crate) fn needs_grants(&self) -> bool {
        let asks = !self.about.hosts.is_empty() || !self.about.asks.is_empty();
        asks && !self.first_party
    }

    /// The code as its role knows it; none when it is of another role.
    pub fn code_as<T: Code>(&self) -> Option<&T> {
        (&*self.code as &dyn Any).downcast_ref()
    }
}

/// Why a file is not used, with what is known of it.
#[derive(Clone, Debug)]
pub(crate) struct Refusal {
    pub(crate) facts: Facts,
    /// The id it claims, when that is known.
    pub(crate) id: Option<String>,
    pub(crate) state: PluginState,
    pub(crate) reason: String,
}

/// SHA-256 of the files that were built together with the server, lower-case hex.
pub(crate) type FirstParty = Arc<HashSet<String>>;

/// The effort that a load may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effort {
    /// A file that has to be compiled first is refused as [`PluginState::Compiling`].
    Quick,
    /// It is compiled, unless it is known not to.
    Full,
    /// An administrator asked: also what did not compile before, and without waiting for others.
    Asked,
}

/// Loads files. One a host.
pub(crate) struct Loader {
    pub(crate) runtime: Arc<Runtime>,
    pub(crate) cache: Arc<CodeCache>,
    compiler: Compiler,
    /// Two queues, so that nobody who asks waits for a directory full of files that compile slowly.
    compiling: Semaphore,
    asked: Semaphore,
    roles: Roles,
    first_party: FirstParty,
}

impl Loader {
    pub(crate) fn new(
        runtime: Arc<Runtime>,
        cache: CodeCache,
        compiler: Compiler,
        roles: Roles,
        first_party: FirstParty,
    ) -> Self {
        Self {
            runtime,
            cache: Arc::new(cache),
            compiler,
            compiling: Semaphore::new(1),
            asked: Semaphore::new(1),
            roles,
            first_party,
        }
    }

    /// Reads and tries the file at `path`.
    pub(crate) async fn load(&self, path: PathBuf, effort: Effort) -> Result<Loaded, Refusal> {
        let mut facts = Facts::default();
        match self.steps(path, effort, &mut facts).await {
            Ok((role, about, code)) => Ok(Loaded {
                first_party: self.is_first_party(&facts),
                facts,
                role,
                about,
                code,
            }),
            Err((state, reason)) => Err(Refusal {
                facts,
                id: None,
                state,
                reason,
            }),
        }
    }

    fn is_first_party(&self, facts: &Facts) -> bool {
        let sha256 = facts.sha256.as_ref();
        sha256.is_some_and(|sha256| self.first_party.contains(sha256))
    }

    async fn steps(
        &self,
        path: PathBuf,
        effort: Effort,
        facts: &mut Facts,
    ) -> Result<(&'static dyn Role, About, Arc<dyn Code>), (PluginState, String)> {
        let failed = |reason: String| (PluginState::Failed, reason);
        let max = self.runtime.limits.file_bytes;
        let (bytes, sha256, surface) = off_thread(move || {
            let (bytes, sha256) = read(&path, max)?;
            let surface = is_component(&bytes).and_then(|()| Surface::read(&bytes));
            Ok((bytes, sha256, surface))
        })
        .await
        .map_err(failed)?;
        facts.size = bytes.len() as u64;
        facts.sha256 = Some(sha256.clone());
        let surface = surface.map_err(failed)?;
        facts.imports.clone_from(&surface.imports);
        facts.exports.clone_from(&surface.exports);
        let (role, version) = role_of(facts, self.roles)?;
        surface.offered(self.roles).map_err(failed)?;
        let component = match self.kept(&sha256).await.map_err(failed)? {
            Some(component) => component,
            None => self.compile(bytes, &sha256, effort).await?,
        };
        let code = self.prepare(role, version, &component).map_err(failed)?;
        let first_party = self.is_first_party(facts);
        let about = self.try_out(role, &*code, first_party).await.map_err(failed)?;
        Ok((role, about, code))
    }

    /// The code that was compiled before.
    async fn kept(&self, sha256: &str) -> Result<Option<Component>, String> {
        let (runtime, cache) = (self.runtime.clone(), self.cache.clone());
        let key = sha256.to_owned();
        off_thread(move || Ok(cache.load(&runtime.engine, &key))).await
    }

    async fn compile(
        &self,
        bytes: Vec<u8>,
        sha256: &str,
        effort: Effort,
    ) -> Result<Component, (PluginState, String)> {
        let failed = |reason: String| (PluginState::Failed, reason);
        if effort != Effort::Asked
            && let Some(reason) = self.cache.refused(sha256)
        {
            return Err(failed(format!(
                "{reason} (known from before; a reload tries it again)"
            )));
        }
        let turns = match effort {
            Effort::Quick => {
                return Err((
                    PluginState::Compiling,
                    "it is being compiled, or waits for its turn".to_owned(),
                ));
            }
            Effort::Full => &self.compiling,
            Effort::Asked => &self.asked,
        };
        let _turn = turns
            .acquire()
            .await
            .map_err(|_| failed("the server is shutting down".to_owned()))?;
        let room = self
            .cache
            .room()
            .map_err(|error| failed(format!("there is no place for its machine code: {error}")))?;
        let Runtime { engine, limits, .. } = &*self.runtime;
        match self.compiler.compile(engine, bytes, room.path(), limits).await {
            Ok(()) => {}
            Err(Failure::Passing(reason)) => return Err(failed(reason)),
            Err(Failure::Lasting(reason)) => {
                self.cache.refuse(sha256, &reason);
                return Err(failed(reason));
            }
        }
        let (runtime, cache, key) = (self.runtime.clone(), self.cache.clone(), sha256.to_owned());
        off_thread(move || cache.take(&runtime.engine, &key, room))
            .await
            .map_err(failed)
    }

    fn prepare(
        &self,
        role: &dyn Role,
        version: Version,
        component: &Component,
    ) -> Result<Arc<dyn Code>, String> {
        let pre = self
            .runtime
            .linker
            .instantiate_pre(component)
            .map_err(|error| reason(&error))?;
        role.prepare(version, pre).map_err(|error| reason(&error))
    }

    /// Makes an instance without any grant and lets it describe itself.
    async fn try_out(&self, role: &dyn Role, code: &dyn Code, first_party: bool) -> Result<About, String> {
        let store = self.runtime.store(Tenant {
            plugin: "trial",
            owner: "",
            lane: "describe",
            first_party,
            grants: Grants::none(),
            rights: Rights::default(),
            secrets: Secrets::default(),
            log_dropped: Arc::default(),
            refusals: Arc::default(),
            memory: Arc::default(),
        });
        let witness = Witness::new(store.data());
        let bounds = store.data().bounds();
        let end = drive(
            &self.runtime,
            bounds,
            self.runtime.limits.trial,
            code.describe(store),
        )
        .await;
        let why = match end {
            End::Well(said) => return about_of(said, role),
            End::Silent(_) | End::TooLong(_) => "`describe` took longer than it may".to_owned(),
            End::Trapped(trap) => {
                witness.account().ended_badly();
                witness.traces().cause(&trap, &self.runtime.limits)
            }
            End::Panicked(why) => format!("a function of the host failed: {why}"),
        };
        Err(format!("it cannot be run: {why}"))
    }
}

/// Runs `work` on a thread that may block.
async fn off_thread<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> Result<T, String> {
    FILES
        .run_for(None, move |_| work())
        .await
        .unwrap_or_else(|error| Err(format!("loading it failed: {error}")))
}

/// The whole file and its SHA-256.
fn read(path: &Path, max: u64) -> Result<(Vec<u8>, String), String> {
    let failed = |error: io::Error| format!("it cannot be read: {error}");
    // Asked before it is opened: opening a pipe would wait for a writer.
    if !std::fs::metadata(path).map_err(failed)?.is_file() {
        return Err("it is not a file".to_owned());
    }
    let mut bytes = Vec::new();
    File::open(path)
        .map_err(failed)?
        .take(max + 1)
        .read_to_end(&mut bytes)
        .map_err(failed)?;
    if bytes.len() as u64 > max {
        return Err(format!("it is larger than {} MiB", max >> 20));
    }
    let sha256 = hex::encode(Sha256::digest(&bytes));
    Ok((bytes, sha256))
}

/// Looks at the eight bytes that tell components from modules; the compiler's own words would not help an operator.
fn is_component(bytes: &[u8]) -> Result<(), String> {
    match bytes.get(..8) {
        Some([0, b'a', b's', b'm', _, _, 1, 0]) => Ok(()),
        Some([0, b'a', b's', b'm', ..]) => {
            Err("it is a core module, not a component: encode it as a component first".to_owned())
        }
        _ => Err("it is no WebAssembly".to_owned()),
    }
}

/// The role that is exported, and the version of the plugin API it was written against.
fn role_of(facts: &mut Facts, known: Roles) -> Result<(&'static dyn Role, Version), (PluginState, String)> {
    let failed = |reason: String| Err((PluginState::Failed, reason));
    let mut roles = facts
        .exports
        .iter()
        .filter_map(|export| export.strip_prefix(NAMESPACE)?.split_once('@'));
    let Some((interface, text)) = roles.next() else {
        return failed(format!(
            "it exports no role (an interface of {NAMESPACE}…), so it is no plugin"
        ));
    };
    if let Some((second, _)) = roles.next() {
        return failed(format!(
            "it exports two roles, `{interface}` and `{second}`: a plugin has exactly one"
        ));
    }
    let (interface, text) = (interface.to_owned(), text.to_owned());
    facts.api_version = Some(text.clone());
    let Some(role) = known.iter().find(|role| role.interface() == interface) else {
        let names: Vec<_> = known.iter().map(|role| role.name()).collect();
        return failed(format!(
            "this host has no use for the role `{interface}`, it knows: {}",
            names.join(", ")
        ));
    };
    facts.role = Some(role.name().to_owned());
    let (oldest, newest) = role.spoken();
    match Version::parse(&text) {
        Some(version) if version >= oldest && version <= newest => Ok((*role, version)),
        wanted => {
            let wanted = wanted.map_or(text, |version| version.to_string());
            Err((
                PluginState::Incompatible,
                format!(
                    "needs plugin API {wanted} of the role `{}`, this host speaks {}",
                    role.name(),
                    spoken(*role)
                ),
            ))
        }
    }
}

/// Checks what a plugin says of itself.
fn about_of(said: Descriptor, role: &dyn Role) -> Result<About, String> {
    let word = |text: &str, max: usize| {
        !text.is_empty()
            && text.len() <= max
            && text
                .bytes()
                .all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'_'))
    };
    let line = |text: &str, max: usize| {
        !text.trim().is_empty() && text.chars().count() <= max && !text.chars().any(char::is_control)
    };
    if !word(&said.id, 64) {
        return Err("its id must be 1 to 64 lower-case letters, digits and `_`".to_owned());
    }
    if !line(&said.label, 80) {
        return Err("its label must be one line of 1 to 80 characters".to_owned());
    }
    if !line(&said.version, 40) {
        return Err("its version must be one line of 1 to 40 characters".to_owned());
    }
    if said.capabilities.len() > 64 || !said.capabilities.iter().all(|capability| line(capability, 64)) {
        return Err("its capabilities must be at most 64 words of at most 64 characters".to_owned());
    }
    role.vet(&said)?;
    let grantable = |word: &&String| role.grantable().contains(&word.as_str());
    let mut asks: Vec<_> = said.capabilities.iter().filter(grantable).cloned().collect();
    asks.sort_unstable();
    asks.dedup();
    Ok(About {
        asks,
        config_schema: schema_of(&said.config_schema)?,
        hosts: hosts_of(said.hosts, role)?,
        traits: said.traits,
        id: said.id,
        label: said.label,
        version: said.version,
        capabilities: said.capabilities,
    })
}

/// The origins a plugin asks for, in their one form.
fn hosts_of(said: Vec<String>, role: &dyn Role) -> Result<Vec<String>, String> {
    const MAX: usize = 32;
    if said.is_empty() {
        return Ok(said);
    }
    if !role.has_own_hosts() {
        return Err(format!(
            "it asks for hosts of its own, which the role `{}` has none of: it reaches what its configuration names",
            role.name()
        ));
    }
    if said.len() > MAX {
        return Err(format!("it asks for more than {MAX} hosts"));
    }
    let mut hosts = said
        .iter()
        .map(|text| Grants::origin(text))
        .collect::<Result<Vec<_>, _>>()?;
    hosts.sort_unstable();
    hosts.dedup();
    Ok(hosts)
}

fn schema_of(text: &str) -> Result<Value, String> {
    const MAX: usize = 64 << 10;
    if text.len() > MAX {
        return Err("the schema of its configuration is larger than 64 KiB".to_owned());
    }
    let schema: Value = serde_json::from_str(text)
        .map_err(|error| format!("the schema of its configuration is no JSON: {error}"))?;
    if schema.get("type").and_then(Value::as_str) != Some("object") {
        return Err(
            "the schema of its configuration must be one of an object (\"type\": \"object\")".to_owned(),
        );
    }
    Grants::from_config(&schema, &Map::new())?;
    Ok(with_certificate(schema))
}

/// The message of a wasmtime error with its causes, on one line.
pub(crate) fn reason(error: &wasmtime::Error) -> String {
    one_line(&format!("{error:#}"), REASON)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::test_role::{ENGINE, ROLES};

    fn descriptor() -> Descriptor {
        Descriptor {
            id: "my_engine2".into(),
            label: "My engine".into(),
            version: "1.0.0".into(),
            config_schema: r#"{"type":"object"}"#.into(),
            capabilities: vec![],
            hosts: vec![],
            traits: Map::new(),
        }
    }

    #[test]
    fn descriptors_are_checked() {
        assert!(about_of(descriptor(), &ENGINE).is_ok());
        let refused: [(fn(&mut Descriptor), &str); 11] = [
            (|d| d.id = String::new(), "id"),
            (|d| d.id = "Has-Dash".into(), "id"),
            (|d| d.id = "a".repeat(65), "id"),
            (|d| d.label = "two\nlines".into(), "label"),
            (|d| d.label = "x".repeat(81), "label"),
            (|d| d.version = " ".into(), "version"),
            (|d| d.capabilities = vec!["x".into(); 65], "capabilities"),
            (|d| d.hosts = vec!["https://api.example.org".into()], "hosts"),
            (|d| d.config_schema = "{".into(), "schema"),
            (|d| d.config_schema = r#"{"type":"array"}"#.into(), "schema"),
            (
                |d| d.config_schema = r#"{"type":"object","properties":{"u":{"x-grant":"anything"}}}"#.into(),
                "x-grant",
            ),
        ];
        for (change, about) in refused {
            let mut descriptor = descriptor();
            change(&mut descriptor);
            let error = about_of(descriptor, &ENGINE).unwrap_err();
            assert!(error.contains(about), "{error}");
        }
    }

    #[test]
    fn roles_and_versions_are_read_off_the_exports() {
        let of = |exports: &[&str]| {
            let mut facts = Facts {
                exports: exports.iter().map(|&e| e.to_owned()).collect(),
                ..Facts::default()
            };
            role_of(&mut facts, ROLES)
                .map(|(role, version)| (role.name(), version))
                .map_err(|(state, reason)| format!("{state:?}: {reason}"))
        };
        assert_eq!(
            of(&["quartermaster:engine/engine@0.1.7"]),
            Ok(("engine", Version { major: 0, minor: 1 }))
        );
        for (exports, says) in [
            (
                &["quartermaster:engine/engine@0.9.0"][..],
                "Incompatible: needs plugin API 0.9 of the role `engine`, this host speaks 0.1",
            ),
            (
                &["quartermaster:channel/channel@2.0.0"],
                "Incompatible: needs plugin API 2.0 of the role `channel`, this host speaks 0.1",
            ),
            (
                &["quartermaster:oracle/oracle@0.1.0"],
                "Failed: this host has no use for the role `oracle/oracle`",
            ),
            (&["wasi:cli/run@0.2.0"], "Failed: it exports no role"),
            (
                &["quartermaster:a/a@0.1.0", "quartermaster:b/b@0.1.0"],
                "Failed: it exports two roles",
            ),
        ] {
            let error = of(exports).unwrap_err();
            assert!(error.starts_with(says), "{error}");
        }
    }

    #[test]
    fn files_that_are_no_components_are_told_apart() {
        assert!(is_component(b"\0asm\x0d\0\x01\0").is_ok());
        assert!(
            is_component(b"\0asm\x01\0\0\0")
                .unwrap_err()
                .contains("core module")
        );
        assert!(is_component(b"hello").unwrap_err().contains("no WebAssembly"));
    }

    #[test]
    fn only_plain_files_of_a_bounded_size_are_read() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("a.wasm");
        std::fs::write(&file, [0; 11]).unwrap();
        assert!(read(&file, 10).unwrap_err().contains("larger"));
        assert_eq!(read(&file, 11).unwrap().0.len(), 11);
        assert!(read(home.path(), 10).unwrap_err().contains("not a file"));
        assert!(
            read(&home.path().join("none"), 10)
                .unwrap_err()
                .contains("cannot be read")
        );
    }
}
