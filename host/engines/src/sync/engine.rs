//! A loaded engine as the rest of the area sees it: its driver, its last snapshot, its status, and a way to ask its sync
//! loop for an early read.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use arc_swap::{ArcSwap, ArcSwapOption};
use bytes::Bytes;
use qm_kernel::{Permission, Timestamp};
use qm_lanes::IgnorePoison;
use qm_ports::engine::{Attention, EngineDriver, EngineError, FRESH_LIMIT};
use qm_realtime::{Room, StateSource};
use qm_torrent_lists::Snapshot;
use serde_json::{Map, Value};
use tokio::sync::{Notify, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::pulse::Pulse;
use crate::error::TorrentsError;
use crate::model::abilities::Ability;
use crate::model::intake::Intakes;
use crate::model::mappings::PathMapping;

/// Time after a request for the list in which the list is read as for somebody who looks.
const WATCHED_AFTER_REQUEST: Duration = Duration::from_secs(30);

/// Time for which reads tell a torrent as it is after a command: clients carry some out later.
const FRESH_FOR: Duration = Duration::from_secs(10);

/// Time for which reads ask for a torrent that was handed over and is not listed yet.
const SOUGHT_FOR: Duration = Duration::from_mins(1);

/// Time limit on waiting for the list to show a change: a torrent that was added or removed, or tags that are kept here.
const SHOW_LIMIT: Duration = Duration::from_secs(1);

/// Time that requests after a quiet time wait for an exact list, counted from the first of them.
const PATIENCE: Duration = Duration::from_secs(3);

/// The state of an engine that is kept between reads; it is lost at restart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EngineStatus {
    pub online: bool,
    pub error: Option<String>,
    /// Why not all that it lists is taken, if anything is left out.
    pub limited: Option<String>,
    /// The instant of the last change between online, offline and limited.
    pub since: Timestamp,
    /// The instant of the last read, good or bad.
    pub at: Timestamp,
    /// The instant of the last read that succeeded.
    pub last_seen_at: Option<Timestamp>,
    pub torrent_count: usize,
}

/// The number of the last read that ended, with its error if it failed. Reads are numbered from 1.
#[derive(Clone, Debug, Default)]
struct Reads {
    finished: u64,
    /// Demands for an exact read that were served by it, or failed with it.
    served: u64,
    error: Option<EngineError>,
}

/// Time for which reads tell a torrent as it is.
#[derive(Clone, Copy, Debug)]
struct Fresh {
    until: Instant,
    /// It was handed over and not listed since: it is asked for up to this moment.
    sought_until: Option<Instant>,
}

impl Fresh {
    fn of_command(now: Instant) -> Self {
        Self {
            until: now + FRESH_FOR,
            sought_until: None,
        }
    }

    fn of_addition(now: Instant) -> Self {
        Self {
            sought_until: Some(now + SOUGHT_FOR),
            ..Self::of_command(now)
        }
    }

    /// True while reads are to tell it; one that was sought and appeared is told for as long as after a command.
    fn goes_on(&mut self, now: Instant, is_listed: impl FnOnce() -> bool) -> bool {
        if self.sought_until.is_some() && is_listed() {
            *self = Self::of_command(now);
        }
        self.until > now || self.sought_until.is_some_and(|until| until > now)
    }
}

/// The demand for the list, and how exact the list is. Instants are milliseconds since `epoch`.
struct Interest {
    epoch: Instant,
    /// The last request for the list, plus one; 0: there was none.
    asked: AtomicU64,
    /// The request that ended the last quiet time, plus one.
    woken: AtomicU64,
    /// The next read is for somebody who looks.
    demanded: AtomicBool,
    /// Demands for an exact read so far.
    exact: AtomicU64,
    /// Demands of those that the read under way serves.
    serving: AtomicU64,
    /// The last read was a quiet one: the list may be some seconds behind.
    quiet: AtomicBool,
    /// Torrents that reads up to this moment tell as they are.
    fresh: Mutex<HashMap<String, Fresh>>,
}

impl Interest {
    fn new() -> Self {
        Self {
            epoch: Instant::now(),
            asked: AtomicU64::new(0),
            woken: AtomicU64::new(0),
            demanded: AtomicBool::new(false),
            exact: AtomicU64::new(0),
            serving: AtomicU64::new(0),
            quiet: AtomicBool::new(false),
            fresh: Mutex::default(),
        }
    }

    fn now(&self) -> u64 {
        u64::try_from(self.epoch.elapsed().as_millis()).map_or(u64::MAX, |ms| ms.saturating_add(1))
    }

    fn is_recent(now: u64, then: u64) -> bool {
        then > 0 && Duration::from_millis(now.saturating_sub(then)) <= WATCHED_AFTER_REQUEST
    }

    /// Notes a request for the list. Answers the time that the request should wait for an exact list; `None` if it need
    /// not wait.
    fn note_request(&self) -> Option<Duration> {
        let now = self.now();
        let before = self.asked.swap(now, Ordering::SeqCst);
        if !Self::is_recent(now, before) {
            self.woken.store(now, Ordering::SeqCst);
        }
        if !self.quiet.load(Ordering::SeqCst) {
            return None;
        }
        let waited = Duration::from_millis(now.saturating_sub(self.woken.load(Ordering::SeqCst)));
        PATIENCE.checked_sub(waited).filter(|left| !left.is_zero())
    }
}

/// The part of an engine, beside its driver, that is fixed when it is loaded.
#[derive(Debug)]
pub struct Loading {
    /// The instant of loading.
    pub at: Timestamp,
    /// The last `seq` an earlier configuration of it used.
    pub first_seq: u64,
    /// The configuration as it is stored, secrets encrypted.
    pub config: Map<String, Value>,
    pub path_mappings: Vec<PathMapping>,
}

pub struct Engine {
    pub id: Arc<str>,
    pub kind: String,
    pub driver: Arc<dyn EngineDriver>,
    /// Time limit on the silence of its client.
    pub timeout: Duration,
    /// Records of the torrents that were added through us.
    pub intakes: Intakes,
    pub loading: Loading,
    /// Its health: whether it answers when it is asked.
    pub pulse: Pulse,
    name: ArcSwap<String>,
    snapshot: ArcSwapOption<Snapshot>,
    status: ArcSwapOption<EngineStatus>,
    started: AtomicU64,
    reads: watch::Sender<Reads>,
    wake: Notify,
    interest: Interest,
    /// Bytes free where its client saves, as it told last.
    free_bytes: ArcSwapOption<u64>,
    confirmed_at: ArcSwapOption<Timestamp>,
    /// It was deleted: nothing more of it is asked, stored or shown.
    discarded: AtomicBool,
    /// Ends its sync loop.
    stop: OnceLock<CancellationToken>,
}

impl Engine {
    pub fn new(
        id: &str,
        name: &str,
        kind: &str,
        driver: Arc<dyn EngineDriver>,
        timeout: Duration,
        intakes: Intakes,
        loading: Loading,
    ) -> Arc<Self> {
        Arc::new(Self {
            id: id.into(),
            kind: kind.to_owned(),
            driver,
            timeout,
            intakes,
            loading,
            pulse: Pulse::default(),
            name: ArcSwap::from_pointee(name.to_owned()),
            snapshot: ArcSwapOption::empty(),
            status: ArcSwapOption::empty(),
            started: AtomicU64::new(0),
            reads: watch::Sender::default(),
            wake: Notify::new(),
            interest: Interest::new(),
            free_bytes: ArcSwapOption::empty(),
            confirmed_at: ArcSwapOption::empty(),
            discarded: AtomicBool::new(false),
            stop: OnceLock::new(),
        })
    }

    pub fn name(&self) -> Arc<String> {
        self.name.load_full()
    }

    pub fn rename(&self, name: &str) {
        if **self.name.load() != name {
            self.name.store(Arc::new(name.to_owned()));
        }
    }

    /// Refuses what its client cannot, before it is asked.
    pub fn check_ability(&self, ability: &'static Ability) -> Result<(), TorrentsError> {
        if self.driver.has(ability.word) {
            Ok(())
        } else {
            Err(self.lacks(ability))
        }
    }

    /// Error of an ability that its client lacks.
    pub fn lacks(&self, ability: &'static Ability) -> TorrentsError {
        TorrentsError::Lacks {
            engine: self.name().to_string(),
            ability,
        }
    }

    /// Bytes free where its client saves; `None`: it does not tell, or does not answer now.
    pub fn free_bytes(&self) -> Option<u64> {
        self.free_bytes.load().as_deref().copied()
    }

    /// Notes the space that the client tells with its list; an answer without it changes nothing.
    pub fn note_free_bytes(&self, free_bytes: Option<u64>) {
        if let Some(bytes) = free_bytes {
            self.free_bytes.store(Some(Arc::new(bytes)));
        }
    }

    /// Forgets the space: the client does not answer.
    pub(super) fn forget_free_bytes(&self) {
        self.free_bytes.store(None);
    }

    pub fn snapshot(&self) -> Option<Arc<Snapshot>> {
        self.snapshot.load_full()
    }

    /// The last `seq` this engine used.
    pub fn seq(&self) -> u64 {
        self.snapshot
            .load()
            .as_ref()
            .map_or(self.loading.first_seq, |snapshot| snapshot.seq)
    }

    /// The snapshot that the next delta applies to.
    pub(super) fn base(&self, at: Timestamp) -> Arc<Snapshot> {
        self.snapshot()
            .unwrap_or_else(|| Arc::new(Snapshot::empty(&self.id, self.loading.first_seq, at)))
    }

    pub(super) fn show(&self, snapshot: Arc<Snapshot>) {
        self.snapshot.store(Some(snapshot));
    }

    pub fn status(&self) -> Option<Arc<EngineStatus>> {
        self.status.load_full()
    }

    /// True if its last read failed.
    pub fn is_down(&self) -> bool {
        self.status.load().as_ref().is_some_and(|status| !status.online)
    }

    /// The instant since when the engine is in this state; `at` if the state is new.
    pub(super) fn since(&self, online: bool, limited: bool, at: Timestamp) -> Timestamp {
        let before = self.status.load();
        let now = (online, limited);
        let same = before
            .as_ref()
            .filter(|before| (before.online, before.limited.is_some()) == now);
        same.map_or(at, |before| before.since)
    }

    pub(super) fn set_status(&self, status: EngineStatus) {
        self.status.store(Some(Arc::new(status)));
    }

    /// Sets the token that ends its sync loop.
    pub(super) fn ends_by(&self, stop: &CancellationToken) {
        // A loop that begins again after a panic ends by the same token.
        let _ = self.stop.set(stop.clone());
    }

    /// Ends everything that is done for an engine that was deleted.
    pub fn discard(&self) {
        self.discarded.store(true, Ordering::SeqCst);
        if let Some(stop) = self.stop.get() {
            stop.cancel();
        }
    }

    pub fn is_discarded(&self) -> bool {
        self.discarded.load(Ordering::SeqCst)
    }

    pub(super) fn begin_read(&self) -> u64 {
        self.started.fetch_add(1, Ordering::SeqCst) + 1
    }

    pub(super) fn end_read(&self, number: u64, error: Option<EngineError>) {
        self.reads.send_replace(Reads {
            finished: number,
            served: self.interest.serving.load(Ordering::SeqCst),
            error,
        });
    }

    /// Notes what a read asked for, before it ends. `at` is none when it failed.
    pub fn note_read(&self, attention: Attention, at: Option<Timestamp>) {
        // After a failure everything is read again, and nobody waits for an engine that is gone.
        let quiet = at.is_some() && attention == Attention::Quiet;
        self.interest.quiet.store(quiet, Ordering::SeqCst);
        if let Some(at) = at.filter(|_| !quiet) {
            self.confirmed_at.store(Some(Arc::new(at)));
        }
    }

    /// Instant of the last answer of the client to an exact read, or to one for somebody who looks: there a client that must work for
    /// each torrent may leave out up to 10 s of what happened to torrents at rest.
    pub fn confirmed_at(&self) -> Option<Timestamp> {
        self.confirmed_at.load().as_deref().copied()
    }

    /// True if somebody demanded an exact read, which the coming read then has to be.
    pub(super) fn is_exact_wanted(&self) -> bool {
        let demands = self.interest.exact.load(Ordering::SeqCst);
        self.interest.serving.store(demands, Ordering::SeqCst);
        demands > self.reads.borrow().served
    }

    /// True if somebody asked for the list lately, or for a read at once; that request is then served by the coming
    /// read.
    pub(super) fn is_wanted(&self) -> bool {
        let demanded = self.interest.demanded.swap(false, Ordering::SeqCst);
        demanded || Interest::is_recent(self.interest.now(), self.interest.asked.load(Ordering::SeqCst))
    }

    /// Has the reads of the next seconds tell these torrents as they are, as far as there is room.
    pub fn note_fresh(&self, hashes: &[String]) {
        let fresh = Fresh::of_command(Instant::now());
        self.put_fresh(hashes, |known| Fresh {
            // One that is still sought is not forgotten by a command.
            sought_until: known.and_then(|known| known.sought_until),
            ..fresh
        });
    }

    /// Has the reads ask for torrents that were just handed over, by every hash that their client may list them under, until they
    /// are listed, for a minute at most: clients list some later than they take them, and a sparing read tells no others.
    pub fn note_added(&self, hashes: &[String]) {
        let fresh = Fresh::of_addition(Instant::now());
        self.put_fresh(hashes, |_| fresh);
    }

    fn put_fresh(&self, hashes: &[String], make: impl Fn(Option<Fresh>) -> Fresh) {
        let mut all = self.interest.fresh.lock().ignore_poison();
        for hash in hashes {
            let known = all.get(hash).copied();
            if all.len() < FRESH_LIMIT || known.is_some() {
                all.insert(hash.clone(), make(known));
            }
        }
    }

    /// Torrents that the coming read tells as they are.
    pub(super) fn fresh(&self) -> Vec<String> {
        let now = Instant::now();
        let snapshot = self.snapshot();
        let is_listed = |hash: &str| snapshot.as_ref().is_some_and(|list| list.get(hash).is_some());
        let mut fresh = self.interest.fresh.lock().ignore_poison();
        fresh.retain(|hash, fresh| fresh.goes_on(now, || is_listed(hash)));
        fresh.keys().cloned().collect()
    }

    /// True if the last read was a quiet one.
    pub(super) fn is_quiet(&self) -> bool {
        self.interest.quiet.load(Ordering::SeqCst)
    }

    /// Ends the read under way with this error, because it will not end by itself.
    pub(super) fn give_up_read(&self, error: EngineError) {
        self.end_read(self.started.load(Ordering::SeqCst), Some(error));
    }

    /// Asks for a read now instead of at the next tick, as for somebody who looks.
    pub fn poke(&self) {
        self.interest.demanded.store(true, Ordering::SeqCst);
        self.wake.notify_one();
    }

    pub(super) async fn poked(&self) {
        self.wake.notified().await;
    }

    /// Has the client read again and waits until that is shown, or for `patience`.
    pub async fn refresh(&self, patience: Duration) {
        let next = self.started.load(Ordering::SeqCst) + 1;
        self.poke();
        let mut reads = self.reads.subscribe();
        // Running out of patience, or of the loop, is fine: the next tick shows it.
        let _ = tokio::time::timeout(patience, reads.wait_for(|reads| reads.finished >= next)).await;
    }

    /// Has a change shown soon. `wait`: returns only when it is shown, or after [`SHOW_LIMIT`], so that the next request sees it.
    pub async fn show_change(&self, wait: bool) {
        if wait {
            self.refresh(SHOW_LIMIT).await;
        } else {
            self.poke();
        }
    }

    /// Has the client tell its whole list as it is now, and waits until that is shown; an error when it could not, or not within
    /// `patience`.
    pub async fn refresh_exactly(&self, patience: Duration) -> Result<(), EngineError> {
        let demand = self.interest.exact.fetch_add(1, Ordering::SeqCst) + 1;
        let mut reads = self.reads.subscribe();
        self.poke();
        let read = tokio::time::timeout(patience, reads.wait_for(|reads| reads.served >= demand)).await;
        match read {
            Ok(Ok(reads)) => reads.error.clone().map_or(Ok(()), Err),
            Ok(Err(_)) => Err(EngineError::Unreachable("it is being reloaded".into())),
            Err(_) => {
                let text = format!("its list could not be read within {} s", patience.as_secs());
                Err(EngineError::Timeout(text))
            }
        }
    }

    /// The last snapshot, kept up for somebody who looks from now on for a while. After a quiet time it waits for a fresh read, but not long.
    /// Before the first snapshot: waits for the read under way and says why there is none.
    pub async fn listed(&self) -> Result<Arc<Snapshot>, EngineError> {
        let patience = self.interest.note_request();
        if let Some(snapshot) = self.snapshot() {
            let Some(patience) = patience else {
                return Ok(snapshot);
            };
            self.refresh(patience).await;
            return Ok(self.snapshot().unwrap_or(snapshot));
        }
        let mut reads = self.reads.subscribe();
        let first = tokio::time::timeout(self.timeout, reads.wait_for(|reads| reads.finished > 0)).await;
        let error = match first {
            Ok(Ok(reads)) => reads.error.clone(),
            Ok(Err(_)) => None,
            Err(_) => Some(EngineError::Timeout("its first list is still being read".into())),
        };
        match (self.snapshot(), error) {
            (Some(snapshot), _) => Ok(snapshot),
            (None, Some(error)) => Err(error),
            (None, None) => Err(EngineError::Unreachable("it is being reloaded".into())),
        }
    }
}

/// The realtime channel's view of an engine.
pub struct EngineSource(pub Arc<Engine>);

impl StateSource for EngineSource {
    fn room(&self) -> Room {
        Room::Perm(Permission::TorrentsView)
    }

    fn event(&self) -> &'static str {
        "torrents:update"
    }

    fn snapshot(&self) -> (u64, Bytes) {
        let snapshot = self.0.base(Timestamp::from_ms(0));
        (snapshot.seq, snapshot.full_message())
    }

    fn full_list(&self) -> Bytes {
        self.0.base(Timestamp::from_ms(0)).list_message()
    }
}
