//! The place of one plugin id: the code in use, if any, and the lanes that use it.
//!
//! An engine that is configured holds on to the slot, not to the code: swapping the code reaches every lane, and a lane that is
//! idle lets go of the old code at once, so that it is freed deterministically.

use std::sync::atomic::{AtomicI64, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, Weak};

use qm_lanes::IgnorePoison;
use qm_plugin_guest::refusals::Refusals;
use tokio::sync::watch;

use crate::core::load::Loaded;
use crate::core::pins::Granted;
use crate::core::status::{LaneState, LaneStatus};

/// Counters of what happened since the host, or the lane, was started.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) calls: AtomicU64,
    pub(crate) traps: AtomicU64,
    pub(crate) timeouts: AtomicU64,
    pub(crate) restarts: AtomicU64,
}

/// One plugin id.
pub(crate) struct Slot {
    pub(crate) id: String,
    code: watch::Sender<Option<Arc<Loaded>>>,
    pub(crate) totals: Counters,
    pub(crate) log_dropped: Arc<AtomicU64>,
    /// Grants of an administrator to this or an older file.
    granted: Mutex<Granted>,
    /// When its id was pinned, in milliseconds: of two plugins that claim one thing the older one has it.
    pinned_at: AtomicI64,
    pub(crate) refusals: Arc<Refusals>,
    lanes: Mutex<Vec<Weak<LaneStats>>>,
}

impl Slot {
    pub(crate) fn new(id: &str) -> Arc<Self> {
        Arc::new(Self {
            id: id.to_owned(),
            code: watch::Sender::new(None),
            totals: Counters::default(),
            log_dropped: Arc::default(),
            granted: Mutex::default(),
            pinned_at: AtomicI64::new(i64::MAX),
            refusals: Arc::default(),
            lanes: Mutex::default(),
        })
    }

    /// The code in use.
    pub(crate) fn code(&self) -> Option<Arc<Loaded>> {
        self.code.borrow().clone()
    }

    /// When its id was pinned, in milliseconds.
    pub(crate) fn pinned_at(&self) -> i64 {
        self.pinned_at.load(Relaxed)
    }

    pub(crate) fn was_pinned(&self, at: i64) {
        self.pinned_at.store(at, Relaxed);
    }

    /// Tells whether the code in use asks for something that somebody has to grant.
    pub(crate) fn needs_grants(&self) -> bool {
        self.code().is_some_and(|code| code.needs_grants())
    }

    /// The part that `code` may use of what it asks for: what was granted, and all when it was built together with the server,
    /// which grants it by its hash.
    pub(crate) fn granted_to(&self, code: &Loaded) -> Granted {
        let granted = self.granted.lock().ignore_poison();
        let cut = |asked: &[String], granted: &[String]| {
            let kept = asked
                .iter()
                .filter(|word| code.first_party || granted.contains(word));
            kept.cloned().collect()
        };
        Granted {
            hosts: cut(&code.about.hosts, &granted.hosts),
            capabilities: cut(&code.about.asks, &granted.capabilities),
        }
    }

    /// Other things are granted; calls that run end with what they began with.
    pub(crate) fn grant(&self, now: Granted) {
        let mut granted = self.granted.lock().ignore_poison();
        if *granted != now {
            *granted = now;
            self.refusals.begin_anew();
        }
    }

    /// Changes of the code in use.
    pub(crate) fn watch(&self) -> watch::Receiver<Option<Arc<Loaded>>> {
        self.code.subscribe()
    }

    /// Puts other code in use, or none. Calls that run end on the code they began with.
    pub(crate) fn put(&self, code: Option<Arc<Loaded>>) {
        self.code.send_replace(code);
    }

    fn lanes(&self) -> MutexGuard<'_, Vec<Weak<LaneStats>>> {
        self.lanes.lock().ignore_poison()
    }

    pub(crate) fn add_lane(&self, stats: &Arc<LaneStats>) {
        let mut lanes = self.lanes();
        lanes.retain(|lane| lane.strong_count() > 0);
        lanes.push(Arc::downgrade(stats));
    }

    /// Every lane as it stands, by owner.
    pub(crate) fn lane_statuses(&self) -> Vec<LaneStatus> {
        let mut all: Vec<_> = self
            .lanes()
            .iter()
            .filter_map(Weak::upgrade)
            .map(|lane| lane.status())
            .collect();
        all.sort_by(|a, b| (&a.owner, &a.lane).cmp(&(&b.owner, &b.lane)));
        all
    }

    /// Tells whether any lane uses it.
    pub(crate) fn is_used(&self) -> bool {
        self.lanes().iter().any(|lane| lane.strong_count() > 0)
    }
}

/// The public face of one lane.
pub(crate) struct LaneStats {
    pub(crate) owner: String,
    pub(crate) lane: &'static str,
    pub(crate) counters: Counters,
    pub(crate) memory: Arc<AtomicUsize>,
    phase: Mutex<(LaneState, Option<String>)>,
}

impl LaneStats {
    pub(crate) fn new(owner: &str, lane: &'static str) -> Arc<Self> {
        Arc::new(Self {
            owner: owner.to_owned(),
            lane,
            counters: Counters::default(),
            memory: Arc::default(),
            phase: Mutex::new((LaneState::Idle, None)),
        })
    }

    pub(crate) fn set(&self, state: LaneState, reason: Option<&str>) {
        *self.phase.lock().ignore_poison() = (state, reason.map(str::to_owned));
    }

    fn status(&self) -> LaneStatus {
        let (state, reason) = self.phase.lock().ignore_poison().clone();
        LaneStatus {
            owner: self.owner.clone(),
            lane: self.lane.to_owned(),
            state,
            reason,
            calls: self.counters.calls.load(Relaxed),
            traps: self.counters.traps.load(Relaxed),
            timeouts: self.counters.timeouts.load(Relaxed),
            restarts: self.counters.restarts.load(Relaxed),
            memory_bytes: self.memory.load(Relaxed) as u64,
        }
    }
}
