//! Compiled rules, cached until any rule changes.

use std::sync::Arc;

use qm_matching::{Prepared, RuleMatcher, Sample};

use super::candidate::StoredCandidate;
use super::rule::Rule;

/// A rule with its compiled candidates.
pub struct LiveRule {
    pub rule: Rule,
    pub matcher: RuleMatcher,
    /// The feeds it looks at.
    pub targets: Vec<String>,
}

impl LiveRule {
    pub fn new(rule: Rule, candidates: Vec<StoredCandidate>) -> Self {
        let targets = targets(&rule, &candidates);
        let candidates = candidates.into_iter();
        let matcher = RuleMatcher::new(
            candidates
                .map(|stored| stored.candidate.of_rule(&rule.name))
                .collect(),
            rule.include_regex.as_deref(),
            rule.exclude_regex.as_deref(),
        );
        Self {
            rule,
            matcher,
            targets,
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
