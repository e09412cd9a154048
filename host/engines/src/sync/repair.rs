//! Name repair: a torrent added by magnet keeps its hash for a name until somebody gives it a better one.
//!
//! Runs beside the loop, never in it. Bounds: five torrents at a time, one round at a time, 10 s a call; a torrent is
//! renamed once in the life of the process, and one without files is looked at again after 5 minutes.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use qm_lanes::IgnorePoison;
use qm_ports::engine::{Command, EngineError, capability};
use qm_torrent_lists::Changes;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use super::engine::Engine;
use crate::model::names;

const PER_ROUND: usize = 5;
const CALL_LIMIT: Duration = Duration::from_secs(10);
const RETRY_AFTER: Duration = Duration::from_mins(5);

#[derive(Clone, Copy)]
enum Plan {
    NotBefore(Instant),
    /// Renamed, or not renamable: left alone from now on.
    Settled,
}

pub struct Repairs {
    engine: Arc<Engine>,
    stop: CancellationToken,
    enabled: bool,
    plans: Arc<Mutex<HashMap<Arc<str>, Plan>>>,
    busy: Arc<AtomicBool>,
}

impl Repairs {
    pub fn new(engine: Arc<Engine>, stop: CancellationToken) -> Self {
        let enabled = engine.driver.has(capability::RENAME);
        Self {
            engine,
            stop,
            enabled,
            plans: Arc::default(),
            busy: Arc::default(),
        }
    }

    /// Notes which of the changed torrents need a name, and starts a round if one is due.
    pub fn run(&self, changes: &Changes) {
        if !self.enabled {
            return;
        }
        let due = self.plan(changes);
        if due.is_empty() || self.busy.swap(true, Ordering::AcqRel) {
            return;
        }
        let (engine, plans, busy, stop) = (
            self.engine.clone(),
            self.plans.clone(),
            self.busy.clone(),
            self.stop.clone(),
        );
        tokio::spawn(async move {
            let round = async {
                for hash in due {
                    let plan = repair(&engine, &hash).await;
                    plans.lock().ignore_poison().insert(hash, plan);
                }
            };
            stop.run_until_cancelled(round).await;
            busy.store(false, Ordering::Release);
        });
    }

    fn plan(&self, changes: &Changes) -> Vec<Arc<str>> {
        let mut plans = self.plans.lock().ignore_poison();
        for entry in &changes.removed {
            plans.remove(&entry.torrent.hash);
        }
        for (_, now) in &changes.changed {
            let hash = &now.torrent.hash;
            if names::is_placeholder(&now.torrent.name, hash) {
                plans
                    .entry(hash.clone())
                    .or_insert_with(|| Plan::NotBefore(Instant::now()));
            } else if matches!(plans.get(hash), Some(Plan::NotBefore(_))) {
                plans.remove(hash);
            }
        }
        let now = Instant::now();
        let is_due = |plan: &Plan| matches!(plan, Plan::NotBefore(at) if *at <= now);
        plans
            .iter()
            .filter(|(_, plan)| is_due(plan))
            .map(|(hash, _)| hash.clone())
            .take(PER_ROUND)
            .collect()
    }
}

async fn repair(engine: &Engine, hash: &str) -> Plan {
    let later = || Plan::NotBefore(Instant::now() + RETRY_AFTER);
    let Ok(Ok(files)) = timeout(CALL_LIMIT, engine.driver.files(hash)).await else {
        return later();
    };
    let paths: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
    let Some(name) = names::suggested(&paths) else {
        return later();
    };
    let hashes = [hash.to_owned()];
    let renamed = timeout(
        CALL_LIMIT,
        engine.order(
            &hashes,
            Command::Rename {
                name: name.to_owned(),
            },
        ),
    )
    .await;
    let outcome: Result<(), EngineError> = match renamed {
        Ok(Ok(outcomes)) => outcomes.into_iter().try_for_each(|outcome| outcome.result),
        Ok(Err(error)) => Err(error),
        Err(_) => Err(EngineError::Timeout("renaming".into())),
    };
    match outcome {
        Ok(()) => engine.poke(),
        Err(error) => {
            tracing::warn!(engine.id = %engine.id, hash, %error, "a torrent kept its placeholder name");
        }
    }
    Plan::Settled
}
