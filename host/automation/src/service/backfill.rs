//! Backfill: runs completion rules for torrents that are complete and had no event.
//!
//! A pass looks at the changes since the previous one: torrents with the same value in memory are skipped,
//! and unchanged lists are not opened. Finished pairs are known in memory ([`crate::model::memory`]). So a
//! pass without work makes no query, and one query after a start or a change of rules. Bounds: [`UNDER_WAY`]
//! runs wait at a time; further torrents wait in memory, by hash. Torrents are evaluated on a blocking
//! thread.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use qm_db::DbError;
use qm_kernel::{BEAT, Timestamp, as_error};
use qm_platform::Beats;
use qm_ports::action::TorrentRef;
use qm_ports::list::{Listed, TorrentList};
use tokio_util::sync::CancellationToken;

use super::Automation;
use super::preview::record;
use crate::lanes::PASSES;
use crate::model::moment::Timed;
use crate::model::rule::ReadyRule;
use crate::model::run::NewRun;
use crate::model::trigger::COMPLETED;
use crate::repo;

/// Interval of the passes, about that of the sync loops. Without completion rules there are no passes.
pub const INTERVAL: Duration = BEAT.saturating_mul(2);
/// Limit of waiting and running backfill runs; an edge is never refused.
pub(super) const UNDER_WAY: usize = 128;
/// Torrents decided in one transaction.
pub(super) const AT_ONCE: usize = 32;
/// Interval at which rules with ages, or the time of day, are evaluated again.
const AGES_EVERY_MS: i64 = 60_000;

type Lists = HashMap<String, Arc<dyn TorrentList>>;

/// State between passes.
#[derive(Default)]
pub struct Backfill {
    /// Lists as of the last pass.
    seen: Lists,
    /// Version of the rules at the last pass.
    version: u64,
    /// Time of the last evaluation of rules with ages.
    aged_at: Option<Timestamp>,
    /// Torrents with a due rule, in the order they were found.
    due: VecDeque<TorrentRef>,
    queued: HashSet<(String, String)>,
}

impl Automation {
    pub const BACKFILL: (&'static str, Duration) = ("automation.backfill", INTERVAL);

    /// Runs passes until stopped.
    pub async fn backfill_loop(self: Arc<Self>, stop: CancellationToken) {
        let mut backfill = Backfill::default();
        let mut beats = Beats::every(INTERVAL);
        let mandate = self.db.mandate();
        let mut failing = false;
        loop {
            let room = tokio::select! {
                biased;
                () = stop.cancelled() => return,
                () = beats.next(), if self.book.rules().with_trigger(COMPLETED).next().is_some() => false,
                () = self.rules_changed.notified() => false,
                () = self.room.notified(), if !backfill.due.is_empty() => true,
            };
            if !mandate.holds() {
                continue;
            }
            let done = if room {
                self.decide_due(&mut backfill).await
            } else {
                self.pass(&mut backfill).await
            };
            match &done {
                Err(error) if !failing => {
                    tracing::error!(
                        error = as_error(error),
                        "rules on completions are not judged; they stay due"
                    );
                }
                Ok(()) if failing => tracing::info!("rules on completions are judged again"),
                Ok(()) | Err(_) => {}
            }
            failing = done.is_err();
        }
    }

    /// Evaluates the changes, and decides as many runs as there is room for.
    pub async fn pass(self: &Arc<Self>, backfill: &mut Backfill) -> Result<(), DbError> {
        let rules = self.book.rules();
        let of_completions: Arc<[Arc<ReadyRule>]> = rules.with_trigger(COMPLETED).cloned().collect();
        if of_completions.is_empty() {
            *backfill = Backfill::default();
            return Ok(());
        }
        self.read_ledger(&of_completions).await?;
        let now = self.ctx.now();
        let by_age = of_completions.iter().any(|rule| rule.ages);
        let aged = by_age
            && backfill
                .aged_at
                .is_none_or(|at| now.ms() - at.ms() >= AGES_EVERY_MS);
        // Torrents skipped because of a paused rule are evaluated again.
        let (released, failed) = {
            let mut memory = self.memory();
            (memory.release_by(now), memory.take_failed(now))
        };
        if rules.version != backfill.version || aged || released {
            backfill.seen.clear();
            backfill.aged_at = Some(now);
        }
        for torrent in failed {
            backfill.push(torrent);
        }
        let mut lists = Lists::new();
        for list in self.torrents.lists() {
            let before = backfill.seen.get(list.engine_id()).cloned();
            if !before.as_ref().is_some_and(|before| is_same(before, &list)) {
                for torrent in self.look(before, &list, &of_completions, now).await {
                    backfill.push(torrent);
                }
            }
            lists.insert(list.engine_id().to_owned(), list);
        }
        backfill.seen = lists;
        backfill.version = rules.version;
        self.decide_due(backfill).await
    }

    /// Loads the ledger of rules for which it was not read yet, in one query.
    async fn read_ledger(&self, rules: &[Arc<ReadyRule>]) -> Result<(), DbError> {
        let unread: Vec<u32> = {
            let memory = self.memory();
            rules
                .iter()
                .map(|rule| rule.number)
                .filter(|rule| !memory.is_read(*rule))
                .collect()
        };
        if unread.is_empty() {
            return Ok(());
        }
        let mut tx = self.db.begin_read().await?;
        let pairs = repo::ledger::of_trigger(&mut tx, COMPLETED).await?;
        drop(tx);
        let numbers: HashMap<&str, u32> = rules.iter().map(|rule| (rule.id.as_str(), rule.number)).collect();
        let mut memory = self.memory();
        for done in &pairs {
            if let Some(number) = numbers.get(done.rule_id.as_str()) {
                memory.note_done(*number, &done.engine_id, &done.hash);
            }
        }
        for rule in unread {
            memory.note_read(rule);
        }
        Ok(())
    }

    /// Torrents of a list with a due rule, of those that have changed since the previous list.
    async fn look(
        self: &Arc<Self>,
        before: Option<Arc<dyn TorrentList>>,
        list: &Arc<dyn TorrentList>,
        rules: &Arc<[Arc<ReadyRule>]>,
        now: Timestamp,
    ) -> Vec<TorrentRef> {
        let (automation, list, rules) = (self.clone(), list.clone(), rules.clone());
        let looked = PASSES.run(move |_| {
            let mut found = Vec::new();
            for position in 0..list.len() {
                let Some(now_listed) = list.entry_at(position) else {
                    break;
                };
                let then = before.as_ref().and_then(|before| before.entry_at(position));
                if then.is_some_and(|then| std::ptr::eq(then.torrent, now_listed.torrent)) {
                    continue;
                }
                if automation.any_due(&rules, list.engine_id(), now_listed, now) {
                    found.push(TorrentRef {
                        engine_id: list.engine_id().to_owned(),
                        hash: now_listed.torrent.hash.to_string(),
                    });
                }
            }
            found
        });
        // It fails only when the process ends.
        looked.await.unwrap_or_default()
    }

    fn any_due(&self, rules: &[Arc<ReadyRule>], engine_id: &str, listed: Listed<'_>, now: Timestamp) -> bool {
        let torrent = listed.torrent;
        if torrent.progress < 1.0 {
            return false;
        }
        let open: Vec<&Arc<ReadyRule>> = {
            let memory = self.memory();
            let hash = &*torrent.hash;
            rules
                .iter()
                .filter(|rule| memory.is_open(rule.number, (engine_id, hash), now))
                .collect()
        };
        if open.is_empty() {
            return false;
        }
        let record = record(engine_id, listed, now, self.torrents.free_bytes(engine_id));
        let zone = self.book.zone();
        let timed = Timed {
            record: &record,
            at: now,
            zone: &zone,
        };
        open.into_iter().any(|rule| rule.conditions.hold(&timed))
    }

    /// Stores runs for the due torrents, up to the limit.
    async fn decide_due(self: &Arc<Self>, backfill: &mut Backfill) -> Result<(), DbError> {
        let rules = self.book.rules();
        let now = self.ctx.now();
        while !backfill.due.is_empty() && self.memory().under_way() < UNDER_WAY {
            let some: Vec<TorrentRef> = backfill.due.iter().take(AT_ONCE).cloned().collect();
            let mut decided = Vec::new();
            for torrent in &some {
                let list = backfill.seen.get(&torrent.engine_id);
                let Some(listed) = list.and_then(|list| list.find(&torrent.hash)) else {
                    continue;
                };
                let due = self.due_now(rules.with_trigger(COMPLETED), torrent, listed, now);
                decided.extend(due.into_iter().map(|rule| (rule, torrent, listed.json)));
            }
            self.store(&decided).await?;
            drop(decided);
            for torrent in some {
                backfill.due.pop_front();
                backfill.queued.remove(&(torrent.engine_id, torrent.hash));
            }
        }
        Ok(())
    }

    /// Rules that are due for a torrent in its present state.
    fn due_now<'a>(
        &self,
        rules: impl Iterator<Item = &'a Arc<ReadyRule>>,
        torrent: &TorrentRef,
        listed: Listed<'_>,
        now: Timestamp,
    ) -> Vec<&'a ReadyRule> {
        if listed.torrent.progress < 1.0 {
            return Vec::new();
        }
        let free = self.torrents.free_bytes(&torrent.engine_id);
        let record = record(&torrent.engine_id, listed, now, free);
        let zone = self.book.zone();
        let timed = Timed {
            record: &record,
            at: now,
            zone: &zone,
        };
        rules
            .filter(|rule| {
                let torrent = (&*torrent.engine_id, &*torrent.hash);
                self.memory().is_open(rule.number, torrent, now)
            })
            .filter(|rule| rule.conditions.hold(&timed))
            .map(|rule| &**rule)
            .collect()
    }

    async fn store(self: &Arc<Self>, decided: &[(&ReadyRule, &TorrentRef, &[u8])]) -> Result<(), DbError> {
        if decided.is_empty() {
            return Ok(());
        }
        let mut tx = self.db.begin_write().await?;
        // The events of these completions were committed before the list showed them.
        let position = qm_platform::outbox::position(&mut tx).await?;
        for (rule, torrent, json) in decided {
            let context = String::from_utf8_lossy(json).into_owned();
            let run = NewRun {
                is_backfill: true,
                ..self.new_run(&rule.id, COMPLETED, Some(torrent), context, position)
            };
            self.decide(&mut tx, run).await?;
        }
        tx.commit().await
    }
}

impl Backfill {
    fn push(&mut self, torrent: TorrentRef) {
        if self
            .queued
            .insert((torrent.engine_id.clone(), torrent.hash.clone()))
        {
            self.due.push_back(torrent);
        }
    }
}

/// True when the list is unchanged. A reloaded engine continues its version numbers.
fn is_same(before: &Arc<dyn TorrentList>, now: &Arc<dyn TorrentList>) -> bool {
    before.version() == now.version() && before.len() == now.len()
}
