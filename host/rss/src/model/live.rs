//! Rules as they are asked: compiled once, for as long as nobody changes one.

use std::sync::Arc;

use qm_matching::{Compiled, Filter, ListResult, Prepared, Sample};

use super::candidate::StoredCandidate;
use super::rule::Rule;

/// A rule with what it prefers, compiled.
pub struct LiveRule {
    pub rule: Rule,
    pub judge: Judge,
    /// The feeds it looks at.
    pub targets: Vec<String>,
}

/// How a rule judges.
pub enum Judge {
    List(Compiled),
    /// A rule without candidates.
    Filter(Filter),
}

/// That a rule matched an item.
#[derive(Clone, Debug)]
pub struct Hit {
    pub candidate_id: Option<String>,
    /// 0 without a candidate.
    pub priority_order: i64,
}

impl LiveRule {
    pub fn new(rule: Rule, candidates: Vec<StoredCandidate>) -> Self {
        let targets = targets(&rule, &candidates);
        let judge = if candidates.is_empty() {
            Judge::Filter(Filter::compile(
                rule.include_regex.as_deref(),
                rule.exclude_regex.as_deref(),
            ))
        } else {
            Judge::List(Compiled::new(
                candidates
                    .into_iter()
                    .map(|stored| stored.candidate.of_rule(&rule.name))
                    .collect(),
            ))
        };
        Self { rule, judge, targets }
    }

    pub fn is_list(&self) -> bool {
        matches!(self.judge, Judge::List(_))
    }

    /// Whether it matches, without saying why.
    pub fn hit(&self, name: &Prepared<'_>) -> Option<Hit> {
        match &self.judge {
            Judge::Filter(filter) => filter.matches(name.title()).then_some(Hit {
                candidate_id: None,
                priority_order: 0,
            }),
            Judge::List(list) => qm_matching::matches(list, name).map(|winner| Hit {
                candidate_id: Some(winner.candidate_id.to_owned()),
                priority_order: winner.priority_order,
            }),
        }
    }

    /// What came of each candidate; `None` of a rule without any.
    pub fn evaluate(&self, name: &Prepared<'_>) -> Option<ListResult> {
        match &self.judge {
            Judge::Filter(_) => None,
            Judge::List(list) => Some(qm_matching::evaluate(list, name)),
        }
    }
}

/// The feeds a rule looks at: its own, and of an enabled one those that its enabled candidates name.
pub fn targets(rule: &Rule, candidates: &[StoredCandidate]) -> Vec<String> {
    let mut targets = vec![rule.feed_id.clone()];
    if rule.is_enabled {
        let named = candidates
            .iter()
            .filter(|stored| stored.candidate.enabled)
            .flat_map(|stored| &stored.candidate.feed_scope.feed_ids);
        for id in named {
            if !targets.contains(id) {
                targets.push(id.clone());
            }
        }
    }
    targets
}

/// Every enabled rule, in the order in which they were made.
#[derive(Default)]
pub struct LiveRules(pub Vec<Arc<LiveRule>>);

impl LiveRules {
    pub fn of_feed(&self, feed_id: &str) -> Vec<Arc<LiveRule>> {
        let targeting = self
            .0
            .iter()
            .filter(|live| live.targets.iter().any(|id| id == feed_id));
        targeting.cloned().collect()
    }
}

/// A title as rules see it.
pub fn prepared<'a>(title: &'a str, size: Option<u64>, feed_id: Option<&'a str>) -> Prepared<'a> {
    Prepared::new(Sample { title, size, feed_id })
}
