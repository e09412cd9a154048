//! Decisions: judges the items of a feed by the rules and stores the grabs.
//!
//! Bounds: [`CHUNK`] items per transaction, fewer where many rules judge the feed: [`JUDGED`] judgements in
//! memory.

use std::collections::HashSet;
use std::sync::Arc;

use qm_db::Tx;
use qm_kernel::Timestamp;
use qm_matching::Hit;
use serde_json::Value;

use super::Rss;
use crate::error::RssError;
use crate::lanes::JUDGEMENTS;
use crate::model::evaluation::{Action, Evaluation, trace};
use crate::model::grab::{Grab, GrabState};
use crate::model::history::HistoryItem;
use crate::model::live::{LiveRule, prepared};
use crate::repo;

/// Items stored in one transaction.
pub(super) const CHUNK: usize = 50;
/// Largest number of judgements in memory.
pub(super) const JUDGED: usize = 2000;

/// Result of one rule on one item.
pub(super) struct Judgement {
    pub live: Arc<LiveRule>,
    pub hit: Option<Hit>,
    /// Trace; only of a rule with candidates.
    pub trace: Option<Value>,
}

pub(super) type Judged = (HistoryItem, Vec<Judgement>);

/// Action on a matched item, and the stored grab.
pub(super) struct Decision {
    pub action: Action,
    pub grab_id: Option<String>,
}

/// Number of items that are judged and stored together, for this number of rules.
pub(super) fn chunk_of(rules: usize) -> usize {
    (JUDGED / rules.max(1)).clamp(1, CHUNK)
}

/// Judges items by rules, on a blocking thread.
pub(super) async fn judge_all(
    items: Vec<HistoryItem>,
    rules: Vec<Arc<LiveRule>>,
    traced: bool,
) -> Result<Vec<Judged>, RssError> {
    let judge = move |_| {
        let judged = items.into_iter().map(|item| {
            let judgements = {
                let name = prepared(&item.title, item.size, Some(&item.feed_id));
                let shown = rules.iter().map(|live| judge(live, &name, traced));
                shown.collect()
            };
            (item, judgements)
        });
        judged.collect()
    };
    Ok(JUDGEMENTS.run(judge).await?)
}

fn judge(live: &Arc<LiveRule>, name: &qm_matching::Prepared<'_>, traced: bool) -> Judgement {
    let hit = live.matcher.find_hit(name);
    // The reason of a non-match is stored only for rules with candidates.
    let trace = (traced || hit.is_some())
        .then(|| live.matcher.evaluate(name).map(|evaluated| trace(&evaluated)))
        .flatten();
    Judgement {
        live: live.clone(),
        hit,
        trace,
    }
}

impl Rss {
    /// Stores the judgements of an item in the history: evaluations, counters and grabs. Appends the ids of
    /// new grabs to `grabs`.
    pub(super) async fn store_judgements(
        &self,
        tx: &mut Tx,
        item: &HistoryItem,
        judgements: Vec<Judgement>,
        grabs: &mut Vec<String>,
    ) -> Result<bool, RssError> {
        let now = self.ctx.now();
        let (mut matched, mut is_taken) = (false, false);
        for judgement in judgements {
            let live = judgement.live;
            let Some(hit) = judgement.hit else {
                if let Some(trace) = judgement.trace {
                    self.log(tx, &live, item, None, None, trace).await?;
                }
                continue;
            };
            matched = true;
            let decision = if is_taken && live.rule.auto_download {
                Decision {
                    action: Action::SkippedDuplicate,
                    grab_id: None,
                }
            } else {
                self.decide(tx, &live, &hit, item).await?
            };
            is_taken |= decision.action == Action::Download;
            grabs.extend(decision.grab_id.clone());
            if let Some(id) = &hit.candidate_id {
                repo::candidates::bump(tx, id, now).await?;
            }
            if let Some(trace) = judgement.trace {
                self.log(tx, &live, item, Some(&hit), Some(&decision), trace)
                    .await?;
            }
        }
        if matched {
            repo::history::set_matched(tx, &item.id).await?;
        }
        Ok(matched)
    }

    /// Decides if a rule grabs a matched item, and stores the grab; nothing else happens here.
    async fn decide(
        &self,
        tx: &mut Tx,
        live: &LiveRule,
        hit: &Hit,
        item: &HistoryItem,
    ) -> Result<Decision, RssError> {
        let of = |action| Decision {
            action,
            grab_id: None,
        };
        let rule = &live.rule;
        let Some(source) = item.download().filter(|_| rule.auto_download) else {
            return Ok(of(Action::None));
        };
        if let Some(hash) = &item.info_hash {
            if repo::history::is_downloaded(tx, hash).await? || repo::grabs::has_hash(tx, hash).await? {
                return Ok(of(Action::SkippedDuplicate));
            }
        } else if repo::grabs::has_title(tx, &rule.id, &item.title).await? {
            // The same release with another guid, from a feed without info-hashes.
            return Ok(of(Action::SkippedDuplicate));
        }
        let identity = if live.matcher.is_list() {
            qm_release::identity(&qm_release::parse(&item.title))
        } else {
            None
        };
        if let Some(identity) = &identity {
            let held = repo::holds::find(tx, &rule.id, identity).await?;
            let held = held.map(|hold| hold.priority_order);
            let decided = repo::grabs::decided(tx, &rule.id, identity).await?;
            let best = held.into_iter().chain(decided).min();
            if best.is_some_and(|best| best <= hit.priority_order) {
                return Ok(of(Action::SkippedDuplicate));
            }
        }
        let grab = self.new_grab(item, source, Some((live, hit)), identity);
        if !repo::grabs::decide(tx, &grab).await? {
            return Ok(of(Action::SkippedDuplicate));
        }
        Ok(Decision {
            action: Action::Download,
            grab_id: Some(grab.id),
        })
    }

    pub(super) fn new_grab(
        &self,
        item: &HistoryItem,
        source: &str,
        by: Option<(&LiveRule, &Hit)>,
        identity: Option<String>,
    ) -> Grab {
        let now: Timestamp = self.ctx.now();
        Grab {
            id: self.ctx.id(),
            rule_id: by.map(|(live, _)| live.rule.id.clone()),
            history_id: Some(item.id.clone()),
            candidate_id: by.and_then(|(_, hit)| hit.candidate_id.clone()),
            priority_order: by.map_or(0, |(_, hit)| hit.priority_order),
            identity,
            title: item.title.clone(),
            info_hash: item.info_hash.clone(),
            source: source.to_owned(),
            save_path: by.and_then(|(live, _)| live.rule.save_path.clone()),
            state: GrabState::Pending,
            attempts: 0,
            engine_id: None,
            error: None,
            created_at: now,
        }
    }

    async fn log(
        &self,
        tx: &mut Tx,
        live: &LiveRule,
        item: &HistoryItem,
        hit: Option<&Hit>,
        decision: Option<&Decision>,
        trace: Value,
    ) -> Result<(), RssError> {
        let action = decision.map_or(Action::None, |decision| decision.action);
        let result = match (hit, action) {
            (None, _) => "no_match",
            (Some(_), Action::SkippedDuplicate) => "skipped_duplicate",
            (Some(_), Action::Download | Action::None) => "matched",
        };
        let evaluation = Evaluation {
            id: self.ctx.id(),
            rule_id: live.rule.id.clone(),
            item_guid: item.item_guid.clone(),
            matched_candidate_id: hit.and_then(|hit| hit.candidate_id.clone()),
            matched_candidate_priority: hit.map(|hit| hit.priority_order),
            result: result.to_owned(),
            action_taken: action.as_str().to_owned(),
            torrent_hash: None,
            trace,
            grab_id: decision.and_then(|decision| decision.grab_id.clone()),
            created_at: self.ctx.now(),
            grab: None,
        };
        Ok(repo::evaluations::insert(tx, &evaluation).await?)
    }

    /// Filters out rules that are deleted or judge other feeds by now; returns the ids of the unchanged ones.
    pub(super) async fn still_there(
        &self,
        tx: &mut Tx,
        rules: &[Arc<LiveRule>],
    ) -> Result<HashSet<String>, RssError> {
        let there: HashSet<String> = repo::rules::names(tx)
            .await?
            .into_iter()
            .map(|(id, ..)| id)
            .collect();
        let kept = rules.iter().map(|live| live.rule.id.clone());
        Ok(kept.filter(|id| there.contains(id)).collect())
    }
}
