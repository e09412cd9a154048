//! Execution of one run: begin, actions in order, result.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures_util::FutureExt as _;
use qm_db::DbError;
use qm_kernel::{PermissionSet, as_error};
use qm_platform::{AuditEntry, AuditResult};
use qm_ports::action::{ActionCall, Occasion, TorrentRef};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::schedules::OF_ONE_RULE;
use super::{Automation, powers};
use crate::model::action::Catalogue;
use crate::model::log::message;
use crate::model::rule::{Rule, type_of, types_of};
use crate::model::run::{Outcome, Run, Waiting};
use crate::model::trigger::{SCHEDULE, occasion_of_run};
use crate::repo;
use crate::repo::logs::NewLine;

/// Pause between two attempts to store the result of a run.
pub(super) const PAUSE: Duration = Duration::from_secs(1);

/// Reason to stop a run.
enum Stop {
    /// It ended otherwise: its rule was deleted, or the server stops.
    Gone,
    Ended(Outcome),
}

impl Automation {
    /// Executes a waiting run. One that cannot begin stays waiting.
    pub(super) async fn execute(&self, waiting: &Waiting, stop: &CancellationToken) {
        let begun = match self.claim(&waiting.id).await {
            Ok(Some(begun)) => begun,
            Ok(None) => return self.note_gone(waiting),
            Err(error) => {
                tracing::warn!(
                    rule = waiting.rule_id,
                    error = as_error(&error),
                    "a rule could not begin"
                );
                // The pause prevents an immediate repetition while the database is unreachable.
                stop.run_until_cancelled(tokio::time::sleep(PAUSE)).await;
                return;
            }
        };
        let (run, rule) = begun;
        let outcome = if !rule.is_enabled {
            Outcome::Failed("The rule was disabled before its turn came".to_owned())
        } else if let Some(outcome) = self.refuse_loop(&run, &rule, stop).await {
            outcome
        } else {
            match self.act(&run, &rule, stop).await {
                Err(Stop::Gone) => return self.note_gone(waiting),
                Err(Stop::Ended(outcome)) => outcome,
                Ok(()) => Outcome::Done,
            }
        };
        self.end_surely(&run, &rule, &outcome, stop).await;
    }

    /// Marks a run as begun. `None`: there is nothing to do any more.
    async fn claim(&self, id: &str) -> Result<Option<(Run, Rule)>, DbError> {
        let mut tx = self.db.begin_write().await?;
        let Some(run) = repo::runs::begin(&mut tx, id).await? else {
            return Ok(None);
        };
        let rule = repo::rules::find(&mut tx, &run.rule_id).await?;
        let Some(rule) = rule else {
            return Ok(None);
        };
        // An edge may have been handled between the decision and now.
        let is_done = match run.torrent.as_ref().filter(|_| run.is_backfill) {
            Some(torrent) => repo::ledger::has(&mut tx, &run.rule_id, torrent).await?,
            None => false,
        };
        if is_done {
            repo::runs::delete(&mut tx, id).await?;
            tx.commit().await?;
            return Ok(None);
        }
        tx.commit().await?;
        Ok(Some((run, rule)))
    }

    /// Runs the remaining actions. The begin of each is stored first.
    async fn act(&self, run: &Run, rule: &Rule, stop: &CancellationToken) -> Result<(), Stop> {
        let failed = |text: String| Stop::Ended(Outcome::Failed(message(&text)));
        let context: Map<String, Value> = serde_json::from_str(&run.context)
            .map_err(|error| failed(format!("What the rule was to run for cannot be read: {error}")))?;
        let occasion = occasion_of_run(&run.trigger, run.torrent.is_some());
        for (step, action) in rule.actions.iter().enumerate().skip(run.step) {
            if step > run.step {
                self.note_step(run, step, stop).await?;
            }
            let catalogue = self.catalogue_of_runs().await;
            if let Some(why) = catalogue.refuses(action, occasion) {
                return Err(failed(why));
            }
            let params = catalogue.filled(action, &context).map_err(failed)?;
            self.wait_for_mandate(stop).await?;
            let powers = self.judge_author(rule, &catalogue, action, stop).await?;
            let call = ActionCall {
                run_id: format!("{}.{step}", run.id),
                torrent: run.torrent.clone().or_else(|| torrent_of(occasion, &context)),
                occasion,
                params,
                context: context.clone(),
                author: rule.author.clone(),
                powers,
            };
            let acting = AssertUnwindSafe(self.actions.run(type_of(action), call)).catch_unwind();
            match acting.await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => return Err(failed(error.to_string())),
                Err(_) => {
                    return Err(failed(format!(
                        "The action \"{}\" ended unexpectedly",
                        type_of(action)
                    )));
                }
            }
        }
        Ok(())
    }

    /// Permissions for the next action: the author's present ones, however old the rule is.
    async fn judge_author(
        &self,
        rule: &Rule,
        catalogue: &Catalogue,
        action: &Value,
        stop: &CancellationToken,
    ) -> Result<PermissionSet, Stop> {
        // The catalogue has refused unknown actions.
        let Some(kind) = catalogue.get(type_of(action)) else {
            return Ok(PermissionSet::empty());
        };
        loop {
            match self.powers_of_run(rule, kind).await {
                Ok(Ok(powers)) => return Ok(powers),
                Ok(Err(why)) => return Err(Stop::Ended(Outcome::Held(message(&why)))),
                Err(error) => tracing::warn!(
                    rule = rule.id,
                    error = as_error(&error),
                    "a rule waits for the database"
                ),
            }
            let pause = tokio::time::sleep(PAUSE);
            stop.run_until_cancelled(pause).await.ok_or(Stop::Gone)?;
        }
    }

    async fn note_step(&self, run: &Run, step: usize, stop: &CancellationToken) -> Result<(), Stop> {
        loop {
            let noted = async {
                let mut tx = self.db.begin_write().await?;
                let is_there = repo::runs::step(&mut tx, &run.id, step).await?;
                tx.commit().await?;
                Ok::<bool, DbError>(is_there)
            };
            match noted.await {
                Ok(true) => return Ok(()),
                Ok(false) => return Err(Stop::Gone),
                Err(error) => tracing::warn!(
                    rule = run.rule_id,
                    error = as_error(&error),
                    "a rule waits for the database"
                ),
            }
            if stop
                .run_until_cancelled(tokio::time::sleep(PAUSE))
                .await
                .is_none()
            {
                return Err(Stop::Gone);
            }
        }
    }

    /// Waits for the mandate, because another server may be active by now; that is detected elsewhere, soon.
    async fn wait_for_mandate(&self, stop: &CancellationToken) -> Result<(), Stop> {
        let mandate = self.db.mandate();
        while !mandate.holds() {
            let pause = tokio::time::sleep(Duration::from_millis(200));
            stop.run_until_cancelled(pause).await.ok_or(Stop::Gone)?;
        }
        Ok(())
    }

    /// Stores the result of a run, with retries: the actions cannot be undone.
    pub(super) async fn end_surely(
        &self,
        run: &Run,
        rule: &Rule,
        outcome: &Outcome,
        stop: &CancellationToken,
    ) {
        while let Err(error) = self.end(run, rule, outcome).await {
            tracing::error!(
                rule = rule.id,
                error = as_error(&error),
                "how a rule ended cannot be stored yet"
            );
            if stop
                .run_until_cancelled(tokio::time::sleep(PAUSE))
                .await
                .is_none()
            {
                return;
            }
        }
    }

    /// Stores log, ledger and audit of a run together with its end.
    pub(super) async fn end(&self, run: &Run, rule: &Rule, outcome: &Outcome) -> Result<(), DbError> {
        // Such a rule runs for the same torrents again: nothing of them is settled.
        let is_scheduled = run.trigger == SCHEDULE;
        let mut tx = self.db.begin_write().await?;
        if repo::runs::delete(&mut tx, &run.id).await? {
            let context = log_context(run);
            let line = NewLine {
                id: self.ctx.id(),
                rule_id: &run.rule_id,
                status: outcome.status(),
                hash: run.hash(),
                context: &context,
                message: outcome.message(),
                repeats: is_scheduled,
                at: self.ctx.now(),
            };
            let is_news = repo::logs::write(&mut tx, &line).await?;
            let settles = outcome.settles() && !is_scheduled;
            if let Some(torrent) = run.torrent.as_ref().filter(|_| settles) {
                repo::ledger::put(&mut tx, &run.rule_id, torrent, run.position).await?;
            }
            if is_news {
                self.audit
                    .record(&mut tx, audit_entry(run, rule, &context, outcome))
                    .await?;
            }
            tx.commit().await?;
        }
        self.runs.with_label_values(&[outcome.status()]).inc();
        if let Some(torrent) = &run.torrent {
            let number = self.book.number(&run.rule_id);
            let mut memory = self.memory();
            let now = self.ctx.now();
            match outcome {
                _ if is_scheduled => {
                    memory.note_ended(number, torrent);
                    if memory.under_way_of(number) == OF_ONE_RULE / 2 {
                        self.scheduled_room.notify_one();
                    }
                }
                Outcome::Done | Outcome::CutOff(_) => memory.note_settled(number, torrent),
                Outcome::Looped(_) => memory.note_ended(number, torrent),
                Outcome::Held(_) => memory.note_held(number, torrent, now.plus(powers::PAUSE)),
                Outcome::Failed(reason) => memory.note_failed(number, torrent, reason, now),
            }
        }
        Ok(())
    }

    /// Clears a run without a result: its rule was deleted, or the ledger had the pair already.
    fn note_gone(&self, waiting: &Waiting) {
        self.room.notify_one();
        tracing::debug!(rule = waiting.rule_id, "a run is over before it began");
    }

    /// The catalogue for running actions.
    async fn catalogue_of_runs(&self) -> Catalogue {
        self.catalogue().await.unwrap_or_else(|error| {
            // Only the names of missing plugins are lost.
            tracing::debug!(
                error = as_error(&error),
                "actions of plugins that are gone cannot be named"
            );
            Catalogue::new(self.actions.actions(), Vec::new())
        })
    }
}

/// Context for the log: hash and name of a torrent, or the whole event.
fn log_context(run: &Run) -> Map<String, Value> {
    let mut context: Map<String, Value> = serde_json::from_str(&run.context).unwrap_or_default();
    let Some(torrent) = &run.torrent else {
        return context;
    };
    let name = context.remove("name").unwrap_or(Value::Null);
    let pair = [("hash", Value::from(torrent.hash.as_str())), ("name", name)];
    pair.into_iter()
        .map(|(key, value)| (key.to_owned(), value))
        .collect()
}

fn audit_entry(
    run: &Run,
    rule: &Rule,
    context: &Map<String, Value>,
    outcome: &Outcome,
) -> AuditEntry<'static> {
    let mut metadata = json!({
        "rule": rule.name, "ruleId": rule.id, "author": rule.author, "actions": types_of(&rule.actions),
    });
    match &run.torrent {
        Some(torrent) => {
            metadata["name"] = context.get("name").cloned().unwrap_or_default();
            metadata["hash"] = torrent.hash.as_str().into();
        }
        None => {
            let title = context.get("title").or_else(|| context.get("name"));
            if let Some(title) = title.and_then(Value::as_str) {
                metadata["name"] = title.into();
            }
        }
    }
    if let Some(error) = outcome.message() {
        metadata["error"] = error.into();
    }
    let (kind, id) = match &run.torrent {
        Some(torrent) => ("torrent", torrent.hash.clone()),
        None => ("automation_rule", rule.id.clone()),
    };
    AuditEntry {
        user_id: rule.author.clone(),
        action: "automation.rule.executed",
        object_type: Some(kind),
        object_id: Some(id),
        result: match outcome {
            Outcome::Done => AuditResult::Success,
            Outcome::Failed(_) | Outcome::CutOff(_) | Outcome::Held(_) | Outcome::Looped(_) => {
                AuditResult::Failure
            }
        },
        metadata: Some(metadata),
        ..AuditEntry::default()
    }
}

/// Torrent of a media trigger. Several events may concern one torrent at the same time, so its runs do not
/// exclude each other.
fn torrent_of(occasion: Occasion, context: &Map<String, Value>) -> Option<TorrentRef> {
    let text = |name: &str| {
        let text = context.get(name).and_then(Value::as_str);
        text.filter(|text| !text.is_empty()).map(str::to_owned)
    };
    match occasion {
        Occasion::Media => Some(TorrentRef {
            engine_id: text("engineId")?,
            hash: text("hash")?,
        }),
        Occasion::Torrent | Occasion::Event => None,
    }
}
