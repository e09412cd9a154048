//! Trials of rules and candidates; nothing is stored.
//!
//! Bounds: [`MAX_TITLES`] sample titles; the newest [`MOST`] items of a history; [`SHOWN`] traces per answer;
//! [`AT_ONCE`] trials at once, because readers may start them and judging takes a while.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use qm_matching::{
    Analysis, Candidate, CandidateDraft, Compiled, ListResult, Outcome, Verdict, check_list_length,
};
use tokio::sync::OwnedSemaphorePermit;

use super::rules::complete;
use super::{Rss, lookups};
use crate::error::RssError;
use crate::lanes::JUDGEMENTS;
use crate::model::evaluation::Action;
use crate::model::history::{HistoryItem, newest_first};
use crate::model::live::{LiveRule, prepared};
use crate::model::rule::{Rule, RuleChange};
use crate::repo;

pub const MAX_TITLES: usize = 500;
/// Number of concurrent trials, including those whose callers have gone.
pub(super) const AT_ONCE: usize = 2;
const MOST: usize = 5000;
const SHOWN: usize = 500;
/// Largest number of non-matching items shown, the newest ones, with the reason.
const SHOWN_UNMATCHED: usize = 50;
/// Number of titles of a feed on which suggestions are tried.
const FEED_TITLES: usize = 30;

/// Result of a candidate list on one title.
pub struct Tried {
    pub title: String,
    pub evaluated: ListResult,
}

/// Result of a candidate list on the stored history.
pub struct OnHistory {
    pub looked_at: usize,
    pub matched: usize,
    /// Those that match, the newest first.
    pub results: Vec<(HistoryItem, ListResult)>,
}

/// Result of a previewed rule on one item.
pub struct Previewed {
    pub item: HistoryItem,
    /// `None` where the rule has no candidates.
    pub evaluated: Option<ListResult>,
    pub matched: bool,
    pub action: Action,
    /// It takes the place of an earlier one.
    pub is_upgrade: bool,
}

/// Result of a previewed rule on the stored history.
pub struct Preview {
    pub looked_at: usize,
    pub matched: usize,
    pub would_grab: usize,
    /// Those that match, the newest first.
    pub results: Vec<Previewed>,
    /// The newest items that do not match.
    pub unmatched: Vec<Previewed>,
}

/// Suggestions, tried.
pub struct Suggested {
    pub analysis: Analysis,
    pub results: Vec<Tried>,
    /// The candidate that matched the name itself: id and name.
    pub winner: Option<(String, String)>,
}

impl Rss {
    /// Tries one candidate on titles: a stored one, or one from the body.
    pub async fn try_candidate(
        &self,
        rule_id: &str,
        titles: Vec<String>,
        id: Option<&str>,
        draft: Option<CandidateDraft>,
    ) -> Result<Vec<(String, Outcome)>, RssError> {
        let (rule, there) = self.rule_with_candidates(rule_id).await?;
        let mut candidate = match (id, draft) {
            (Some(id), _) => {
                let found = there.into_iter().find(|stored| stored.candidate.id == id);
                found.ok_or(RssError::NoSuchCandidate)?.candidate
            }
            (None, Some(draft)) => {
                let named = CandidateDraft {
                    name: draft.name.clone().or(Some("candidate".to_owned())),
                    ..draft
                };
                named.make("candidate".to_owned(), 1)?
            }
            (None, None) => return Err(RssError::NoCandidate),
        };
        candidate.enabled = true;
        let tried = self
            .try_on(vec![candidate.of_rule(&rule.name)], some_titles(titles)?)
            .await?;
        let outcomes = tried.into_iter().filter_map(|tried| {
            let outcome = tried.evaluated.candidates.into_iter().next()?;
            Some((tried.title, outcome))
        });
        Ok(outcomes.collect())
    }

    /// Tries the candidates of a rule on titles.
    pub async fn try_list(&self, rule_id: &str, titles: Vec<String>) -> Result<Vec<Tried>, RssError> {
        let titles = some_titles(titles)?;
        let (rule, list) = self.list_of(rule_id).await?;
        drop(rule);
        self.try_on(list, titles).await
    }

    /// Tries the candidates of a rule on the items that its feeds have listed.
    pub async fn try_history(&self, rule_id: &str) -> Result<OnHistory, RssError> {
        let (rule, list) = self.list_of(rule_id).await?;
        let stored = self.candidates(rule_id).await?;
        let targets = crate::model::live::targets(&rule, &stored);
        let turn = self.turn().await;
        let items = self.newest(&targets).await?;
        let looked_at = items.len();
        let judge = move || {
            let list = Compiled::new(list);
            let (mut results, mut matched) = (Vec::new(), 0);
            for item in items {
                let evaluated = {
                    let name = prepared(&item.title, item.size, Some(&item.feed_id));
                    if qm_matching::matches(&list, &name).is_none() {
                        continue;
                    }
                    (results.len() < SHOWN).then(|| qm_matching::evaluate(&list, &name))
                };
                matched += 1;
                results.extend(evaluated.map(|evaluated| (item, evaluated)));
            }
            OnHistory {
                looked_at,
                matched,
                results,
            }
        };
        in_turn(turn, judge).await
    }

    /// Replays the history on a rule that is not stored, and reports the items that it would have grabbed.
    pub async fn preview(
        &self,
        feed_id: &str,
        change: RuleChange,
        drafts: Vec<CandidateDraft>,
    ) -> Result<Preview, RssError> {
        check_list_length(drafts.len())?;
        let name = change.name.clone().unwrap_or_default();
        let mut rule = Rule::new("preview".to_owned(), feed_id.to_owned(), name, self.ctx.now());
        rule.apply(change);
        let place = match &rule.save_path {
            Some(path) => Some(self.torrents.check_save_path(path).await),
            None => None,
        };
        complete(&mut rule, place)?;
        let mut tx = self.db.begin_read().await?;
        if repo::feeds::find(&mut tx, feed_id).await?.is_none() {
            return Err(RssError::UnknownFeed(feed_id.to_owned()));
        }
        drop(tx);
        let mut candidates = Vec::new();
        for (place, draft) in (1..).zip(drafts) {
            let candidate = draft.make(format!("{place}"), place)?;
            candidates.push(self.stored("preview", candidate));
        }
        let live = Arc::new(LiveRule::new(rule, candidates));
        let turn = self.turn().await;
        let items = self.newest(&live.targets).await?;
        in_turn(turn, move || play(&live, items)).await
    }

    /// Tries suggestions made of a name on sample titles and on the items of a feed, or else on the name
    /// itself.
    pub async fn try_suggestions(
        &self,
        name: &str,
        mut samples: Vec<String>,
        feed_id: Option<&str>,
    ) -> Result<Suggested, RssError> {
        samples.truncate(MAX_TITLES);
        if let Some(feed_id) = feed_id {
            let mut tx = self.db.begin_read().await?;
            samples.extend(repo::history::titles(&mut tx, feed_id, FEED_TITLES).await?);
        }
        if samples.is_empty() {
            samples.push(name.trim().to_owned());
        }
        let analysis = qm_matching::analyze(name);
        let list: Vec<Candidate> = (1..)
            .zip(analysis.recommended_candidates.clone())
            .map(|(place, suggested)| suggested.into_candidate(format!("{place}"), place))
            .collect();
        let own = self.try_on(list.clone(), vec![name.trim().to_owned()]).await?;
        let winner = own.into_iter().next().and_then(|tried| {
            let outcomes = tried.evaluated.candidates.into_iter();
            let won = outcomes
                .into_iter()
                .find(|outcome| outcome.result == Verdict::Matched)?;
            Some((won.candidate_id, won.name))
        });
        Ok(Suggested {
            results: self.try_on(list, samples).await?,
            analysis,
            winner,
        })
    }

    /// A rule and its candidates; the simple filter of a rule without candidates becomes one.
    async fn list_of(&self, rule_id: &str) -> Result<(Rule, Vec<Candidate>), RssError> {
        let mut tx = self.db.begin_read().await?;
        let rule = lookups::rule(&mut tx, rule_id).await?;
        let stored = repo::candidates::of_rule(&mut tx, rule_id).await?;
        let mut list: Vec<Candidate> = stored
            .into_iter()
            .map(|stored| stored.candidate.of_rule(&rule.name))
            .collect();
        if list.is_empty() {
            list.extend(Candidate::of_filter(
                rule.include_regex.as_deref(),
                rule.exclude_regex.as_deref(),
            ));
        }
        Ok((rule, list))
    }

    /// The newest items of these feeds.
    async fn newest(&self, feeds: &[String]) -> Result<Vec<HistoryItem>, RssError> {
        let mut tx = self.db.begin_read().await?;
        let mut items = Vec::new();
        for feed_id in feeds {
            items.extend(repo::history::newest(&mut tx, feed_id, MOST).await?);
        }
        items.sort_by(newest_first);
        items.truncate(MOST);
        Ok(items)
    }

    /// Waits for one of the [`AT_ONCE`] places.
    async fn turn(&self) -> Option<OwnedSemaphorePermit> {
        // Nobody closes it.
        self.trials.clone().acquire_owned().await.ok()
    }

    async fn try_on(&self, list: Vec<Candidate>, titles: Vec<String>) -> Result<Vec<Tried>, RssError> {
        let judge = move || {
            let list = Compiled::new(list);
            let tried = titles.into_iter().map(|title| {
                let evaluated = qm_matching::evaluate(&list, &prepared(&title, None, None));
                Tried { title, evaluated }
            });
            tried.collect()
        };
        in_turn(self.turn().await, judge).await
    }
}

fn some_titles(mut titles: Vec<String>) -> Result<Vec<String>, RssError> {
    titles.retain(|title| !title.trim().is_empty());
    titles.truncate(MAX_TITLES);
    if titles.is_empty() {
        return Err(RssError::NoTitles);
    }
    Ok(titles)
}

/// Runs the judgement on a blocking thread and keeps the place until it ends, even if the caller has gone.
async fn in_turn<T: Send + 'static>(
    turn: Option<OwnedSemaphorePermit>,
    judge: impl FnOnce() -> T + Send + 'static,
) -> Result<T, RssError> {
    let judging = JUDGEMENTS.run(move |_| {
        let judged = judge();
        drop(turn);
        judged
    });
    Ok(judging.await?)
}

/// Replays items on a rule, the oldest first.
fn play(live: &LiveRule, items: Vec<HistoryItem>) -> Preview {
    let looked_at = items.len();
    let (mut results, mut unmatched) = (Vec::new(), Vec::new());
    let mut grabbed: HashSet<String> = HashSet::new();
    let mut held: HashMap<String, i64> = HashMap::new();
    let (mut matched, mut would_grab) = (0, 0);
    for item in items.into_iter().rev() {
        let (hit, evaluated) = {
            let name = prepared(&item.title, item.size, Some(&item.feed_id));
            let hit = live.matcher.find_hit(&name);
            (hit, live.matcher.evaluate(&name))
        };
        let Some(hit) = hit else {
            unmatched.push(Previewed {
                item,
                evaluated,
                matched: false,
                action: Action::None,
                is_upgrade: false,
            });
            if unmatched.len() > SHOWN_UNMATCHED {
                unmatched.remove(0);
            }
            continue;
        };
        matched += 1;
        let identity = live
            .matcher
            .is_list()
            .then(|| qm_release::identity(&qm_release::parse(&item.title)))
            .flatten();
        let best = identity.as_ref().and_then(|identity| held.get(identity)).copied();
        let is_known = item.info_hash.as_ref().is_some_and(|hash| grabbed.contains(hash));
        let action = if !live.rule.auto_download || item.download().is_none() {
            Action::None
        } else if is_known || best.is_some_and(|best| best <= hit.priority_order) {
            Action::SkippedDuplicate
        } else {
            Action::Download
        };
        if action == Action::Download {
            would_grab += 1;
            grabbed.extend(item.info_hash.clone());
            if let Some(identity) = identity {
                held.insert(identity, hit.priority_order);
            }
        }
        results.push(Previewed {
            item,
            evaluated,
            matched: true,
            is_upgrade: action == Action::Download && best.is_some(),
            action,
        });
        if results.len() > SHOWN {
            results.remove(0);
        }
    }
    results.reverse();
    unmatched.reverse();
    Preview {
        looked_at,
        matched,
        would_grab,
        results,
        unmatched,
    }
}
