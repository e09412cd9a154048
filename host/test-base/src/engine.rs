//! A torrent client for tests, in memory. It does what it is told, or fails with the error it is told to fail with.
//! [`FakeKinds`] hands out [`FakeEngine`]s by the `host` of their configuration.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use async_trait::async_trait;
use qm_kernel::Timestamp;
use qm_lanes::IgnorePoison;
use qm_ports::engine::*;
use serde_json::json;

mod rates;

pub use rates::FakeRates;

/// A torrent client under a test's control.
#[derive(Default)]
pub struct FakeEngine {
    list: Mutex<List>,
    /// Every call fails with it.
    pub failure: Mutex<Option<EngineError>>,
    /// Capabilities of its kind; see [`capability`]. One that has files can rename them, and one that has totals tells
    /// them.
    pub capabilities: Mutex<BTreeSet<&'static str>>,
    /// It tells its whole list with each poll, and never what changed.
    pub whole: AtomicBool,
    /// Its quiet polls tell only of torrents that move or moved; every fifth tells everything.
    pub spares: AtomicBool,
    /// The error that `add` answers instead of adding.
    pub add_refusal: Mutex<Option<EngineError>>,
    /// Takes torrents and never lists them.
    pub forgets: AtomicBool,
    pub all_time: Mutex<Option<Transfer>>,
    /// Categories of its own; told with [`capability::CATEGORIES`].
    pub categories: Mutex<Vec<Category>>,
    /// Number of times it was asked for them.
    pub categories_asked: AtomicUsize,
    /// Tags that no torrent needs to have; told with [`capability::TAGS`].
    pub own_tags: Mutex<Vec<String>>,
    /// The files of every torrent; without any, each has one of its own name.
    pub files: Mutex<Vec<File>>,
    /// Addresses of the trackers of every torrent; without any, each has one.
    pub trackers: Mutex<Vec<String>>,
    /// The .torrent file of every torrent.
    pub metainfo: Mutex<Vec<u8>>,
    /// Requests that added a torrent, oldest first.
    pub added: Mutex<Vec<AddRequest>>,
    /// Time that a command takes, in milliseconds.
    pub delay: AtomicU64,
    /// Time that an add takes, in milliseconds.
    pub add_delay: AtomicU64,
    /// The states of torrents that have let go of their data.
    pub let_go: Mutex<HashMap<String, TorrentState>>,
    /// Errors that the next commands answer, the last one first; `true`: the command is carried out all the same.
    pub refusals: Mutex<Vec<(bool, EngineError)>>,
    /// Every command with the torrent it was given for, oldest first.
    commands: Mutex<Vec<(String, Command)>>,
    pub polls: AtomicUsize,
    /// The attention that each poll was asked with, oldest first.
    pub attention: Mutex<Vec<Attention>>,
    /// The torrents that each poll was to tell as they are, oldest first.
    pub fresh: Mutex<Vec<Vec<String>>>,
    /// The number of times its health was asked for.
    pub health_asked: AtomicUsize,
    /// It takes questions about its health and never answers.
    pub hangs: AtomicBool,
    /// The statistics that it tells with each list, instead of the sums over the list.
    pub stats: Mutex<Option<GlobalStats>>,
    /// Polls to come that panic.
    pub panics: AtomicUsize,
    /// Torrents never heard of before that each poll tells of, instead of the list.
    pub flood: AtomicUsize,
    /// The number of torrents told by such polls so far.
    pub flooded: AtomicU64,
    /// Its limits on all torrents together.
    pub rates: Mutex<FakeRates>,
}

/// Torrents, and when they changed.
#[derive(Default)]
struct List {
    /// Each with the count at which it last changed.
    torrents: BTreeMap<String, (u64, Torrent)>,
    removed: Vec<(u64, String)>,
    count: u64,
    /// Quiet polls since the last exact answer.
    quiet: u32,
    /// Hashes that moved at the last poll.
    moving: BTreeSet<String>,
}

/// The content of a lock, also after a test panicked while it held the lock.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().ignore_poison()
}

impl FakeEngine {
    /// Lists a torrent, or changes the one of that hash.
    pub fn put(&self, torrent: Torrent) {
        lock(&self.list).put(torrent);
    }

    /// Changes a listed torrent.
    pub fn change(&self, hash: &str, change: impl FnOnce(&mut Torrent)) {
        let mut torrent = self.torrent(hash).expect("a listed torrent");
        change(&mut torrent);
        self.put(torrent);
    }

    /// Lists it no longer.
    pub fn forget(&self, hash: &str) {
        lock(&self.list).forget(hash);
    }

    /// Lists nothing any more.
    pub fn clear(&self) {
        let mut list = lock(&self.list);
        let hashes: Vec<String> = list.torrents.keys().cloned().collect();
        for hash in hashes {
            list.forget(&hash);
        }
    }

    pub fn torrent(&self, hash: &str) -> Option<Torrent> {
        lock(&self.list)
            .torrents
            .get(hash)
            .map(|(_, torrent)| torrent.clone())
    }

    /// Every call fails with this until told otherwise.
    pub fn fail(&self, failure: Option<EngineError>) {
        *lock(&self.failure) = failure;
    }

    /// Its kind offers this from now on.
    pub fn offer(&self, capability: &'static str) {
        lock(&self.capabilities).insert(capability);
    }

    /// The attention that the last poll was asked with.
    pub fn attention(&self) -> Option<Attention> {
        lock(&self.attention).last().copied()
    }

    /// Every command with the torrent it was given for, oldest first.
    pub fn commands(&self) -> Vec<(String, Command)> {
        lock(&self.commands).clone()
    }

    fn check(&self) -> Result<(), EngineError> {
        lock(&self.failure).clone().map_or(Ok(()), Err)
    }

    /// The answer to a poll of a flooding client.
    fn wave(&self, count: usize) -> Delta {
        let first = self.flooded.fetch_add(count as u64, Ordering::SeqCst);
        Delta {
            cursor: 1,
            full: false,
            changed: (first..first + count as u64).map(numbered).collect(),
            ..Delta::default()
        }
    }

    /// Does what a command says.
    fn apply(&self, hash: &str, command: &Command) -> Result<(), EngineError> {
        let mut torrent = self
            .torrent(hash)
            .ok_or(EngineError::NotFound(Subject::Torrent))?;
        match command {
            Command::Remove { .. } => {
                self.forget(hash);
                return Ok(());
            }
            Command::Start | Command::Resume => torrent.state = TorrentState::Downloading,
            Command::Stop | Command::Pause => torrent.state = TorrentState::Paused,
            Command::ForceStart(on) => {
                torrent.force_started = Some(*on);
                if *on {
                    torrent.state = TorrentState::Downloading;
                }
            }
            Command::Move { destination } => point(&mut torrent, destination),
            Command::Detach => {
                let mut let_go = lock(&self.let_go);
                let_go.entry(hash.to_owned()).or_insert(torrent.state);
                torrent.state = TorrentState::Stopped;
            }
            Command::Attach { save_path } => {
                point(&mut torrent, save_path);
                if let Some(state) = lock(&self.let_go).remove(hash) {
                    torrent.state = state;
                }
            }
            Command::Rename { name } => torrent.name.clone_from(name),
            Command::SetLabel { label } => {
                torrent.label = Some(label.clone()).filter(|label| !label.is_empty());
            }
            Command::AddTags { .. } | Command::RemoveTags { .. } if !self.has(capability::TAGS) => {
                return Err(EngineError::Unsupported("This engine has no tags".into()));
            }
            Command::AddTags { tags } => {
                let new = tags.iter().filter(|tag| !torrent.tags.contains(tag));
                let new: Vec<String> = new.cloned().collect();
                torrent.tags.extend(new);
            }
            Command::RemoveTags { tags } => torrent.tags.retain(|tag| !tags.contains(tag)),
            Command::AutoManage(on) => torrent.auto_managed = Some(*on),
            Command::SuperSeeding(on) => torrent.super_seeding = Some(*on),
            Command::ShareLimits(limits) => torrent.share_limits = Some(*limits),
            _ => return Ok(()),
        }
        self.put(torrent);
        Ok(())
    }

    fn listed(&self, hash: &str) -> Result<Torrent, EngineError> {
        self.check()?;
        self.torrent(hash).ok_or(EngineError::NotFound(Subject::Torrent))
    }
}

fn point(torrent: &mut Torrent, save_path: &str) {
    save_path.clone_into(&mut torrent.save_path);
    torrent.content_path = format!("{save_path}/x");
}

/// A torrent that is half done, to be changed at will. `number` gives hash and name.
pub fn torrent(number: u32) -> Torrent {
    Torrent {
        state: TorrentState::Downloading,
        progress: 0.5,
        downloaded: 500,
        uploaded: 250,
        ratio: 0.5,
        download_rate: 100,
        upload_rate: 50,
        eta: Some(5),
        seeds_connected: 1,
        seeds_total: Some(2),
        peers_connected: 3,
        peers_total: Some(4),
        save_path: "/tmp/downloads".to_owned(),
        content_path: format!("/tmp/downloads/torrent-{number}"),
        added_at: Some(Timestamp::from_secs(1_900_000_000 + i64::from(number))),
        ..resting(&format!("{number:040x}"), format!("torrent-{number}"))
    }
}

/// Torrent `number` of many, each with a name of some length.
pub fn numbered(number: u64) -> Torrent {
    let name = format!("A.Release.Of.Some.Length.2026.1080p.WEB.x264-{number}");
    Torrent {
        content_path: format!("/downloads/{name}"),
        ..resting(&format!("{number:040x}"), name)
    }
}

/// A torrent of which nothing has been loaded and nothing moves.
pub(crate) fn resting(hash: &str, name: String) -> Torrent {
    Torrent {
        hash: hash.into(),
        name,
        state: TorrentState::Downloading,
        size: 1000,
        seeds_total: Some(0),
        peers_total: Some(0),
        priority: 2,
        save_path: "/downloads".into(),
        content_path: "/downloads/x".into(),
        is_private: Some(false),
        ..Torrent::default()
    }
}

#[async_trait]
impl EngineDriver for FakeEngine {
    fn has(&self, capability: &str) -> bool {
        lock(&self.capabilities).contains(capability)
            || match capability {
                capability::ALL_TIME => lock(&self.all_time).is_some(),
                capability::RENAME => !lock(&self.files).is_empty(),
                _ => false,
            }
    }

    async fn health(&self) -> Result<Health, EngineError> {
        self.health_asked.fetch_add(1, Ordering::SeqCst);
        if self.hangs.load(Ordering::SeqCst) {
            std::future::pending::<()>().await;
        }
        let delay = self.delay.load(Ordering::SeqCst);
        tokio::time::sleep(Duration::from_millis(delay)).await;
        self.check().map(|()| Health {
            version: "1.0".into(),
            lacks: vec![],
        })
    }

    async fn poll(
        &self,
        cursor: Option<u64>,
        attention: Attention,
        fresh: &[String],
    ) -> Result<Delta, EngineError> {
        lock(&self.fresh).push(fresh.to_vec());
        lock(&self.attention).push(attention);
        self.polls.fetch_add(1, Ordering::SeqCst);
        let less = |left: usize| left.checked_sub(1);
        let panics = self.panics.fetch_update(Ordering::SeqCst, Ordering::SeqCst, less);
        assert!(panics.is_err(), "a poll that panics");
        self.check()?;
        let flood = self.flood.load(Ordering::SeqCst);
        if flood > 0 {
            return Ok(self.wave(flood));
        }
        let cursor = cursor.filter(|_| !self.whole.load(Ordering::SeqCst));
        let spares = self.spares.load(Ordering::SeqCst) && attention == Attention::Quiet;
        let mut delta = lock(&self.list).poll(cursor, spares);
        if let Some(stats) = *lock(&self.stats) {
            delta.stats = stats;
            // As the plugin host tells it of a list that it had to cut.
            delta.cut = stats.torrent_count as usize > LIST_LIMIT;
            delta.full |= delta.cut;
        }
        Ok(delta)
    }

    async fn get(&self, hash: &str) -> Result<Option<Torrent>, EngineError> {
        self.check()?;
        Ok(self.torrent(hash))
    }

    async fn files(&self, hash: &str) -> Result<Vec<File>, EngineError> {
        let torrent = self.listed(hash)?;
        let files = lock(&self.files).clone();
        if !files.is_empty() {
            return Ok(files);
        }
        Ok(vec![File {
            index: 0,
            path: torrent.name,
            size: torrent.size,
            downloaded: torrent.downloaded,
            progress: torrent.progress,
            priority: 1,
            availability: None,
        }])
    }

    async fn peers(&self, hash: &str) -> Result<Vec<Peer>, EngineError> {
        self.listed(hash).map(|_| Vec::new())
    }

    async fn trackers(&self, hash: &str) -> Result<Vec<Tracker>, EngineError> {
        self.listed(hash)?;
        let mut urls = lock(&self.trackers).clone();
        if urls.is_empty() {
            urls.push("http://tracker.example/announce".to_owned());
        }
        let tracker = |url: String| Tracker {
            url,
            tier: 0,
            status: TrackerStatus::Enabled,
            seeders: None,
            leechers: None,
            message: None,
        };
        Ok(urls.into_iter().map(tracker).collect())
    }

    async fn export_metainfo(&self, hash: &str) -> Result<Vec<u8>, EngineError> {
        self.listed(hash)?;
        Ok(lock(&self.metainfo).clone())
    }

    async fn add(&self, request: AddRequest) -> Result<(), EngineError> {
        tokio::time::sleep(Duration::from_millis(self.add_delay.load(Ordering::SeqCst))).await;
        self.check()?;
        if let Some(refusal) = lock(&self.add_refusal).clone() {
            return Err(refusal);
        }
        if !self.forgets.load(Ordering::SeqCst) {
            self.put(Torrent {
                tags: request.options.tags.clone(),
                label: request.options.category.clone(),
                ..resting(&request.hash, request.hash.clone())
            });
        }
        lock(&self.added).push(request);
        Ok(())
    }

    async fn run(&self, hashes: &[String], command: Command) -> Result<Vec<Outcome>, EngineError> {
        tokio::time::sleep(Duration::from_millis(self.delay.load(Ordering::SeqCst))).await;
        self.check()?;
        let given = hashes.iter().map(|hash| (hash.clone(), command.clone()));
        lock(&self.commands).extend(given);
        let refusal = lock(&self.refusals).pop();
        let outcome = |hash: &String| Outcome {
            hash: hash.clone(),
            result: match &refusal {
                Some((false, error)) => Err(error.clone()),
                Some((true, error)) => self.apply(hash, &command).and_then(|()| Err(error.clone())),
                None => self.apply(hash, &command),
            },
        };
        Ok(hashes.iter().map(outcome).collect())
    }

    async fn categories(&self) -> Result<Vec<Category>, EngineError> {
        self.categories_asked.fetch_add(1, Ordering::SeqCst);
        self.check()?;
        Ok(lock(&self.categories).clone())
    }

    async fn create_category(&self, category: Category) -> Result<(), EngineError> {
        self.check()?;
        lock(&self.categories).push(category);
        Ok(())
    }

    async fn edit_category(&self, category: Category) -> Result<(), EngineError> {
        self.check()?;
        let mut all = lock(&self.categories);
        let known = all.iter_mut().find(|known| known.name == category.name);
        *known.ok_or(EngineError::NotFound(Subject::Category))? = category;
        Ok(())
    }

    async fn tags(&self) -> Result<Vec<String>, EngineError> {
        self.check()?;
        Ok(lock(&self.own_tags).clone())
    }

    async fn session_stats(&self) -> Result<SessionStats, EngineError> {
        self.check().map(|()| SessionStats {
            engine_version: "1.0".to_owned(),
            ..SessionStats::default()
        })
    }

    async fn all_time(&self) -> Result<Option<Transfer>, EngineError> {
        self.check().map(|()| *lock(&self.all_time))
    }

    async fn rate_limits(&self, mode: RateMode) -> Result<RateLimits, EngineError> {
        self.check()?;
        let mut rates = lock(&self.rates);
        rates.asked += 1;
        Ok(match mode {
            RateMode::Normal => rates.normal,
            RateMode::Alternative => rates.alternative,
        })
    }

    async fn set_rate_limits(&self, mode: RateMode, limits: RateLimits) -> Result<(), EngineError> {
        self.check()?;
        let mut rates = lock(&self.rates);
        let kept = rates.keep(limits);
        match mode {
            RateMode::Normal => rates.normal = kept,
            RateMode::Alternative => rates.alternative = kept,
        }
        let (download, upload) = (limits.download.unwrap_or(0), limits.upload.unwrap_or(0));
        rates.told.push(format!("{mode:?} {download} {upload}"));
        Ok(())
    }

    async fn rate_mode(&self) -> Result<RateMode, EngineError> {
        self.check()?;
        let mut rates = lock(&self.rates);
        rates.asked += 1;
        Ok(if rates.is_alternative {
            RateMode::Alternative
        } else {
            RateMode::Normal
        })
    }

    async fn set_rate_mode(&self, mode: RateMode) -> Result<(), EngineError> {
        self.check()?;
        let mut rates = lock(&self.rates);
        rates.is_alternative = mode == RateMode::Alternative;
        rates.told.push(format!("mode {mode:?}"));
        Ok(())
    }

    async fn close(&self) {}
}

impl List {
    fn put(&mut self, torrent: Torrent) {
        self.count += 1;
        self.torrents
            .insert(torrent.hash.to_string(), (self.count, torrent));
    }

    fn forget(&mut self, hash: &str) {
        self.count += 1;
        if self.torrents.remove(hash).is_some() {
            self.removed.push((self.count, hash.to_owned()));
        }
    }

    /// Everything that changed since `cursor`, or the whole list. `spares`: only torrents that move, where that is
    /// enough.
    fn poll(&mut self, cursor: Option<u64>, spares: bool) -> Delta {
        let spares = spares && self.quiet < 4;
        self.quiet = if spares { self.quiet + 1 } else { 0 };
        let moving = self.moving();
        let moved = std::mem::replace(&mut self.moving, moving);
        match cursor.filter(|cursor| spares && *cursor <= self.count) {
            Some(cursor) => self.part(cursor, &moved),
            None => self.delta(cursor),
        }
    }

    fn moving(&self) -> BTreeSet<String> {
        let moves = |torrent: &&Torrent| {
            torrent.download_rate + torrent.upload_rate > 0 || torrent.state == TorrentState::Checking
        };
        let torrents = self.torrents.values().map(|(_, torrent)| torrent);
        torrents
            .filter(moves)
            .map(|torrent| torrent.hash.to_string())
            .collect()
    }

    /// Changes of torrents that move, or that moved when they were last told. The cursor stays: the rest is still to be
    /// told.
    fn part(&self, cursor: u64, moved: &BTreeSet<String>) -> Delta {
        let mut part = self.delta(Some(cursor));
        part.cursor = cursor;
        part.removed.clear();
        part.changed
            .retain(|torrent| moved.contains(&*torrent.hash) || self.moving.contains(&*torrent.hash));
        part
    }

    fn delta(&self, cursor: Option<u64>) -> Delta {
        let since = cursor.filter(|cursor| *cursor <= self.count);
        let after = since.unwrap_or(0);
        let listed = || self.torrents.values().map(|(_, torrent)| torrent);
        let changed = self
            .torrents
            .values()
            .filter(|(at, _)| since.is_none() || *at > after);
        let removed = self
            .removed
            .iter()
            .filter(|(at, _)| since.is_some() && *at > after);
        Delta {
            cursor: self.count,
            full: since.is_none(),
            changed: changed.map(|(_, torrent)| torrent.clone()).collect(),
            removed: removed.map(|(_, hash)| hash.clone()).collect(),
            stats: GlobalStats {
                download_rate: listed().map(|torrent| torrent.download_rate).sum(),
                upload_rate: listed().map(|torrent| torrent.upload_rate).sum(),
                total_downloaded: listed().map(|torrent| torrent.downloaded).sum(),
                total_uploaded: listed().map(|torrent| torrent.uploaded).sum(),
                torrent_count: u32::try_from(self.torrents.len()).unwrap_or(u32::MAX),
                ..GlobalStats::default()
            },
            cut: false,
        }
    }
}

/// Installed kinds; the `host` of a configuration says which client an engine talks to.
pub struct FakeKinds {
    /// Ids with labels.
    kinds: Mutex<Vec<(String, String)>>,
    /// Capabilities that every client of these kinds has.
    offered: &'static [&'static str],
    engines: Mutex<HashMap<String, Arc<FakeEngine>>>,
    /// Every configuration that was opened, with the engine's id.
    pub opened: Mutex<Vec<(String, EngineConfig)>>,
    generation: Arc<Generation>,
}

struct Generation(tokio::sync::watch::Sender<u64>);

/// Everything a client can offer.
const ALL: &[&str] = &[
    capability::MOVES_DATA,
    capability::RENAME,
    capability::RENAME_FILE,
    capability::TAGS,
    capability::ALL_TIME,
    capability::GLOBAL_LIMITS,
    capability::V2,
];

impl FakeKinds {
    /// Kinds with these ids, whose clients offer what a test tells them to.
    pub fn new(kinds: &[&str]) -> Arc<Self> {
        let kinds = kinds.iter().map(|kind| ((*kind).to_owned(), (*kind).to_owned()));
        Arc::new(Self::with_kinds(kinds.collect(), &[]))
    }

    /// The two kinds that the service comes with; their clients offer everything, and spare the answer to quiet polls.
    pub fn first_party() -> Arc<Self> {
        let kinds = [("scgi_client", "rTorrent"), ("webapi_client", "qBittorrent")];
        let kinds = kinds.map(|(id, label)| (id.to_owned(), label.to_owned()));
        Arc::new(Self::with_kinds(kinds.into(), ALL))
    }

    fn with_kinds(kinds: Vec<(String, String)>, offered: &'static [&'static str]) -> Self {
        Self {
            kinds: Mutex::new(kinds),
            offered,
            engines: Mutex::default(),
            opened: Mutex::default(),
            generation: Arc::new(Generation(tokio::sync::watch::Sender::new(0))),
        }
    }

    /// There is a kind more.
    pub fn install(&self, kind: &str) {
        lock(&self.kinds).push((kind.to_owned(), kind.to_owned()));
        self.generation.0.send_modify(|count| *count += 1);
    }

    /// The client behind `{"host": <host>}`; made now if nobody asked for it before.
    pub fn engine(&self, host: &str) -> Arc<FakeEngine> {
        let make = || {
            Arc::new(FakeEngine {
                capabilities: Mutex::new(self.offered.iter().copied().collect()),
                spares: AtomicBool::new(!self.offered.is_empty()),
                ..FakeEngine::default()
            })
        };
        lock(&self.engines)
            .entry(host.to_owned())
            .or_insert_with(make)
            .clone()
    }
}

#[async_trait]
impl EngineKinds for FakeKinds {
    fn kinds(&self) -> Vec<EngineKind> {
        let kind = |(id, label): &(String, String)| EngineKind {
            id: id.clone(),
            label: label.clone(),
            version: "1.0.0".into(),
            config_schema: json!({
                "type": "object",
                "required": ["host"],
                "properties": {
                    "host": { "type": "string" },
                    "password": { "type": "string", "writeOnly": true },
                },
            }),
            capabilities: self.offered.iter().map(|&name| name.to_owned()).collect(),
        };
        lock(&self.kinds).iter().map(kind).collect()
    }

    async fn open(
        &self,
        id: &str,
        _kind: &str,
        config: EngineConfig,
    ) -> Result<Arc<dyn EngineDriver>, EngineError> {
        let host = config.fields.get("host").and_then(|host| host.as_str());
        let host = host.unwrap_or_default().to_owned();
        lock(&self.opened).push((id.to_owned(), config));
        if host == "refused" {
            return Err(EngineError::InvalidConfig("`host` may not be dialled".into()));
        }
        Ok(self.engine(&host))
    }

    fn generation(&self) -> changes::Receiver {
        self.generation.clone()
    }
}

#[async_trait]
impl changes::Changes for Generation {
    fn current(&self) -> u64 {
        *self.0.borrow()
    }

    async fn changed(&self, seen: u64) -> u64 {
        let mut counts = self.0.subscribe();
        let count = counts.wait_for(|count| *count != seen).await;
        count.map_or(seen, |count| *count)
    }
}
