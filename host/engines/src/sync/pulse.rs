//! Checks that an engine answers, made so that a hanging engine delays nobody.
//!
//! Bounds: one question under way an engine, however many want to know; it ends by the driver's own deadlines.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use qm_kernel::Ctx;
use qm_ports::engine::EngineDriver;
use tokio::sync::watch;
use tokio::time::Instant;

use super::engine::{Engine, EngineStatus};
use crate::dto::engines::HealthView;
use crate::error::describe;

/// The last answer of one engine, and whether the next one is awaited.
#[derive(Debug, Default)]
pub struct Pulse {
    asking: AtomicBool,
    latest: watch::Sender<Option<HealthView>>,
}

/// A question under way; once dropped, the next one may be asked.
struct Asking(Arc<Engine>);

impl Drop for Asking {
    fn drop(&mut self) {
        self.0.pulse.asking.store(false, Ordering::SeqCst);
    }
}

impl Pulse {
    /// The last answer.
    pub fn latest(&self) -> Option<HealthView> {
        self.latest.borrow().clone()
    }
}

/// Asks an engine, or joins whoever does. `None` when it does not answer within `patience`; the question goes on.
pub async fn ask(engine: &Arc<Engine>, ctx: &Ctx, patience: Duration) -> Option<HealthView> {
    let mut answers = engine.pulse.latest.subscribe();
    if !engine.pulse.asking.swap(true, Ordering::SeqCst) {
        let (asking, ctx) = (Asking(engine.clone()), ctx.clone());
        tokio::spawn(async move {
            let engine = &asking.0;
            let health = ask_driver(&*engine.driver, &engine.name(), &ctx).await;
            let engine = engine.clone();
            drop(asking);
            engine.pulse.latest.send_replace(Some(health));
        });
    }
    let answered = tokio::time::timeout(patience, answers.changed()).await;
    answered
        .is_ok_and(|changed| changed.is_ok())
        .then(|| engine.pulse.latest())?
}

/// Asks a driver for its health; `name` is what the answer calls it.
pub async fn ask_driver(driver: &dyn EngineDriver, name: &str, ctx: &Ctx) -> HealthView {
    let started = Instant::now();
    match driver.health().await {
        Ok(health) => HealthView::online(health.version, started.elapsed(), ctx.now()),
        Err(error) => HealthView::offline(describe(name, &error), ctx.now()),
    }
}

/// The health of an engine without asking it: its last answer, or the end of its last read, whichever is newer.
pub fn known(engine: &Engine, ctx: &Ctx) -> HealthView {
    let latest = engine.pulse.latest();
    let is_older = |status: &EngineStatus| latest.as_ref().is_none_or(|latest| latest.checked_at < status.at);
    if let Some(status) = engine.status().filter(|status| is_older(status)) {
        return HealthView {
            online: status.online,
            latency_ms: None,
            version: latest.and_then(|latest| latest.version),
            error: status.error.clone(),
            limited: None,
            free_disk_bytes: None,
            checked_at: status.at,
        };
    }
    latest.unwrap_or_else(|| {
        let error = format!("{} has not answered yet", engine.name());
        HealthView::offline(error, ctx.now())
    })
}
