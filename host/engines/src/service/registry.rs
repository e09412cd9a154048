//! The loaded engines: one driver and one sync loop for every enabled row whose kind somebody provides.
//!
//! A reload touches only what changed: an engine whose row reads as before keeps its driver, its login and its snapshot.
//! It runs at start, after each change of an engine, and when the set of installed kinds changes.
//!
//! An engine that was deleted is gone from what is loaded before its deletion is answered; its loop and its driver end
//! meanwhile, and nobody waits for them but a shutdown.
//! Bounds: one reload at a time; no connection is opened by it.

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use arc_swap::ArcSwap;
use qm_kernel::Timestamp;
use qm_platform::{Background, Cipher, origins};
use qm_ports::Settling;
use qm_ports::engine::{EngineDriver, EngineError, EngineKinds};
use serde_json::{Map, Value};
use tokio::sync::Mutex;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::Engines;
use crate::dto::engines::{EngineState, Standing};
use crate::error::TorrentsError;
use crate::model::engine::{driver_config, missing_provider, timeout_ms};
use crate::model::intake::Intakes;
use crate::model::mappings::{PathMapping, PathMappings};
use crate::model::stored::EngineRow;
use crate::repo;
use crate::sync::engine::{Engine, Loading};
use crate::sync::mapped::MappedDriver;
use crate::sync::{SyncDeps, SyncLoop};

/// Name of the sync loops in metrics and logs.
const LOOP: &str = "torrent_sync";

/// The loaded engines in the order of their rows.
#[derive(Clone, Default)]
struct Loaded {
    engines: Vec<Arc<Engine>>,
    /// The other rows.
    idle: Vec<Idle>,
    /// The enabled row that is the default, whether or not it could be loaded.
    default_id: Option<String>,
}

/// An engine that is not loaded.
#[derive(Clone)]
struct Idle {
    id: String,
    kind: String,
    standing: Standing,
}

/// A running loop.
struct Running {
    engine: Arc<Engine>,
    stop: CancellationToken,
    task: JoinHandle<()>,
}

pub struct Registry {
    kinds: Arc<dyn EngineKinds>,
    cipher: Cipher,
    sync: SyncDeps,
    background: Background,
    loaded: ArcSwap<Loaded>,
    running: Mutex<Vec<Running>>,
    /// The ends of engines that were deleted.
    ending: TaskTracker,
    stop: CancellationToken,
}

impl Registry {
    pub fn new(kinds: Arc<dyn EngineKinds>, cipher: Cipher, sync: SyncDeps, background: Background) -> Self {
        background.list(LOOP, crate::sync::INTERVAL);
        Self {
            kinds,
            cipher,
            sync,
            background,
            loaded: ArcSwap::default(),
            running: Mutex::default(),
            ending: TaskTracker::new(),
            stop: CancellationToken::new(),
        }
    }

    pub fn get(&self, id: &str) -> Option<Arc<Engine>> {
        self.loaded
            .load()
            .engines
            .iter()
            .find(|engine| &*engine.id == id)
            .cloned()
    }

    pub fn all(&self) -> Vec<Arc<Engine>> {
        self.loaded.load().engines.clone()
    }

    /// Lets go of an engine that is being deleted: it is polled, stored and shown no more. A reload ends its instance.
    pub fn discard(&self, id: &str) {
        if let Some(engine) = self.get(id) {
            engine.discard();
        }
        self.unload_discarded();
    }

    fn unload_discarded(&self) {
        self.loaded.rcu(|loaded| {
            let mut loaded = Loaded::clone(loaded);
            loaded.engines.retain(|engine| !engine.is_discarded());
            loaded
        });
    }

    /// The standing of the engine of a row.
    pub fn standing(&self, id: &str) -> Standing {
        let loaded = self.loaded.load();
        if let Some(engine) = loaded.engines.iter().find(|engine| &*engine.id == id) {
            return of_loaded(engine);
        }
        let idle = loaded.idle.iter().find(|idle| idle.id == id);
        // A row that was written a moment ago, perhaps by another process.
        idle.map_or(Standing::unknown(None), |idle| idle.standing.clone())
    }

    /// The engine a request means: the given one, else the default, else the first.
    pub fn resolve(&self, id: Option<&str>) -> Result<Arc<Engine>, TorrentsError> {
        let loaded = self.loaded.load();
        match id.filter(|id| !id.is_empty()).or(loaded.default_id.as_deref()) {
            Some(id) => {
                let engine = loaded.engines.iter().find(|engine| &*engine.id == id);
                engine.cloned().ok_or_else(|| {
                    let idle = loaded.idle.iter().find(|idle| idle.id == id);
                    let settling = idle.and_then(|idle| self.settling(idle));
                    settling.map_or_else(|| TorrentsError::EngineUnavailable(id.to_owned()), Into::into)
                })
            }
            None => loaded.engines.first().cloned().ok_or_else(|| self.no_engine()),
        }
    }

    /// The reason why no engine is loaded.
    pub fn no_engine(&self) -> TorrentsError {
        let loaded = self.loaded.load();
        let settling = loaded.idle.iter().find_map(|idle| self.settling(idle));
        settling.map_or(TorrentsError::NoEngine, Into::into)
    }

    /// A notice on an engine that will be loaded once its plugin is in use; `None` if it will not.
    fn settling(&self, idle: &Idle) -> Option<Settling> {
        if idle.standing.state != EngineState::Unsupported {
            return None;
        }
        // Asked first: what settles in between is found.
        let settling = self.kinds.settling(&idle.kind);
        if self.kinds.kind(&idle.kind).is_none() {
            return settling;
        }
        // It came up a moment ago: the reload that follows is under way.
        Some(Settling {
            wanted: format!("the engine {}", idle.id),
            waits: "its plugin has just been compiled, and it is being loaded".to_owned(),
        })
    }

    /// Brings what is loaded in line with the database and the installed kinds.
    pub async fn reload(&self) -> Result<(), TorrentsError> {
        let mut running = self.running.lock().await;
        if self.stop.is_cancelled() {
            return Ok(());
        }
        let mut tx = self.sync.db.begin_read().await?;
        let (rows, disabled): (Vec<EngineRow>, Vec<EngineRow>) = repo::engines::list(&mut tx)
            .await?
            .into_iter()
            .partition(|row| row.is_enabled);
        let mut intakes = HashMap::new();
        for row in &rows {
            intakes.insert(row.id.clone(), repo::intake::load(&mut tx, &row.id).await?);
        }
        let mapped_by = repo::engines::rows_mapped_by(&mut tx).await?;
        drop(tx);
        let mapped: Vec<(String, Vec<PathMapping>)> = rows
            .iter()
            .chain(&disabled)
            .map(|row| (row.id.clone(), row.path_mappings.clone()))
            .collect();
        let mut idle: Vec<Idle> = disabled
            .into_iter()
            .map(|row| self.idle(row.id, row.kind, EngineState::Disabled, None))
            .collect();

        let mut kept = Vec::new();
        let mut stopping = Vec::new();
        for run in running.drain(..) {
            let same = |row: &EngineRow| is_loaded_as(&run.engine, row);
            if run.engine.is_discarded() {
                self.ending.spawn(run.end());
            } else if rows.iter().any(same) && self.kinds.kind(&run.engine.kind).is_some() {
                kept.push(run);
            } else {
                stopping.push(run);
            }
        }
        let mut next = Vec::new();
        for row in &rows {
            if let Some(position) = kept.iter().position(|run| *run.engine.id == row.id) {
                let run = kept.swap_remove(position);
                run.engine.rename(&row.name);
                next.push(Next::Kept(run));
            } else {
                match self.open(row).await {
                    Ok(driver) => {
                        let before = stopping.iter().find(|run| *run.engine.id == row.id);
                        let seq = before.map_or(0, |run| run.engine.seq());
                        let intakes = intakes.remove(&row.id).unwrap_or_default();
                        let engine = self.engine(row, driver, Intakes::new(intakes), seq);
                        next.push(Next::New(engine));
                    }
                    Err(error) => {
                        let reason = Some(error.to_string());
                        idle.push(self.idle(row.id.clone(), row.kind.clone(), error.state(), reason));
                    }
                }
            }
        }
        let engines = next.iter().map(Next::engine).collect();
        let default_id = rows.iter().find(|row| row.is_default).map(|row| row.id.clone());
        self.loaded.store(Arc::new(Loaded {
            engines,
            idle,
            default_id,
        }));
        // One may have been deleted since its row was read.
        self.unload_discarded();
        // The old loop of an engine ends before the new one begins: they would write the same rows.
        for run in stopping {
            run.end().await;
        }
        let unsettled = self.follow_all_mappings(mapped, &mapped_by, &next).await;
        for next in next {
            match next {
                Next::Kept(run) => running.push(run),
                // It is not read before its rows are right: the next reload tries again.
                Next::New(engine) if unsettled.contains_key(&*engine.id) => engine.driver.close().await,
                Next::New(engine) => running.push(self.run(engine)),
            }
        }
        unsettled.into_values().next().map_or(Ok(()), Err)
    }

    /// Has the rows of all engines that are not read now follow their mappings; engines whose rows could not, with the reasons.
    async fn follow_all_mappings(
        &self,
        mapped: Vec<(String, Vec<PathMapping>)>,
        mapped_by: &HashMap<String, Vec<PathMapping>>,
        next: &[Next],
    ) -> HashMap<String, TorrentsError> {
        let mut unsettled = HashMap::new();
        for (id, mappings) in mapped {
            let is_kept = next
                .iter()
                .any(|next| matches!(next, Next::Kept(run) if *run.engine.id == id));
            if let Some(before) = mapped_by.get(&id).filter(|_| !is_kept)
                && let Err(error) = self.follow_mappings(&id, before, &mappings).await
            {
                unsettled.insert(id, error);
            }
        }
        unsettled
    }

    /// Has the paths in the rows of an engine's torrents follow its mappings: the guard of data goes by them while its client is
    /// away. To be called while no loop of the engine writes them.
    async fn follow_mappings(
        &self,
        id: &str,
        before: &[PathMapping],
        mappings: &[PathMapping],
    ) -> Result<(), TorrentsError> {
        if before == mappings {
            return Ok(());
        }
        // Mappings that have no meaning are refused when the engine is opened.
        let (Ok(before), Ok(now)) = (PathMappings::read(before), PathMappings::read(mappings)) else {
            return Ok(());
        };
        let mut tx = self.sync.db.begin_write().await?;
        repo::snapshots::change_paths(&mut tx, id, |path| now.to_local(&before.original(path))).await?;
        repo::engines::set_rows_mapped_by(&mut tx, id, mappings).await?;
        Ok(tx.commit().await?)
    }

    async fn open(&self, row: &EngineRow) -> Result<Arc<dyn EngineDriver>, OpenError> {
        let opened = self.open_driver(&row.id, &row.kind, &row.config, &row.secret_fields);
        let mapped = match PathMappings::read(&row.path_mappings) {
            Ok(mappings) => opened.await.map(|driver| MappedDriver::wrap(driver, mappings)),
            Err(faults) => Err(OpenError::Refused(EngineError::InvalidConfig(faults.join(", ")))),
        };
        mapped.inspect_err(|reason| {
            tracing::warn!(engine.id = row.id, engine.kind = row.kind, %reason, "engine is not loaded");
        })
    }

    /// An engine that is not loaded. Its state began at the instant that the last reload knew, if the state is the
    /// same.
    fn idle(&self, id: String, kind: String, state: EngineState, reason: Option<String>) -> Idle {
        let before = self.loaded.load();
        let before = before.idle.iter().find(|idle| idle.id == id);
        let same = before.filter(|idle| idle.standing.state == state);
        let since = same.and_then(|idle| idle.standing.since);
        let standing = Standing {
            state,
            since: since.or_else(|| Some(self.sync.ctx.now())),
            reason,
        };
        Idle { id, kind, standing }
    }

    /// A driver for a stored configuration; `Err` says why there is none.
    pub async fn open_driver(
        &self,
        id: &str,
        kind: &str,
        stored: &Map<String, Value>,
        secret_fields: &[String],
    ) -> Result<Arc<dyn EngineDriver>, OpenError> {
        if self.kinds.kind(kind).is_none() {
            return Err(OpenError::NoProvider(missing_provider(kind)));
        }
        let mut stored = stored.clone();
        if let Some(complaint) = origins::complaint(&origins::take_wanted(&mut stored)) {
            return Err(OpenError::Refused(EngineError::InvalidConfig(complaint)));
        }
        let clear = self.in_clear(&stored, secret_fields);
        let secrets = secret_fields
            .iter()
            .filter_map(|name| clear.get(name).and_then(Value::as_str))
            .map(str::to_owned)
            .collect();
        let config = driver_config(kind, &clear, secrets);
        self.kinds
            .open(id, kind, config)
            .await
            .map_err(OpenError::Refused)
    }

    /// The stored fields with their secrets readable; one that does not decrypt is absent.
    pub fn in_clear(&self, stored: &Map<String, Value>, secret_fields: &[String]) -> Map<String, Value> {
        let mut config = stored.clone();
        origins::take_wanted(&mut config);
        for name in secret_fields {
            let secret = stored
                .get(name)
                .and_then(Value::as_str)
                .and_then(|text| self.cipher.decrypt(text));
            match secret {
                Some(secret) => config.insert(name.clone(), secret.expose().into()),
                None => config.remove(name),
            };
        }
        config
    }

    fn engine(
        &self,
        row: &EngineRow,
        driver: Arc<dyn EngineDriver>,
        intakes: Intakes,
        seq: u64,
    ) -> Arc<Engine> {
        let timeout = Duration::from_millis(timeout_ms(&row.config));
        let loading = Loading {
            at: self.sync.ctx.now(),
            first_seq: seq,
            config: row.config.clone(),
            path_mappings: row.path_mappings.clone(),
        };
        Engine::new(&row.id, &row.name, &row.kind, driver, timeout, intakes, loading)
    }

    fn run(&self, engine: Arc<Engine>) -> Running {
        let stop = self.stop.child_token();
        let (of, deps) = (engine.clone(), self.sync.clone());
        let work = move |stop| SyncLoop::new(of.clone(), deps.clone(), stop).run();
        let supervised = self.background.clone().supervised(LOOP, stop.clone(), work);
        let task = tokio::spawn(supervised);
        Running { engine, stop, task }
    }

    /// Reloads whenever a kind appears, goes or is replaced, for as long as `engines` lives.
    pub fn follow_kinds(&self, engines: &Arc<Engines>) {
        let engines: Weak<Engines> = Arc::downgrade(engines);
        let (changes, stop) = (self.kinds.generation(), self.stop.clone());
        let mut seen = changes.current();
        tokio::spawn(async move {
            while let Some(now) = stop.run_until_cancelled(changes.changed(seen)).await {
                seen = now;
                let Some(engines) = engines.upgrade() else { break };
                if let Err(error) = engines.registry.reload().await {
                    tracing::error!(%error, "engines were not reloaded after the plugins changed");
                }
            }
        });
    }

    pub async fn shutdown(&self) {
        self.stop.cancel();
        let mut running = self.running.lock().await;
        self.loaded.store(Arc::default());
        for run in running.drain(..) {
            run.end().await;
        }
        self.ending.close();
        self.ending.wait().await;
    }
}

enum Next {
    Kept(Running),
    New(Arc<Engine>),
}

impl Next {
    fn engine(&self) -> Arc<Engine> {
        match self {
            Next::Kept(run) => run.engine.clone(),
            Next::New(engine) => engine.clone(),
        }
    }
}

impl Running {
    async fn end(self) {
        self.stop.cancel();
        if let Err(error) = self.task.await {
            tracing::error!(engine.id = %self.engine.id, %error, "a sync loop ended badly");
        }
        self.engine.driver.close().await;
    }
}

impl Standing {
    const fn unknown(since: Option<Timestamp>) -> Self {
        Self {
            state: EngineState::Unknown,
            since,
            reason: None,
        }
    }
}

/// True if an engine was loaded from this row, or from one that differs only in its name.
pub fn is_loaded_as(engine: &Engine, row: &EngineRow) -> bool {
    let loading = &engine.loading;
    row.id == *engine.id
        && row.kind == engine.kind
        && row.config == loading.config
        && row.path_mappings == loading.path_mappings
}

fn of_loaded(engine: &Engine) -> Standing {
    match engine.status() {
        None => Standing::unknown(Some(engine.loading.at)),
        Some(status) => Standing {
            state: match (status.online, &status.limited) {
                (false, _) => EngineState::Offline,
                (true, Some(_)) => EngineState::Limited,
                (true, None) => EngineState::Online,
            },
            since: Some(status.since),
            reason: status.error.clone().or_else(|| status.limited.clone()),
        },
    }
}

/// The reason why an engine has no driver.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("{0}")]
    NoProvider(String),
    #[error("The engine {0}")]
    Refused(EngineError),
}

impl OpenError {
    const fn state(&self) -> EngineState {
        match self {
            OpenError::NoProvider(_) => EngineState::Unsupported,
            OpenError::Refused(_) => EngineState::Refused,
        }
    }
}
