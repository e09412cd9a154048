//! Compiled conditions of a rule: its candidates, or the simple filter of a rule that has none.

use crate::candidate::Candidate;
use crate::compile::Compiled;
use crate::filter::Filter;
use crate::judge::{evaluate, matches};
use crate::outcome::ListResult;
use crate::sample::Prepared;

/// Compiled conditions of a rule.
#[derive(Clone, Debug)]
pub enum RuleMatcher {
    List(Compiled),
    /// Conditions of a rule without candidates.
    Filter(Filter),
}

/// A match of a rule with a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hit {
    pub candidate_id: Option<String>,
    /// Place of the matched candidate; 0 without one.
    pub priority_order: i64,
}

impl RuleMatcher {
    /// The two expressions are the simple filter, which counts only without candidates.
    pub fn new(candidates: Vec<Candidate>, include: Option<&str>, exclude: Option<&str>) -> Self {
        if candidates.is_empty() {
            Self::Filter(Filter::compile(include, exclude))
        } else {
            Self::List(Compiled::new(candidates))
        }
    }

    pub fn is_list(&self) -> bool {
        matches!(self, Self::List(_))
    }

    /// Matches a name without a trace.
    pub fn find_hit(&self, name: &Prepared<'_>) -> Option<Hit> {
        match self {
            Self::Filter(filter) => filter.matches(name.title()).then_some(Hit {
                candidate_id: None,
                priority_order: 0,
            }),
            Self::List(list) => matches(list, name).map(|winner| Hit {
                candidate_id: Some(winner.candidate_id.to_owned()),
                priority_order: winner.priority_order,
            }),
        }
    }

    /// Matches a name with the trace of each candidate; `None` without candidates.
    pub fn evaluate(&self, name: &Prepared<'_>) -> Option<ListResult> {
        match self {
            Self::Filter(_) => None,
            Self::List(list) => Some(evaluate(list, name)),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::draft::CandidateDraft;
    use crate::sample::Sample;

    #[test]
    fn the_filter_counts_only_without_candidates() {
        let draft = json!({ "name": "720p", "matchType": "regex", "pattern": "720p", "priorityOrder": 3 });
        let candidate = CandidateDraft::read(draft.as_object().unwrap());
        let candidate = candidate.make("c".into(), 1).unwrap();
        let name = |title| {
            Prepared::new(Sample {
                title,
                size: None,
                feed_id: None,
            })
        };
        let filter = RuleMatcher::new(Vec::new(), Some("harbor"), Some("cam"));
        let hit = Hit {
            candidate_id: None,
            priority_order: 0,
        };
        assert_eq!(filter.find_hit(&name("Harbor.2031.720p")), Some(hit));
        assert_eq!(filter.find_hit(&name("Harbor.2031.CAM")), None);
        assert!(!filter.is_list() && filter.evaluate(&name("Harbor.2031.720p")).is_none());

        let list = RuleMatcher::new(vec![candidate], Some("lighthouse"), None);
        let hit = Hit {
            candidate_id: Some("c".into()),
            priority_order: 3,
        };
        assert_eq!(list.find_hit(&name("Harbor.2031.720p")), Some(hit));
        assert_eq!(list.find_hit(&name("Lighthouse.2031.1080p")), None);
        assert!(list.is_list() && list.evaluate(&name("Harbor.2031.720p")).unwrap().matched);
    }
}
