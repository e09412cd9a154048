//! Limits of speed: setting them, and telling clients what is in force.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use arc_swap::ArcSwap;
use jiff::tz::TimeZone;
use qm_db::Tx;
use qm_engines::model::abilities::GLOBAL_LIMITS;
use qm_engines::{Engine, describe};
use qm_kernel::{Caller, Permission, Timestamp, as_error};
use qm_lanes::IgnorePoison;
use qm_platform::{Actor, AuditEntry};
use qm_ports::engine::{EngineError, RateLimits, RateMode, capability};
use qm_realtime::Room;
use serde::Serialize;
use serde_json::json;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::Limits;
use super::share::audit_entry;
use crate::error::LimitsError;
use crate::model::schedule::Entry;
use crate::model::share::Scope;
use crate::model::speed::{Chosen, Speed, SpeedInput, Wanted, mode_word};
use crate::model::views::{SpeedView, Standing};
use crate::repo;

/// Interval between two looks at the clock.
const INTERVAL: Duration = Duration::from_secs(2);
/// Interval between two looks whether the client still has what it was told.
const CHECK_EVERY: Duration = Duration::from_mins(1);
/// Pause after a client refused, doubled each time.
const FIRST_PAUSE: Duration = Duration::from_secs(5);
const LONGEST_PAUSE: Duration = Duration::from_mins(5);
/// Permissions of whoever sets speeds.
pub const TO_SET: &[Permission] = &[Permission::EnginesManage];
/// Permissions of whoever chooses between the sets.
pub const TO_CHOOSE: &[Permission] = &[Permission::TorrentsManageLimits];

/// Speeds of all engines in memory.
#[derive(Default)]
pub struct Speeds {
    rows: ArcSwap<HashMap<String, Speed>>,
    zone: ArcSwap<Option<TimeZone>>,
    reading: tokio::sync::Mutex<()>,
    /// A change that was stored could not be read.
    stale: AtomicBool,
    told: Mutex<HashMap<String, Arc<tokio::sync::Mutex<Told>>>>,
    /// Standing of the last pass, for those who look.
    shown: Mutex<HashMap<String, Standing>>,
    changed: Notify,
}

/// Things that a client was told.
#[derive(Default)]
struct Told {
    engine: Weak<Engine>,
    /// Instant since when the client answers.
    since: Option<Timestamp>,
    wanted: Option<Wanted>,
    /// Sets of limits: what was asked, and what the client made of it.
    sets: Vec<(RateMode, RateLimits, RateLimits)>,
    checked_at: Option<Timestamp>,
    failures: u32,
    retry_at: Option<Timestamp>,
}

/// Realtime message `engine:speed`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SpeedMessage<'a> {
    engine_id: &'a str,
    chosen: &'a str,
    mode: &'a str,
    /// Bytes per second; 0 is no limit.
    upload: u64,
    download: u64,
    until: Option<Timestamp>,
    error: Option<&'a str>,
    at: Timestamp,
}

impl Limits {
    pub const SPEEDS: (&'static str, Duration) = ("speed_limits", INTERVAL);

    /// Runs until it is stopped. Each engine is asked by a task of its own.
    pub async fn speed_loop(self: Arc<Self>, stop: CancellationToken) {
        let mandate = self.ground.db.mandate();
        let mut changes = self.ground.db.changes();
        let mut passes: JoinSet<()> = JoinSet::new();
        let mut ticks = tokio::time::interval(INTERVAL);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                biased;
                () = stop.cancelled() => break,
                _ = ticks.tick() => {}
                () = self.speeds.changed.notified() => {}
            }
            while passes.try_join_next().is_some() {}
            if !mandate.holds() {
                continue;
            }
            if self.speeds.stale.load(Ordering::SeqCst)
                && let Err(error) = self.read_speeds().await
            {
                tracing::warn!(
                    error = as_error(&error),
                    "limits of speed that were changed cannot be read"
                );
            }
            let is_any = !self.speeds.rows.load().is_empty();
            if is_any
                && changes.any()
                && let Err(error) = self.follow_zone().await
            {
                changes.forget();
                tracing::warn!(
                    error = as_error(&error),
                    "the time zone of the schedules cannot be read"
                );
            }
            let rows = self.speeds.rows.load_full();
            for engine in self.engines.all() {
                if let Some(speed) = rows.get(&*engine.id).cloned() {
                    let limits = self.clone();
                    passes.spawn(async move { limits.pass_speed(&engine, &speed).await });
                }
            }
        }
        passes.shutdown().await;
    }

    /// Reads the speeds again.
    pub(super) async fn read_speeds(&self) -> Result<(), LimitsError> {
        let _turn = self.speeds.reading.lock().await;
        let mut tx = self.ground.db.begin_read().await?;
        let rows = repo::speed::list(&mut tx).await?;
        self.speeds.rows.store(Arc::new(rows.into_iter().collect()));
        self.read_zone(&mut tx).await?;
        self.speeds.stale.store(false, Ordering::SeqCst);
        Ok(())
    }

    /// Reads the zone of the operator again, which may have been changed.
    async fn read_zone(&self, tx: &mut Tx) -> Result<(), LimitsError> {
        let zone = self.ground.settings.find_zone(tx).await?;
        if self.speeds.zone.load().as_ref().as_ref() != Some(&zone) {
            self.speeds.zone.store(Arc::new(Some(zone)));
        }
        Ok(())
    }

    async fn follow_zone(&self) -> Result<(), LimitsError> {
        let mut tx = self.ground.db.begin_read().await?;
        self.read_zone(&mut tx).await
    }

    fn zone(&self) -> TimeZone {
        let zone = self.speeds.zone.load();
        zone.as_ref().clone().unwrap_or(TimeZone::UTC)
    }

    /// Tells a client what is in force, unless it has it already.
    pub(super) async fn pass_speed(&self, engine: &Arc<Engine>, speed: &Speed) {
        let told = {
            let mut all = self.speeds.told.lock().ignore_poison();
            all.entry(engine.id.to_string()).or_default().clone()
        };
        let Ok(mut told) = told.try_lock() else { return };
        let now = self.ground.ctx.now();
        let wanted = speed.wanted(speed.schedule.mode_at(now, &self.zone()));
        let Some(status) = engine.status().filter(|status| status.online) else {
            return;
        };
        let is_new = told.wanted != Some(wanted)
            || told.since != Some(status.since)
            || !std::ptr::eq(told.engine.as_ptr(), Arc::as_ptr(engine));
        let is_due = told.checked_at.is_none_or(|at| now.since(at) >= CHECK_EVERY);
        let rests = told.wanted == Some(wanted) && told.retry_at.is_some_and(|at| at > now);
        if rests || !(is_new || is_due) {
            return;
        }
        let result = tell(engine, wanted, &mut told).await;
        told.wanted = Some(wanted);
        told.since = Some(status.since);
        told.engine = Arc::downgrade(engine);
        told.checked_at = Some(now);
        let problem = match result {
            Ok(()) => {
                (told.failures, told.retry_at) = (0, None);
                None
            }
            Err(error) => {
                let pause = FIRST_PAUSE
                    .saturating_mul(1 << told.failures.min(8))
                    .min(LONGEST_PAUSE);
                told.failures += 1;
                told.retry_at = Some(now.plus(pause));
                // It is asked again, though nothing changed meanwhile.
                told.checked_at = None;
                Some(describe(&engine.name(), &error))
            }
        };
        let standing = Standing {
            mode: wanted.mode,
            limits: wanted.in_force(),
            problem,
        };
        self.show_standing(engine, speed, standing);
    }

    /// Keeps the result of a pass, and tells those who look when it is another one.
    fn show_standing(&self, engine: &Engine, speed: &Speed, standing: Standing) {
        let before = {
            let mut shown = self.speeds.shown.lock().ignore_poison();
            shown.insert(engine.id.to_string(), standing.clone())
        };
        if before.as_ref() == Some(&standing) {
            return;
        }
        if let Some(problem) = &standing.problem {
            tracing::warn!(engine.id = %engine.id, problem, "limits of speed are not in force; they are tried again");
        }
        let now = self.ground.ctx.now();
        let message = SpeedMessage {
            engine_id: &engine.id,
            chosen: speed.chosen.as_str(),
            mode: mode_word(standing.mode),
            upload: standing.limits.upload.unwrap_or(0),
            download: standing.limits.download.unwrap_or(0),
            until: self.find_until(speed, now),
            error: standing.problem.as_deref(),
            at: now,
        };
        let room = Room::Perm(Permission::TorrentsView);
        self.hub.emit_json(room, "engine:speed", &message);
    }

    fn find_until(&self, speed: &Speed, now: Timestamp) -> Option<Timestamp> {
        (speed.chosen == Chosen::Auto).then(|| speed.schedule.next_change(now, &self.zone()))?
    }

    /// Speeds of an engine.
    pub async fn show_speed(&self, engine_id: &str) -> Result<SpeedView, LimitsError> {
        let mut tx = self.ground.db.begin_read().await?;
        if !repo::share::has_engine(&mut tx, engine_id).await? {
            return Err(LimitsError::NoSuchEngine);
        }
        let speed = repo::speed::find(&mut tx, engine_id).await?;
        self.read_zone(&mut tx).await?;
        drop(tx);
        let now = self.ground.ctx.now();
        let scheduled = |speed: &Speed| speed.mode(speed.schedule.mode_at(now, &self.zone()));
        let standing = self.speeds.shown.lock().ignore_poison().get(engine_id).cloned();
        Ok(SpeedView {
            engine_id: engine_id.to_owned(),
            mode: speed.as_ref().map(scheduled),
            until: speed.as_ref().and_then(|speed| self.find_until(speed, now)),
            standing: standing.filter(|_| speed.is_some()),
            speed,
        })
    }

    /// Begins a change of an engine's speeds, which the caller may make.
    async fn begin_change(
        &self,
        caller: Caller<'_>,
        engine_id: &str,
        needed: &[Permission],
    ) -> Result<(Tx, Actor), LimitsError> {
        let mut tx = self.ground.db.begin_write().await?;
        let acting = &self.ground.acting;
        let actor = acting.judge(&mut tx, caller.principal, needed).await?;
        if repo::share::has_engine(&mut tx, engine_id).await? {
            Ok((tx, actor))
        } else {
            Err(LimitsError::NoSuchEngine)
        }
    }

    /// Replaces the limits and the time table of an engine. The chosen mode stays.
    pub async fn set_speed(
        &self,
        caller: Caller<'_>,
        engine_id: &str,
        input: SpeedInput,
    ) -> Result<SpeedView, LimitsError> {
        let (mut tx, actor) = self.begin_change(caller, engine_id, TO_SET).await?;
        if let Some(engine) = self.engines.get(engine_id) {
            engine.check_ability(&GLOBAL_LIMITS)?;
        }
        let before = repo::speed::find(&mut tx, engine_id).await?;
        let speed = Speed {
            normal: input.normal,
            alternative: input.alternative,
            schedule: input.schedule,
            chosen: before.map_or(Chosen::Auto, |before| before.chosen),
            set_at: None,
        };
        repo::speed::put(&mut tx, engine_id, &speed, self.ground.ctx.now()).await?;
        let entries: Vec<String> = speed.schedule.entries().iter().map(Entry::describe).collect();
        let shown = |limits: RateLimits| json!({ "upload": limits.upload, "download": limits.download });
        let entry = AuditEntry {
            metadata: Some(json!({
                "normal": shown(speed.normal), "alternative": shown(speed.alternative), "schedule": entries,
            })),
            ..actor.entry("engines.speed.set", caller.client)
        };
        self.end_change(tx, engine_id, Some(entry)).await
    }

    /// Chooses the set of limits that is in force, or the time table.
    pub async fn choose_mode(
        &self,
        caller: Caller<'_>,
        engine_id: &str,
        chosen: Chosen,
    ) -> Result<SpeedView, LimitsError> {
        let (mut tx, actor) = self.begin_change(caller, engine_id, TO_CHOOSE).await?;
        let before = repo::speed::find(&mut tx, engine_id).await?;
        let mut speed = before.ok_or_else(|| LimitsError::NoSpeed(engine_id.to_owned()))?;
        speed.chosen = chosen;
        repo::speed::put(&mut tx, engine_id, &speed, self.ground.ctx.now()).await?;
        let entry = AuditEntry {
            metadata: Some(json!({ "mode": chosen.as_str() })),
            ..actor.entry("engines.speed.mode", caller.client)
        };
        self.end_change(tx, engine_id, Some(entry)).await
    }

    /// Forgets the limits of an engine: the client keeps what it has, and is told nothing more.
    pub async fn clear_speed(&self, caller: Caller<'_>, engine_id: &str) -> Result<SpeedView, LimitsError> {
        let (mut tx, actor) = self.begin_change(caller, engine_id, TO_SET).await?;
        let had_any = repo::speed::delete(&mut tx, engine_id).await?;
        let entry = had_any.then(|| actor.entry("engines.speed.clear", caller.client));
        let view = self.end_change(tx, engine_id, entry).await?;
        self.speeds.told.lock().ignore_poison().remove(engine_id);
        self.speeds.shown.lock().ignore_poison().remove(engine_id);
        Ok(view)
    }

    /// Commits a change of an engine's speeds with its audit row, and has the passes use it.
    async fn end_change(
        &self,
        mut tx: Tx,
        engine_id: &str,
        entry: Option<AuditEntry<'_>>,
    ) -> Result<SpeedView, LimitsError> {
        if let Some(entry) = entry {
            let scope = Scope::Engine(engine_id.to_owned());
            self.ground
                .audit
                .record(&mut tx, audit_entry(&scope, entry))
                .await?;
        }
        tx.commit().await?;
        let read = self.read_speeds().await;
        read.inspect_err(|_| self.speeds.stale.store(true, Ordering::SeqCst))?;
        self.speeds.changed.notify_one();
        self.show_speed(engine_id).await
    }

    /// Speeds of one engine in memory.
    #[cfg(test)]
    pub(super) fn speed_of(&self, engine_id: &str) -> Option<Speed> {
        self.speeds.rows.load().get(engine_id).cloned()
    }
}

/// Tells a client what it does not have.
async fn tell(engine: &Engine, wanted: Wanted, told: &mut Told) -> Result<(), EngineError> {
    let has_two = engine.driver.has(capability::ALTERNATIVE_LIMITS);
    let sets = if has_two {
        vec![
            (RateMode::Normal, wanted.normal),
            (RateMode::Alternative, wanted.alternative),
        ]
    } else {
        vec![(RateMode::Normal, wanted.in_force())]
    };
    for (mode, limits) in sets {
        let now = engine.driver.rate_limits(mode).await?;
        let known = told.sets.iter().find(|(set, ..)| *set == mode);
        // A client may round what it is told: what it made of it is as good.
        let has_it = now == limits || known.is_some_and(|(_, asked, made)| *asked == limits && *made == now);
        if has_it {
            continue;
        }
        engine.driver.set_rate_limits(mode, limits).await?;
        let made = engine.driver.rate_limits(mode).await?;
        told.sets.retain(|(set, ..)| *set != mode);
        told.sets.push((mode, limits, made));
    }
    if has_two && engine.driver.rate_mode().await? != wanted.mode {
        engine.driver.set_rate_mode(wanted.mode).await?;
    }
    Ok(())
}
