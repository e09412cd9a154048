//! A torrent client in memory and the house around it, for tests of this crate.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use arc_swap::ArcSwap;
use async_trait::async_trait;
use prometheus::Registry;
use qm_db::{Db, FromRow, Json, sql};
use qm_kernel::{ClientInfo, Ctx, ErrorKind, Principal, Role, Secret};
use qm_net::{Net, NetConfig};
use qm_platform::testing::Claims;
use qm_platform::{Audit, Background, Cipher, Settings};
use qm_ports::carry::{CarryError, DataCheck, DataFile, DataMove, DataMover, Whereabouts};
use qm_ports::engine::changes::{Changes, Receiver};
use qm_ports::engine::*;
use qm_ports::rules::NoRules;
use qm_realtime::{Hub, HubConfig};
use qm_test_base::{Heard, NoTokens, client, principal};
use tokio::sync::watch;

use crate::dto::engines::CreateEngine;
use crate::model::limits::Limits;
use crate::service::{Caller, Torrents, TorrentsDeps};
use crate::sync::SyncDeps;
use crate::sync::metrics::SyncMetrics;
use crate::sync::snapshot::tests::torrent;

/// A client that does what it is told, or fails with what it is told to fail with.
#[derive(Default)]
pub struct FakeClient {
    pub torrents: Mutex<BTreeMap<String, Torrent>>,
    pub failure: Mutex<Option<EngineError>>,
    /// What `add` answers instead of adding.
    pub add_refusal: Mutex<Option<EngineError>>,
    /// Takes torrents and never lists them.
    pub forgets: Mutex<bool>,
    /// Its kind has tags.
    pub keeps_tags: Mutex<bool>,
    /// Its kind takes v2 torrents.
    pub knows_v2: Mutex<bool>,
    pub all_time: Mutex<Option<Transfer>>,
    pub files: Mutex<Vec<File>>,
    pub added: Mutex<Vec<AddRequest>>,
    /// How long a command takes, in milliseconds.
    pub delay: AtomicU64,
    /// How long an add takes, in milliseconds.
    pub add_delay: AtomicU64,
    /// It lets go of its data and follows it.
    pub follows: AtomicBool,
    /// The states of torrents that have let go.
    pub let_go: Mutex<HashMap<String, TorrentState>>,
    /// What the next commands answer, whether or not they are done.
    pub refusals: Mutex<Vec<(bool, EngineError)>>,
    /// Commands in the order they were given.
    pub given: Mutex<Vec<String>>,
    pub polls: AtomicUsize,
    /// What each poll was to find out.
    pub attention: Mutex<Vec<Attention>>,
    /// How often its health was asked for.
    pub health_asked: AtomicUsize,
    /// It takes questions about its health and never answers.
    pub hangs: AtomicBool,
    /// What it says of itself with each list.
    pub stats: Mutex<GlobalStats>,
    /// Polls to come that panic.
    pub panics: AtomicUsize,
    /// Torrents never heard of before that each poll tells of, instead of the list.
    pub flood: AtomicUsize,
    /// How many it has told of so.
    pub flooded: AtomicU64,
}

impl FakeClient {
    pub fn put(&self, torrent: Torrent) {
        self.torrents
            .lock()
            .unwrap()
            .insert(torrent.hash.to_string(), torrent);
    }

    pub fn fail(&self, error: Option<EngineError>) {
        *self.failure.lock().unwrap() = error;
    }

    pub fn hang(&self) {
        self.hangs.store(true, Ordering::SeqCst);
    }

    /// What a poll of a flooding client tells.
    fn wave(&self, count: usize) -> Delta {
        let first = self.flooded.fetch_add(count as u64, Ordering::SeqCst);
        Delta {
            cursor: 1,
            full: false,
            changed: (first..first + count as u64).map(numbered).collect(),
            ..Delta::default()
        }
    }

    fn check(&self) -> Result<(), EngineError> {
        self.failure.lock().unwrap().clone().map_or(Ok(()), Err)
    }

    fn apply(&self, hash: &str, command: &Command) -> Result<(), EngineError> {
        let mut torrents = self.torrents.lock().unwrap();
        let torrent = torrents
            .get_mut(hash)
            .ok_or(EngineError::NotFound(Subject::Torrent))?;
        match command {
            Command::Remove { .. } => {
                torrents.remove(hash);
            }
            Command::Start | Command::Resume => torrent.state = TorrentState::Downloading,
            Command::Stop | Command::Pause => torrent.state = TorrentState::Paused,
            Command::Move { destination } => point(torrent, destination),
            Command::Detach => {
                let mut let_go = self.let_go.lock().unwrap();
                let_go.entry(hash.to_owned()).or_insert(torrent.state);
                torrent.state = TorrentState::Stopped;
            }
            Command::Attach { save_path } => {
                point(torrent, save_path);
                if let Some(state) = self.let_go.lock().unwrap().remove(hash) {
                    torrent.state = state;
                }
            }
            Command::Rename { name } => torrent.name.clone_from(name),
            _ => {}
        }
        Ok(())
    }
}

/// Torrent `n` of many.
pub fn numbered(n: u64) -> Torrent {
    Torrent {
        hash: format!("{n:040x}").into(),
        name: format!("A.Release.Of.Some.Length.2026.1080p.WEB.x264-{n}"),
        content_path: format!("/downloads/A.Release.Of.Some.Length.2026.1080p.WEB.x264-{n}"),
        ..torrent(1)
    }
}

fn point(torrent: &mut Torrent, save_path: &str) {
    save_path.clone_into(&mut torrent.save_path);
    torrent.content_path = format!("{save_path}/x");
}

pub struct FakeDriver(pub Arc<FakeClient>);

#[async_trait]
impl EngineDriver for FakeDriver {
    fn has(&self, capability: &str) -> bool {
        match capability {
            capability::ALL_TIME => self.0.all_time.lock().unwrap().is_some(),
            capability::FOLLOWS_DATA => self.0.follows.load(Ordering::SeqCst),
            capability::RENAME => !self.0.files.lock().unwrap().is_empty(),
            capability::TAGS => *self.0.keeps_tags.lock().unwrap(),
            capability::V2 => *self.0.knows_v2.lock().unwrap(),
            _ => false,
        }
    }

    async fn health(&self) -> Result<Health, EngineError> {
        self.0.health_asked.fetch_add(1, Ordering::SeqCst);
        if self.0.hangs.load(Ordering::SeqCst) {
            std::future::pending::<()>().await;
        }
        let delay = self.0.delay.load(Ordering::SeqCst);
        tokio::time::sleep(Duration::from_millis(delay)).await;
        self.0.check().map(|()| Health {
            version: "1.0".into(),
        })
    }

    async fn poll(&self, _cursor: Option<u64>, attention: Attention) -> Result<Delta, EngineError> {
        self.0.attention.lock().unwrap().push(attention);
        self.0.polls.fetch_add(1, Ordering::SeqCst);
        let less = |left: usize| left.checked_sub(1);
        let panics = self
            .0
            .panics
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, less);
        assert!(panics.is_err(), "a poll that panics");
        self.0.check()?;
        let flood = self.0.flood.load(Ordering::SeqCst);
        if flood > 0 {
            return Ok(self.0.wave(flood));
        }
        let changed: Vec<Torrent> = self.0.torrents.lock().unwrap().values().cloned().collect();
        let stats = *self.0.stats.lock().unwrap();
        Ok(Delta {
            cursor: 1,
            full: true,
            changed,
            removed: vec![],
            stats,
            // As the plugin host tells it of a list that it had to cut.
            cut: stats.torrent_count as usize > LIST_LIMIT,
        })
    }

    async fn get(&self, hash: &str) -> Result<Option<Torrent>, EngineError> {
        self.0.check()?;
        Ok(self.0.torrents.lock().unwrap().get(hash).cloned())
    }

    async fn files(&self, _hash: &str) -> Result<Vec<File>, EngineError> {
        Ok(self.0.files.lock().unwrap().clone())
    }

    async fn peers(&self, _hash: &str) -> Result<Vec<Peer>, EngineError> {
        Ok(vec![])
    }

    async fn trackers(&self, _hash: &str) -> Result<Vec<Tracker>, EngineError> {
        Ok(vec![])
    }

    async fn add(&self, request: AddRequest) -> Result<(), EngineError> {
        tokio::time::sleep(Duration::from_millis(self.0.add_delay.load(Ordering::SeqCst))).await;
        self.0.check()?;
        if let Some(refusal) = self.0.add_refusal.lock().unwrap().clone() {
            return Err(refusal);
        }
        if !*self.0.forgets.lock().unwrap() {
            self.0.put(Torrent {
                hash: request.hash.as_str().into(),
                tags: request.options.tags.clone(),
                ..torrent(1)
            });
        }
        self.0.added.lock().unwrap().push(request);
        Ok(())
    }

    async fn run(&self, hashes: &[String], command: Command) -> Result<Vec<Outcome>, EngineError> {
        tokio::time::sleep(Duration::from_millis(self.0.delay.load(Ordering::SeqCst))).await;
        self.0.check()?;
        self.0.given.lock().unwrap().push(format!("{command:?}"));
        let refusal = self.0.refusals.lock().unwrap().pop();
        let outcome = |hash: &String| Outcome {
            hash: hash.clone(),
            result: match &refusal {
                Some((false, error)) => Err(error.clone()),
                Some((true, error)) => self.0.apply(hash, &command).and_then(|()| Err(error.clone())),
                None => self.0.apply(hash, &command),
            },
        };
        Ok(hashes.iter().map(outcome).collect())
    }

    async fn session_stats(&self) -> Result<SessionStats, EngineError> {
        Err(EngineError::Unsupported("no session statistics".into()))
    }

    async fn all_time(&self) -> Result<Option<Transfer>, EngineError> {
        Ok(*self.0.all_time.lock().unwrap())
    }

    async fn rate_limits(&self) -> Result<RateLimits, EngineError> {
        Ok(RateLimits::default())
    }

    async fn set_rate_limits(&self, _limits: RateLimits) -> Result<(), EngineError> {
        Ok(())
    }

    async fn close(&self) {}
}

/// A file manager that knows some paths and nothing of what lies there.
#[derive(Default)]
pub struct FakeMover {
    pub there: Mutex<BTreeSet<String>>,
    /// What it answers instead of moving.
    pub failure: Mutex<Option<CarryError>>,
    /// Copies differ from their originals.
    pub differ: AtomicBool,
    /// Moves wait for that.
    pub gate: Mutex<Option<Arc<tokio::sync::Semaphore>>>,
}

impl FakeMover {
    pub fn put(&self, path: &str) {
        self.there.lock().unwrap().insert(path.to_owned());
    }

    pub fn paths(&self) -> Vec<String> {
        self.there.lock().unwrap().iter().cloned().collect()
    }

    pub fn fail(&self, kind: ErrorKind, message: &str) {
        let message = message.to_owned();
        let code = kind.code();
        *self.failure.lock().unwrap() = Some(CarryError { kind, code, message });
    }

    fn has(&self, path: &str) -> bool {
        self.there.lock().unwrap().contains(path)
    }
}

fn target(job: &DataMove) -> String {
    let name = job.source.rsplit('/').next().unwrap();
    format!("{}/{name}", job.directory)
}

#[async_trait]
impl DataMover for FakeMover {
    async fn check(&self, job: &DataMove, _whole: &[DataFile]) -> Result<DataCheck, CarryError> {
        if self.has(&target(job)) {
            let message = "Destination already exists".to_owned();
            let (kind, code) = (ErrorKind::Conflict, "conflict.exists");
            return Err(CarryError { kind, code, message });
        }
        Ok(if self.has(&job.source) {
            DataCheck::Ready
        } else {
            DataCheck::Absent
        })
    }

    async fn carry(&self, job: &DataMove, _: Option<(&Principal, &ClientInfo)>) -> Result<(), CarryError> {
        let gate = self.gate.lock().unwrap().clone();
        if let Some(gate) = gate {
            gate.acquire().await.unwrap().forget();
        }
        if let Some(error) = self.failure.lock().unwrap().take() {
            return Err(error);
        }
        assert!(self.there.lock().unwrap().remove(&job.source), "{job:?}");
        self.put(&target(job));
        Ok(())
    }

    async fn whereabouts(&self, job: &DataMove) -> Result<Whereabouts, CarryError> {
        Ok(match (self.has(&job.source), self.has(&target(job))) {
            (true, true) => Whereabouts::Both,
            (true, false) => Whereabouts::Source,
            (false, true) => Whereabouts::Destination,
            (false, false) => Whereabouts::Neither,
        })
    }

    async fn remove_original(&self, job: &DataMove) -> Result<bool, CarryError> {
        if self.differ.load(Ordering::SeqCst) {
            return Ok(false);
        }
        Ok(self.there.lock().unwrap().remove(&job.source))
    }
}

/// Installed kinds; the `host` of a configuration says which client an engine talks to.
pub struct FakeKinds {
    kinds: Mutex<Vec<String>>,
    pub clients: Mutex<HashMap<String, Arc<FakeClient>>>,
    /// Every configuration that was opened, with the engine's id.
    pub opened: Mutex<Vec<(String, EngineConfig)>>,
    generation: Arc<Generation>,
}

struct Generation(watch::Sender<u64>);

impl FakeKinds {
    pub fn new(kinds: &[&str]) -> Arc<Self> {
        Arc::new(Self {
            kinds: Mutex::new(kinds.iter().map(|kind| (*kind).to_owned()).collect()),
            clients: Mutex::default(),
            opened: Mutex::default(),
            generation: Arc::new(Generation(watch::Sender::new(0))),
        })
    }

    pub fn install(&self, kind: &str) {
        self.kinds.lock().unwrap().push(kind.to_owned());
        self.generation.0.send_modify(|count| *count += 1);
    }

    pub fn client(&self, host: &str) -> Arc<FakeClient> {
        self.clients
            .lock()
            .unwrap()
            .entry(host.to_owned())
            .or_default()
            .clone()
    }
}

#[async_trait]
impl EngineKinds for FakeKinds {
    fn kinds(&self) -> Vec<EngineKind> {
        let kind = |id: &String| EngineKind {
            id: id.clone(),
            label: id.clone(),
            version: "1.0.0".into(),
            config_schema: serde_json::json!({
                "type": "object",
                "required": ["host"],
                "properties": {
                    "host": { "type": "string" },
                    "password": { "type": "string", "writeOnly": true },
                },
            }),
            capabilities: vec![],
        };
        self.kinds.lock().unwrap().iter().map(kind).collect()
    }

    async fn open(
        &self,
        id: &str,
        _kind: &str,
        config: EngineConfig,
    ) -> Result<Arc<dyn EngineDriver>, EngineError> {
        let host = config
            .fields
            .get("host")
            .and_then(|host| host.as_str())
            .unwrap_or_default()
            .to_owned();
        self.opened.lock().unwrap().push((id.to_owned(), config));
        if host == "refused" {
            return Err(EngineError::InvalidConfig("`host` may not be dialled".into()));
        }
        Ok(Arc::new(FakeDriver(self.client(&host))))
    }

    fn generation(&self) -> Receiver {
        self.generation.clone()
    }
}

#[async_trait]
impl Changes for Generation {
    fn current(&self) -> u64 {
        *self.0.borrow()
    }

    async fn changed(&self, seen: u64) -> u64 {
        let mut counts = self.0.subscribe();
        let count = counts.wait_for(|count| *count != seen).await;
        count.map_or(seen, |count| *count)
    }
}

pub fn sync_deps(db: &Db, heard: &Arc<Heard>) -> SyncDeps {
    let ctx = Ctx::system();
    SyncDeps {
        db: db.clone().telling(heard.clone()),
        hub: Hub::new(HubConfig::default(), Arc::new(NoTokens), ctx.clone()),
        ctx,
        metrics: SyncMetrics::new(&Registry::new()).unwrap(),
        limits: Arc::new(ArcSwap::from_pointee(Limits {
            torrents: 200_000,
            bytes: 256 << 20,
        })),
        watch: Arc::new(NoRules),
    }
}

/// The whole area over fake clients.
pub struct House {
    pub torrents: Arc<Torrents>,
    pub kinds: Arc<FakeKinds>,
    pub mover: Arc<FakeMover>,
    /// What the area counts.
    pub metrics: Registry,
    principal: Principal,
    client: ClientInfo,
}

impl House {
    pub async fn new(db: &Db, kinds: &[&str]) -> Self {
        let kinds = FakeKinds::new(kinds);
        let heard = Arc::new(Heard::default());
        let sync = sync_deps(db, &heard);
        let metrics = Registry::new();
        let cipher = Cipher::new(&Secret::new("a key of thirty-two characters !"), sync.ctx.clone());
        let deps = TorrentsDeps {
            db: sync.db,
            kinds: kinds.clone(),
            net: Net::new(NetConfig::default()).unwrap(),
            audit: Audit::new(sync.ctx.clone()),
            acting: Arc::new(Claims),
            cipher: cipher.clone(),
            settings: Settings::new(sync.ctx.clone(), cipher),
            hub: sync.hub,
            ctx: sync.ctx,
            file_roots: vec!["/downloads".into()],
            background: Background::new(&metrics).unwrap(),
            metrics: metrics.clone(),
            watch: sync.watch,
        };
        let torrents = Torrents::start(deps).await.unwrap();
        let mover = Arc::new(FakeMover::default());
        let wired: Arc<dyn DataMover> = mover.clone();
        torrents.use_mover(&wired);
        Self {
            torrents,
            kinds,
            mover,
            metrics,
            principal: principal(Role::Administrator),
            client: client(),
        }
    }

    /// Configures an engine of kind `fake` over the client `host`.
    pub async fn engine(&self, name: &str, host: &str) -> String {
        let new = CreateEngine {
            name: name.into(),
            kind: "fake".into(),
            config: serde_json::Map::from_iter([
                ("host".into(), host.into()),
                ("password".into(), "secret".into()),
            ]),
            is_default: false,
            is_enabled: true,
        };
        self.torrents.create_engine(self.caller(), new).await.unwrap()
    }

    pub fn caller(&self) -> Caller<'_> {
        Caller {
            principal: &self.principal,
            client: &self.client,
        }
    }

    pub fn caller_as<'a>(&'a self, principal: &'a Principal) -> Caller<'a> {
        Caller {
            principal,
            client: &self.client,
        }
    }
}

sql! {
    AUDITED = "SELECT id, action, result, object_type, object_id, ip_address, metadata FROM audit_logs \
        ORDER BY action, result";
}

/// An audit row.
#[derive(FromRow)]
pub struct Audited {
    pub id: String,
    pub action: String,
    pub result: String,
    pub object_type: Option<String>,
    pub object_id: Option<String>,
    pub ip_address: Option<String>,
    pub metadata: Option<Json<serde_json::Value>>,
}

impl Audited {
    /// Type and id of what it was done to; blank when it was done to nothing in particular.
    pub fn object(&self) -> (&str, &str) {
        let id = self.object_id.as_deref().unwrap_or_default();
        (self.object_type.as_deref().unwrap_or_default(), id)
    }
}

/// The audit rows by action and result.
pub async fn audited(db: &Db) -> Vec<Audited> {
    qm_db::all!(&mut db.begin_read().await.unwrap(), Audited, AUDITED)
        .await
        .unwrap()
}

/// Waits for a condition that must come true.
pub async fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    for _ in 0..500 {
        if holds() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("it never came true that {what}");
}
