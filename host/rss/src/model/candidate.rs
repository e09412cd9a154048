//! Stored candidates.

use qm_kernel::Timestamp;
use qm_matching::Candidate;

use super::rule::Rule;

/// A candidate of a rule with its match statistics.
#[derive(Clone, Debug)]
pub struct StoredCandidate {
    pub rule_id: String,
    pub candidate: Candidate,
    pub last_matched_at: Option<Timestamp>,
    pub match_count: i64,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    /// Reason why it can never match; filled only for display.
    pub complaint: Option<String>,
}

impl StoredCandidate {
    /// Sets the complaint, from the candidate as this rule uses it.
    pub fn find_complaint(&mut self, rule: &Rule) {
        self.complaint = self.candidate.clone().of_rule(&rule.name).complaint();
    }
}
