//! Compiled rules, cached until any rule changes.

use std::sync::Arc;

use qm_matching::{Compiled, Filter, ListResult, Prepared, Sample};

use super::candidate::StoredCandidate;
use super::rule::Rule;

/// A rule with its compiled candidates.
pub struct LiveRule {
    pub rule: Rule,
    pub judge: Judge,
    /// The feeds it looks at.
    pub targets: Vec<String>,
}

/// Compiled form of a rule's conditions.
pub enum Judge {
    List(Compiled),
    /// A rule without candidates.
    Filter(Filter),
}

/// A match of a rule with an item.
#[derive(Clone, Debug)]
pub struct Hit {
    pub candidate_id: Option<String>,
    /// Place of the matched candidate; 0 without one.
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

    /// Matches a title without a trace.
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

    /// Matches a title with the trace of each candidate; `None` for a rule without candidates.
    pub fn evaluate(&self, name: &Prepared<'_>) -> Option<ListResult> {
        match &self.judge {
            Judge::Filter(_) => None,
            Judge::List(list) => Some(qm_matching::evaluate(list, name)),
        }
    }
}

/// Feeds whose items a rule judges: its own, and for an enabled rule those that its enabled candidates name.
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

/// All enabled rules, in order of creation.
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

/// A title prepared for matching.
pub fn prepared<'a>(title: &'a str, size: Option<u64>, feed_id: Option<&'a str>) -> Prepared<'a> {
    Prepared::new(Sample { title, size, feed_id })
}
