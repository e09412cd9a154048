//! Use cases of the area. The server constructs [`Automation`].

pub mod backfill;
pub mod book;
mod catalogue;
pub mod edges;
mod execute;
mod explain;
pub mod loops;
#[cfg(test)]
mod migration_tests;
mod powers;
#[cfg(test)]
mod powers_tests;
mod preview;
mod recover;
mod rules;
pub mod runner;
mod schedules;
#[cfg(test)]
mod schedules_tests;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod triggers_tests;

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use prometheus::{IntCounterVec, Opts};
use qm_db::{Db, DbError, Tx};
pub use qm_kernel::Caller;
use qm_kernel::Ctx;
use qm_lanes::IgnorePoison;
use qm_platform::{Acting, Audit, Ground};
use qm_ports::action::{Actions, TorrentRef};
use qm_ports::list::TorrentLists;
use serde_json::{Map, Value};
use tokio::sync::Notify;

use self::book::RuleBook;
use crate::model::guard::Guard;
use crate::model::memory::Memory;
use crate::model::moment::Timed;
use crate::model::run::NewRun;
use crate::repo;

/// Dependencies of the area, supplied by the server.
pub struct AutomationDeps {
    pub ground: Ground,
    pub actions: Arc<dyn Actions>,
    pub torrents: Arc<dyn TorrentLists>,
    /// The rules, shared with the sync loops.
    pub book: Arc<RuleBook>,
}

/// Service of rules and runs.
pub struct Automation {
    db: Db,
    ctx: Ctx,
    audit: Audit,
    acting: Arc<dyn Acting>,
    actions: Arc<dyn Actions>,
    torrents: Arc<dyn TorrentLists>,
    book: Arc<RuleBook>,
    memory: Mutex<Memory>,
    guard: Mutex<Guard>,
    /// Highest sequence number of all runs.
    sequence: AtomicI64,
    /// Wakes the runner: a run is waiting.
    work: Notify,
    /// Wakes the passes: there is room for more runs.
    room: Notify,
    /// Wakes the time tables: half of the runs of a rule have ended.
    scheduled_room: Notify,
    /// Notified when the rules have changed.
    rules_changed: Notify,
    runs: IntCounterVec,
}

impl Automation {
    /// Loads the waiting runs; the loops execute them.
    ///
    /// When the database cannot be read, or another metric has the same name.
    pub async fn start(deps: AutomationDeps) -> Result<Arc<Self>, StartError> {
        let help = Opts::new(
            "quartermaster_automation_runs_total",
            "Runs of rules that have ended.",
        );
        let runs = IntCounterVec::new(help, &["status"])?;
        deps.ground.metrics.register(Box::new(runs.clone()))?;
        let mut tx = deps.ground.db.begin_read().await?;
        let last = repo::runs::last(&mut tx).await?;
        let pairs = repo::runs::pairs(&mut tx).await?;
        drop(tx);
        let memory = Mutex::new(Memory::default());
        let automation = Arc::new(Self {
            db: deps.ground.db,
            ctx: deps.ground.ctx,
            audit: deps.ground.audit,
            acting: deps.ground.acting,
            actions: deps.actions,
            torrents: deps.torrents,
            book: deps.book,
            memory,
            guard: Mutex::default(),
            sequence: AtomicI64::new(last),
            work: Notify::new(),
            room: Notify::new(),
            scheduled_room: Notify::new(),
            rules_changed: Notify::new(),
            runs,
        });
        for (rule_id, hash) in pairs {
            let number = automation.book.number(&rule_id);
            automation.memory().note_begun(number, &hash);
        }
        Ok(automation)
    }

    /// Runs the rules of a trigger whose conditions match an event or its torrent: stored in the transaction
    /// of the event, begun after its commit.
    pub async fn fire(
        self: &Arc<Self>,
        tx: &mut Tx,
        trigger: &str,
        torrent: Option<&TorrentRef>,
        context: &Map<String, Value>,
    ) -> Result<(), DbError> {
        let (rules, zone) = (self.book.rules(), self.book.zone());
        let timed = Timed {
            record: context,
            at: self.ctx.now(),
            zone: &zone,
        };
        let due = rules
            .with_trigger(trigger)
            .filter(|rule| rule.conditions.hold(&timed));
        let due: Vec<&str> = due.map(|rule| rule.id.as_str()).collect();
        if due.is_empty() {
            return Ok(());
        }
        let position = qm_platform::outbox::position(tx).await?;
        let context = Value::Object(context.clone()).to_string();
        for rule_id in due {
            // An effect of the rule may be told as the event it runs for; of a torrent there is one run at a time anyway.
            if torrent.is_none() && repo::runs::acts(tx, rule_id, &context).await? {
                continue;
            }
            let run = self.new_run(rule_id, trigger, torrent, context.clone(), position);
            self.decide(tx, run).await?;
        }
        Ok(())
    }

    fn new_run(
        &self,
        rule_id: &str,
        trigger: &str,
        torrent: Option<&TorrentRef>,
        context: String,
        position: i64,
    ) -> NewRun {
        NewRun {
            id: self.ctx.id(),
            rule_id: rule_id.to_owned(),
            trigger: trigger.to_owned(),
            torrent: torrent.cloned(),
            context,
            position,
            is_backfill: false,
            sequence: self.sequence.fetch_add(1, Ordering::SeqCst) + 1,
        }
    }

    /// Stores a decision, and wakes the runner after the commit.
    async fn decide(self: &Arc<Self>, tx: &mut Tx, run: NewRun) -> Result<(), DbError> {
        if !repo::runs::add(tx, &run, self.ctx.now()).await? {
            return Ok(());
        }
        let number = self.book.number(&run.rule_id);
        let automation = self.clone();
        tx.after_commit(move || {
            if let Some(torrent) = &run.torrent {
                automation.memory().note_begun(number, torrent);
            }
            automation.work.notify_one();
        });
        Ok(())
    }

    fn guard(&self) -> MutexGuard<'_, Guard> {
        self.guard.lock().ignore_poison()
    }

    fn memory(&self) -> MutexGuard<'_, Memory> {
        // No holder of the lock can leave the data half changed.
        self.memory.lock().ignore_poison()
    }
}

/// Reason why the area could not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error(transparent)]
    Database(#[from] DbError),
    #[error("the counters of the rules cannot be registered")]
    Metrics(#[from] prometheus::Error),
}
