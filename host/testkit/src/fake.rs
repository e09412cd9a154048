//! Engines that do what a test says: [`FakeKinds`] hands out [`FakeEngine`]s by the `host` of their configuration.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use qm_ports::engine::{
    AddRequest, Attention, Command, Delta, EngineConfig, EngineDriver, EngineError, EngineKind, EngineKinds,
    File, GlobalStats, Health, Outcome, Peer, RateLimits, SessionStats, Subject, Torrent, TorrentState,
    Tracker, TrackerStatus, Transfer, capability, changes,
};
use serde_json::json;

/// An engine under a test's control.
pub struct FakeEngine {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Each with the count at which it last changed.
    torrents: BTreeMap<String, (u64, Torrent)>,
    removed: Vec<(u64, String)>,
    count: u64,
    failure: Option<EngineError>,
    hangs: bool,
    polls: u64,
    /// What the last poll was to find out.
    attention: Option<Attention>,
    /// Quiet polls since the last exact answer.
    quiet: u32,
    /// Hashes that moved at the last poll.
    moving: BTreeSet<String>,
    commands: Vec<(String, Command)>,
    added: Vec<AddRequest>,
}

impl FakeEngine {
    fn new() -> FakeEngine {
        FakeEngine {
            state: Mutex::default(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lists a torrent, or changes the one of that hash.
    pub fn put(&self, torrent: Torrent) {
        let mut state = self.lock();
        state.count += 1;
        let count = state.count;
        state.torrents.insert(torrent.hash.to_string(), (count, torrent));
    }

    /// Changes a listed torrent.
    pub fn change(&self, hash: &str, change: impl FnOnce(&mut Torrent)) {
        let mut torrent = self.torrent(hash).expect("a listed torrent");
        change(&mut torrent);
        self.put(torrent);
    }

    /// Lists it no longer.
    pub fn forget(&self, hash: &str) {
        let mut state = self.lock();
        state.count += 1;
        let count = state.count;
        if state.torrents.remove(hash).is_some() {
            state.removed.push((count, hash.to_owned()));
        }
    }

    pub fn torrent(&self, hash: &str) -> Option<Torrent> {
        self.lock().torrents.get(hash).map(|(_, torrent)| torrent.clone())
    }

    /// Every call fails with this until told otherwise.
    pub fn fail(&self, failure: Option<EngineError>) {
        self.lock().failure = failure;
    }

    /// Every call waits for ever until told otherwise; calls that wait already go on waiting.
    pub fn hang(&self, hangs: bool) {
        self.lock().hangs = hangs;
    }

    /// Polls that were answered, failed ones included.
    pub fn polls(&self) -> u64 {
        self.lock().polls
    }

    /// What the last answered poll was to find out.
    pub fn attention(&self) -> Option<Attention> {
        self.lock().attention
    }

    /// What it was told, oldest first.
    pub fn commands(&self) -> Vec<(String, Command)> {
        self.lock().commands.clone()
    }

    /// What was added, oldest first.
    pub fn added(&self) -> Vec<AddRequest> {
        self.lock().added.clone()
    }

    async fn enter(&self) -> Result<MutexGuard<'_, State>, EngineError> {
        let hangs = self.lock().hangs;
        if hangs {
            std::future::pending::<()>().await;
        }
        let state = self.lock();
        match &state.failure {
            Some(failure) => Err(failure.clone()),
            None => Ok(state),
        }
    }
}

/// A torrent that is half done, to be changed at will. `number` gives hash and name.
pub fn torrent(number: u32) -> Torrent {
    Torrent {
        hash: format!("{number:040x}").into(),
        name: format!("torrent-{number}"),
        state: TorrentState::Downloading,
        progress: 0.5,
        size: 1000,
        downloaded: 500,
        uploaded: 250,
        ratio: 0.5,
        download_rate: 100,
        upload_rate: 50,
        eta: Some(5),
        seeds_connected: 1,
        seeds_total: 2,
        peers_connected: 3,
        peers_total: 4,
        priority: 2,
        label: None,
        tags: vec![],
        save_path: "/tmp/downloads".to_owned(),
        content_path: format!("/tmp/downloads/torrent-{number}"),
        is_private: false,
        message: None,
        added_at: Some(qm_kernel::Timestamp::from_secs(1_900_000_000 + i64::from(number))),
        completed_at: None,
        tracker_host: None,
        seeded: None,
        last_activity: None,
        availability: None,
    }
}

#[async_trait]
impl EngineDriver for FakeEngine {
    fn has(&self, _capability: &str) -> bool {
        true
    }

    async fn health(&self) -> Result<Health, EngineError> {
        self.enter().await.map(|_| Health {
            version: "fake 1.0".to_owned(),
        })
    }

    /// A quiet poll tells only of torrents that move or moved; every fifth tells everything.
    async fn poll(&self, cursor: Option<u64>, attention: Attention) -> Result<Delta, EngineError> {
        let answer = self.enter().await.map(|mut state| {
            state.attention = Some(attention);
            let spares = attention == Attention::Quiet && state.quiet < 4;
            state.quiet = if spares { state.quiet + 1 } else { 0 };
            let moving = state.moving();
            let moved = std::mem::replace(&mut state.moving, moving);
            match cursor.filter(|cursor| spares && *cursor <= state.count) {
                Some(cursor) => part(&state, cursor, &moved),
                None => delta(&state, cursor),
            }
        });
        self.lock().polls += 1;
        answer
    }

    async fn get(&self, hash: &str) -> Result<Option<Torrent>, EngineError> {
        Ok(self
            .enter()
            .await?
            .torrents
            .get(hash)
            .map(|(_, torrent)| torrent.clone()))
    }

    async fn files(&self, hash: &str) -> Result<Vec<File>, EngineError> {
        let torrent = self
            .get(hash)
            .await?
            .ok_or(EngineError::NotFound(Subject::Torrent))?;
        let Torrent {
            name: path,
            size,
            downloaded,
            progress,
            ..
        } = torrent;
        Ok(vec![File {
            index: 0,
            path,
            size,
            downloaded,
            progress,
            priority: 1,
        }])
    }

    async fn peers(&self, hash: &str) -> Result<Vec<Peer>, EngineError> {
        self.get(hash)
            .await?
            .ok_or(EngineError::NotFound(Subject::Torrent))?;
        Ok(Vec::new())
    }

    async fn trackers(&self, hash: &str) -> Result<Vec<Tracker>, EngineError> {
        self.get(hash)
            .await?
            .ok_or(EngineError::NotFound(Subject::Torrent))?;
        let url = "http://tracker.example/announce".to_owned();
        Ok(vec![Tracker {
            url,
            tier: 0,
            status: TrackerStatus::Enabled,
            seeders: None,
            leechers: None,
            message: None,
        }])
    }

    async fn add(&self, request: AddRequest) -> Result<(), EngineError> {
        self.enter().await?.added.push(request.clone());
        let mut listed = torrent(0);
        listed.hash = request.hash.as_str().into();
        listed.name.clone_from(&request.hash);
        listed.label.clone_from(&request.options.category);
        self.put(listed);
        Ok(())
    }

    async fn run(&self, hashes: &[String], command: Command) -> Result<Vec<Outcome>, EngineError> {
        let known: Vec<bool> = {
            let mut state = self.enter().await?;
            state
                .commands
                .extend(hashes.iter().map(|hash| (hash.clone(), command.clone())));
            hashes
                .iter()
                .map(|hash| state.torrents.contains_key(hash))
                .collect()
        };
        let outcome = |(hash, known): (&String, bool)| {
            if known && matches!(command, Command::Remove { .. }) {
                self.forget(hash);
            }
            let result = if known {
                Ok(())
            } else {
                Err(EngineError::NotFound(Subject::Torrent))
            };
            Outcome {
                hash: hash.clone(),
                result,
            }
        };
        Ok(hashes.iter().zip(known).map(outcome).collect())
    }

    async fn session_stats(&self) -> Result<SessionStats, EngineError> {
        self.enter().await.map(|_| SessionStats {
            engine_version: "fake 1.0".to_owned(),
            peer_id: None,
            listen_port: None,
            dht_enabled: false,
            free_disk_bytes: None,
            total_disk_bytes: None,
        })
    }

    async fn all_time(&self) -> Result<Option<Transfer>, EngineError> {
        self.enter().await.map(|_| None)
    }

    async fn rate_limits(&self) -> Result<RateLimits, EngineError> {
        self.enter().await.map(|_| RateLimits::default())
    }

    async fn set_rate_limits(&self, _limits: RateLimits) -> Result<(), EngineError> {
        self.enter().await.map(|_| ())
    }

    async fn close(&self) {}
}

impl State {
    fn moving(&self) -> BTreeSet<String> {
        let torrents = self.torrents.values().map(|(_, torrent)| torrent);
        let moves = |torrent: &&Torrent| {
            torrent.download_rate + torrent.upload_rate > 0 || torrent.state == TorrentState::Checking
        };
        torrents
            .filter(moves)
            .map(|torrent| torrent.hash.to_string())
            .collect()
    }
}

/// What changed of the torrents that move, or did when they were last told. The cursor stays: the rest is still owed.
fn part(state: &State, cursor: u64, moved: &BTreeSet<String>) -> Delta {
    let mut part = delta(state, Some(cursor));
    part.cursor = cursor;
    part.removed.clear();
    part.changed
        .retain(|torrent| moved.contains(&*torrent.hash) || state.moving.contains(&*torrent.hash));
    part
}

fn delta(state: &State, cursor: Option<u64>) -> Delta {
    let since = cursor.filter(|cursor| *cursor <= state.count);
    let after = since.map_or(0, |cursor| cursor);
    let listed = || state.torrents.values().map(|(_, torrent)| torrent);
    Delta {
        cursor: state.count,
        full: since.is_none(),
        changed: state
            .torrents
            .values()
            .filter(|(at, _)| since.is_none() || *at > after)
            .map(|(_, t)| t.clone())
            .collect(),
        removed: state
            .removed
            .iter()
            .filter(|(at, _)| since.is_some() && *at > after)
            .map(|(_, hash)| hash.clone())
            .collect(),
        stats: GlobalStats {
            download_rate: listed().map(|torrent| torrent.download_rate).sum(),
            upload_rate: listed().map(|torrent| torrent.upload_rate).sum(),
            total_downloaded: listed().map(|torrent| torrent.downloaded).sum(),
            total_uploaded: listed().map(|torrent| torrent.uploaded).sum(),
            torrent_count: u32::try_from(state.torrents.len()).unwrap_or(u32::MAX),
            ..GlobalStats::default()
        },
        cut: false,
    }
}

/// The two first-party kinds, provided by [`FakeEngine`]s. Two engines of one `host` are one fake.
#[derive(Default)]
pub struct FakeKinds {
    engines: Mutex<HashMap<String, Arc<FakeEngine>>>,
}

impl FakeKinds {
    pub fn new() -> Arc<FakeKinds> {
        Arc::default()
    }

    /// The fake behind `{"host": <host>}`; made now if nobody asked for it before.
    pub fn engine(&self, host: &str) -> Arc<FakeEngine> {
        let mut engines = self.engines.lock().unwrap_or_else(PoisonError::into_inner);
        engines
            .entry(host.to_owned())
            .or_insert_with(|| Arc::new(FakeEngine::new()))
            .clone()
    }
}

#[async_trait]
impl EngineKinds for FakeKinds {
    fn kinds(&self) -> Vec<EngineKind> {
        let all = [
            capability::MOVES_DATA,
            capability::RENAME,
            capability::RENAME_FILE,
            capability::TAGS,
            capability::ALL_TIME,
            capability::GLOBAL_LIMITS,
            capability::V2,
        ];
        let kind = |id: &str, label: &str| EngineKind {
            id: id.to_owned(),
            label: label.to_owned(),
            version: "1.0.0".to_owned(),
            config_schema: json!({
                "type": "object",
                "properties": {
                    "host": { "type": "string" },
                    "password": { "type": "string", "writeOnly": true },
                },
            }),
            capabilities: all.iter().map(|name| (*name).to_owned()).collect(),
        };
        vec![
            kind("scgi_client", "rTorrent"),
            kind("webapi_client", "qBittorrent"),
        ]
    }

    async fn open(
        &self,
        _id: &str,
        _kind: &str,
        config: EngineConfig,
    ) -> Result<Arc<dyn EngineDriver>, EngineError> {
        let host = config
            .fields
            .get("host")
            .and_then(serde_json::Value::as_str)
            .unwrap_or("default");
        Ok(self.engine(host))
    }

    fn generation(&self) -> changes::Receiver {
        Arc::new(Unchanging)
    }
}

/// The set of fake kinds never changes.
struct Unchanging;

#[async_trait]
impl changes::Changes for Unchanging {
    fn current(&self) -> u64 {
        0
    }

    async fn changed(&self, _seen: u64) -> u64 {
        std::future::pending().await
    }
}
