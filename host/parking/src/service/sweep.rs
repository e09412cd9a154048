//! Sweeps over all engines, every five minutes and when somebody asks for one.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::join_all;
use qm_kernel::{Caller, Permission, Timestamp, as_error};
use qm_lanes::IgnorePoison;
use qm_realtime::Room;
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;

use super::rules::audit_entry;
use super::{ParkingLot, TO_PARK};
use crate::error::ParkingError;
use crate::model::summary::Summary;

/// Interval between two sweeps.
const SWEEP_EVERY: Duration = Duration::from_mins(5);
/// Interval between two looks for torrents that somebody has started by hand.
const LOOK_EVERY: Duration = Duration::from_secs(10);
/// Time that a request waits for its sweep.
const PATIENCE: Duration = Duration::from_mins(1);
/// Realtime message that torrents were parked or are alive again.
const UPDATED: &str = "torrents.parking.updated";

/// Sweeps that were asked for, and the last that ended.
pub struct Sweeps {
    /// Requests so far.
    asked: AtomicU64,
    wake: Notify,
    done: watch::Sender<Swept>,
    last_at: Mutex<Timestamp>,
}

/// Result of the last sweep.
#[derive(Clone, Copy, Default)]
struct Swept {
    /// Requests that it served, which had come before it began.
    served: u64,
    /// None: it failed.
    summary: Option<Summary>,
}

impl Sweeps {
    /// The first sweep comes a whole interval later, when engines were read.
    pub fn beginning_at(now: Timestamp) -> Self {
        Self {
            asked: AtomicU64::new(0),
            wake: Notify::new(),
            done: watch::Sender::default(),
            last_at: Mutex::new(now),
        }
    }

    fn is_due(&self, now: Timestamp) -> bool {
        now.since(*self.last_at.lock().ignore_poison()) >= SWEEP_EVERY
    }
}

impl ParkingLot {
    pub const SWEEPS: (&'static str, Duration) = ("torrent_parking", SWEEP_EVERY);

    /// Runs until it is stopped. All sweeps are made here, so that there is one at a time.
    pub async fn sweeps_loop(self: Arc<Self>, stop: CancellationToken) {
        let mandate = self.ground.db.mandate();
        let mut ticks = tokio::time::interval(LOOK_EVERY);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                biased;
                () = stop.cancelled() => break,
                _ = ticks.tick() => {}
                () = self.sweeps.wake.notified() => {}
            }
            if !mandate.holds() {
                continue;
            }
            // What is cut off is ended by the next sweep: rows are stored before a client is told anything.
            if stop.run_until_cancelled(self.work()).await.is_none() {
                break;
            }
        }
    }

    async fn work(&self) {
        if let Err(error) = self.follow_hands().await {
            let error = as_error(&error);
            tracing::warn!(error, "parked torrents that somebody started stay marked for now");
        }
        let asked = self.sweeps.asked.load(Ordering::SeqCst);
        let served = self.sweeps.done.borrow().served;
        let now = self.ground.ctx.now();
        if asked == served && !self.sweeps.is_due(now) {
            return;
        }
        *self.sweeps.last_at.lock().ignore_poison() = now;
        let swept = self.sweep().await;
        if let Err(error) = &swept {
            tracing::warn!(
                error = as_error(error),
                "a sweep of parked torrents failed; the next one tries again"
            );
        }
        self.sweeps.done.send_replace(Swept {
            served: asked,
            summary: swept.ok(),
        });
    }

    /// Passes over all engines. While parking is switched off, only what is under way is ended.
    pub async fn sweep(&self) -> Result<Summary, ParkingError> {
        let rules = self.find_rules().await?;
        let mut engines = self.engines.all();
        engines.retain(|engine| rules.enabled || self.is_under_way(&engine.id));
        let passes = engines.iter().map(|engine| self.pass_engine(engine, &rules));
        let (mut summary, mut failure) = (Summary::default(), None);
        // At once, so that an engine that hangs delays no other.
        for passed in join_all(passes).await {
            match passed {
                Ok(passed) => summary = summary.plus(passed),
                // It was deleted meanwhile.
                Err(ParkingError::NoSuchEngine) => {}
                Err(error) => failure = failure.or(Some(error)),
            }
        }
        if summary.is_news() {
            let room = Room::Perm(Permission::TorrentsView);
            self.hub.emit_json(room, UPDATED, &summary);
        }
        self.drop_turns();
        self.read_book().await?;
        failure.map_or(Ok(summary), Err)
    }

    /// True if torrents of an engine are probed, or are being paused.
    fn is_under_way(&self, engine_id: &str) -> bool {
        let standing = self.standing(engine_id);
        standing.is_some_and(|standing| {
            let mut rows = standing.rows.iter();
            rows.any(|row| row.is_probing() || row.is_unsettled())
        })
    }

    /// Has a sweep made for a caller, and waits for its end. Requests that come while one is under way share the next.
    pub async fn run(&self, caller: Caller<'_>) -> Result<Summary, ParkingError> {
        let mut tx = self.ground.db.begin_write().await?;
        let actor = self
            .ground
            .acting
            .judge(&mut tx, caller.principal, TO_PARK)
            .await?;
        let rules = self.read_rules(&mut tx).await?;
        let entry = audit_entry(&actor, "torrents.parking.run", caller);
        self.ground.audit.record(&mut tx, entry).await?;
        tx.commit().await?;
        if !rules.enabled {
            return Ok(Summary::default());
        }
        let number = self.sweeps.asked.fetch_add(1, Ordering::SeqCst) + 1;
        let mut done = self.sweeps.done.subscribe();
        self.sweeps.wake.notify_one();
        let swept = tokio::time::timeout(PATIENCE, done.wait_for(|swept| swept.served >= number));
        match self.stopping.run_until_cancelled(swept).await {
            None | Some(Ok(Err(_))) => Err(ParkingError::Stopping),
            Some(Err(_)) => Err(ParkingError::Slow),
            Some(Ok(Ok(swept))) => swept.summary.ok_or(ParkingError::Failed),
        }
    }
}
