//! Rules with a time table.
//!
//! The progress of a rule is stored with the runs it leads to: the instant from which its due times count, and, while its
//! torrents are being decided, the last of them. So a restart neither skips a torrent nor runs for it twice. Due times that
//! were missed, or that come while the torrents of an earlier one are being decided, are one. Bounds: as for the backfill
//! [`UNDER_WAY`] runs wait at a time, of one rule [`OF_ONE_RULE`], decided in one transaction. Only the active server commits.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;
use std::time::Duration;

use qm_db::DbError;
use qm_kernel::{BEAT, Timestamp, as_error};
use qm_platform::Beats;
use qm_ports::action::TorrentRef;
use qm_ports::list::Listed;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::Automation;
use super::backfill::UNDER_WAY;
use super::book::Rules;
use super::preview::record;
use super::runner::PLACES;
use crate::lanes::PASSES;
use crate::model::action::Catalogue;
use crate::model::log::message;
use crate::model::moment::Timed;
use crate::model::rule::{ReadyRule, Rule};
use crate::model::run::Outcome;
use crate::model::trigger::SCHEDULE;
use crate::repo;
use crate::repo::logs::NewLine;
use crate::repo::rules::Progress;

/// Limit of waiting and running runs of one rule. The runs of a rule run one after the other, so a rule with a slow action would
/// keep more for long; as many rules as may run at once can have this many, and others find room.
pub(super) const OF_ONE_RULE: usize = UNDER_WAY / PLACES;
/// Interval between two looks at the clock. Without rules that need it nothing is looked at.
const INTERVAL: Duration = BEAT.saturating_mul(10);
/// Time that a start gives the engines for their first lists, before a due time that was missed is made up for.
const LISTS: Duration = Duration::from_mins(1);

/// Engine and hash of a torrent, by which torrents are ordered; and where it stands: the number of its list, and its place there.
type Place<'a> = (&'a str, &'a str, usize, usize);

/// A torrent whose conditions hold.
struct Found {
    torrent: TorrentRef,
    /// Its JSON.
    context: String,
}

/// The next torrents of a due time.
#[derive(Default)]
struct Part {
    found: Vec<Found>,
    /// True when there are others after them.
    is_more: bool,
}

impl Automation {
    pub const SCHEDULES: (&'static str, Duration) = ("automation.schedules", INTERVAL);

    /// Decides what is due until stopped.
    pub async fn schedule_loop(self: Arc<Self>, stop: CancellationToken) {
        if let Err(error) = self.until_ready(&stop).await {
            tracing::warn!(error = as_error(&error), "time tables go on without some engines");
        }
        stop.run_until_cancelled(tokio::time::sleep(LISTS)).await;
        let mut beats = Beats::every(INTERVAL);
        let mandate = self.db.mandate();
        let mut failing = false;
        while stop.run_until_cancelled(beats.next()).await.is_some() {
            if !self.book.rules().need_zone() || !mandate.holds() {
                continue;
            }
            let done = loop {
                match self.decide_scheduled().await {
                    Ok(true) => {}
                    Ok(false) => break Ok(()),
                    Err(error) => break Err(error),
                }
                // There are more torrents than may wait at a time.
                tokio::select! {
                    biased;
                    () = stop.cancelled() => return,
                    () = self.scheduled_room.notified() => {}
                    () = tokio::time::sleep(BEAT) => {}
                }
            };
            match &done {
                Err(error) if !failing => tracing::error!(
                    error = as_error(error),
                    "rules with a time table are not judged; they stay due"
                ),
                Ok(()) if failing => tracing::info!("rules with a time table are judged again"),
                Ok(()) | Err(_) => {}
            }
            failing = done.is_err();
        }
    }

    /// Decides the runs that are due now. `true`: there are more, for which there is no room.
    pub async fn decide_scheduled(self: &Arc<Self>) -> Result<bool, DbError> {
        let mut tx = self.db.begin_read().await?;
        self.book.read_zone(&mut tx).await?;
        let mut rules = self.book.rules();
        if rules.with_trigger(SCHEDULE).next().is_none() {
            return Ok(false);
        }
        let stored = repo::rules::scheduled(&mut tx).await?;
        drop(tx);
        if stored.iter().any(|progress| find(&rules, progress).is_none()) {
            // A change was committed a moment ago, or whoever made it could not read the rules again.
            self.book.read().await?;
            rules = self.book.rules();
        }
        let (zone, now) = (self.book.zone(), self.ctx.now());
        let catalogue = Catalogue::new(self.actions.actions(), Vec::new());
        let mut is_more = false;
        for progress in stored {
            let Some(rule) = find(&rules, &progress) else {
                continue;
            };
            let from = Timestamp::from_ms(progress.scheduled_from);
            let due = rule.cron.as_ref().and_then(|cron| cron.next(from, &zone));
            let Some(due) = due.filter(|due| *due <= now) else {
                continue;
            };
            let used = rule.actions.iter().map(String::as_str);
            let is_loading = |id: &str| catalogue.get(id).is_none() && self.actions.settling(id).is_some();
            if used.clone().any(is_loading) {
                // It stays due until the plugin says whether its action needs a torrent.
                continue;
            }
            is_more |= if catalogue.concerns_torrents(rule.asks_torrents, used) {
                if self.pass_over(rule, &catalogue, &progress, (due, now)).await? {
                    continue;
                }
                self.decide_for_torrents(rule, progress, now).await?
            } else {
                self.decide_once(rule, &progress, due, now).await?
            };
        }
        Ok(is_more)
    }

    /// Stores a run without a torrent, unless one is waiting.
    async fn decide_once(
        self: &Arc<Self>,
        rule: &ReadyRule,
        progress: &Progress,
        due: Timestamp,
        now: Timestamp,
    ) -> Result<bool, DbError> {
        let context = context_of(due, now);
        let zone = self.book.zone();
        let timed = Timed {
            record: &context,
            at: now,
            zone: &zone,
        };
        let mut tx = self.db.begin_write().await?;
        if !repo::rules::advance(&mut tx, progress, now, None).await? {
            return Ok(false);
        }
        if rule.conditions.hold(&timed) && !repo::runs::waits(&mut tx, &rule.id).await? {
            let position = qm_platform::outbox::position(&mut tx).await?;
            let context = Value::Object(context).to_string();
            let run = self.new_run(&rule.id, SCHEDULE, None, context, position);
            self.decide(&mut tx, run).await?;
        }
        tx.commit().await?;
        Ok(false)
    }

    /// Passes over a due time of a rule whose author may not do what it does, with one line in the log: each torrent would fail
    /// for the same reason. `false`: they may.
    async fn pass_over(
        &self,
        rule: &ReadyRule,
        catalogue: &Catalogue,
        progress: &Progress,
        (due, now): (Timestamp, Timestamp),
    ) -> Result<bool, DbError> {
        let mut tx = self.db.begin_read().await?;
        let why = self.refuse_author(&mut tx, rule, catalogue).await?;
        drop(tx);
        let Some(why) = why else {
            return Ok(false);
        };
        let mut tx = self.db.begin_write().await?;
        if repo::rules::advance(&mut tx, progress, now, None).await? {
            let outcome = Outcome::Held(message(&why));
            let line = NewLine {
                id: self.ctx.id(),
                rule_id: &rule.id,
                status: outcome.status(),
                hash: None,
                context: &context_of(due, now),
                message: outcome.message(),
                repeats: true,
                at: now,
            };
            repo::logs::write(&mut tx, &line).await?;
            tx.commit().await?;
        }
        Ok(true)
    }

    /// Stores runs for the next torrents, as many as there is room for. `true`: there are more.
    async fn decide_for_torrents(
        self: &Arc<Self>,
        rule: &Arc<ReadyRule>,
        mut progress: Progress,
        now: Timestamp,
    ) -> Result<bool, DbError> {
        loop {
            let room = self.room_of(rule);
            if room == 0 {
                return Ok(true);
            }
            let part = self
                .find_part(rule, progress.schedule_cursor.clone(), room, now)
                .await;
            let Some(part) = part else {
                return Ok(false);
            };
            let cursor = part.found.last().filter(|_| part.is_more).map(Found::cursor);
            let from = match cursor {
                Some(_) => Timestamp::from_ms(progress.scheduled_from),
                None => now,
            };
            let mut tx = self.db.begin_write().await?;
            if !repo::rules::advance(&mut tx, &progress, from, cursor.as_deref()).await? {
                return Ok(false);
            }
            let position = qm_platform::outbox::position(&mut tx).await?;
            for found in part.found {
                let run = self.new_run(&rule.id, SCHEDULE, Some(&found.torrent), found.context, position);
                self.decide(&mut tx, run).await?;
            }
            tx.commit().await?;
            if cursor.is_none() {
                return Ok(false);
            }
            progress.schedule_cursor = cursor;
        }
    }

    /// Number of runs of a rule that may be decided now.
    fn room_of(&self, rule: &ReadyRule) -> usize {
        let memory = self.memory();
        let of_rule = OF_ONE_RULE.saturating_sub(memory.under_way_of(rule.number));
        UNDER_WAY.saturating_sub(memory.under_way()).min(of_rule)
    }

    /// The first `most` torrents after the cursor whose conditions hold; `None` when the server ends.
    async fn find_part(
        &self,
        rule: &Arc<ReadyRule>,
        cursor: Option<String>,
        most: usize,
        now: Timestamp,
    ) -> Option<Part> {
        let (rule, zone, lists) = (rule.clone(), self.book.zone(), self.torrents.lists());
        let free = self.free_bytes_of(&lists);
        let looked = PASSES.run(move |_| {
            let cursor = cursor.as_deref().and_then(|cursor| cursor.rsplit_once('/'));
            let mut after: Vec<Reverse<Place<'_>>> = Vec::new();
            for (number, list) in lists.iter().enumerate() {
                for (position, listed) in (0..list.len()).map_while(|at| Some((at, list.entry_at(at)?))) {
                    let (engine_id, hash) = (list.engine_id(), &*listed.torrent.hash);
                    if cursor.is_none_or(|last| (engine_id, hash) > last) {
                        after.push(Reverse((engine_id, hash, number, position)));
                    }
                }
            }
            // A few of many are wanted: a heap gives the next one without sorting all.
            let mut after = BinaryHeap::from(after);
            let next = std::iter::from_fn(|| after.pop());
            // Conditions may be dear: of a long list those of the next few torrents are judged.
            let holding = next.filter_map(|Reverse((engine_id, _, number, position))| {
                let listed = lists.get(number)?.entry_at(position)?;
                let free = free.get(engine_id).copied().flatten();
                let timed = Timed {
                    record: &record(engine_id, listed, now, free),
                    at: now,
                    zone: &zone,
                };
                rule.conditions
                    .hold(&timed)
                    .then(|| Found::new(engine_id, listed))
            });
            let mut found: Vec<Found> = holding.take(most + 1).collect();
            let is_more = found.len() > most;
            found.truncate(most);
            Part { found, is_more }
        });
        looked.await.ok()
    }

    /// Next due time of an enabled rule with a time table.
    pub(super) fn next_run_at(&self, rule: &Rule) -> Option<Timestamp> {
        let from = rule.scheduled_from.filter(|_| rule.is_scheduled())?;
        rule.cron()?.next(from, &self.book.zone())
    }
}

/// Context of a run without a torrent.
fn context_of(due: Timestamp, now: Timestamp) -> Map<String, Value> {
    let pair = [("dueAt", json!(due)), ("at", json!(now))];
    pair.into_iter()
        .map(|(name, time)| (name.to_owned(), time))
        .collect()
}

/// The rule in memory that this is the progress of. Another version of it has other conditions, whose torrents the actions of
/// this one are not for.
fn find<'a>(rules: &'a Rules, progress: &Progress) -> Option<&'a Arc<ReadyRule>> {
    let version = Timestamp::from_ms(progress.updated_at);
    let mut rules = rules.with_trigger(SCHEDULE);
    rules.find(|rule| rule.id == progress.id && rule.updated_at == version)
}

impl Found {
    fn new(engine_id: &str, listed: Listed<'_>) -> Self {
        Self {
            torrent: TorrentRef {
                engine_id: engine_id.to_owned(),
                hash: listed.torrent.hash.to_string(),
            },
            context: String::from_utf8_lossy(listed.json).into_owned(),
        }
    }

    /// Its place in the order of torrents, as it is stored.
    fn cursor(&self) -> String {
        let TorrentRef { engine_id, hash } = &self.torrent;
        format!("{engine_id}/{hash}")
    }
}
