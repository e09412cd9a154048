//! Results of evaluating a list on a name.

use qm_release::QuickView;
use serde::Serialize;

use crate::candidate::MatchType;

/// Result of one candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Matched,
    Failed,
    /// Not evaluated: another matched before it, or it is limited to other feeds.
    Skipped,
    Disabled,
}

/// One check of a candidate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Check {
    /// `feed scope`, `exact text`, `contains text`, `regex`, `wildcard`, `smart episode`, `smart movie`, `fuzzy`,
    /// `required term`, `excluded term`, `excluded regex`, `resolution`, `source`, `codec`, `quality` or `size`.
    pub label: &'static str,
    pub passed: bool,
    /// One short sentence for users.
    pub detail: String,
}

/// Result of one candidate with its checks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Outcome {
    pub candidate_id: String,
    pub name: String,
    pub priority_order: i64,
    pub match_type: MatchType,
    pub result: Verdict,
    /// One short sentence for users.
    pub reason: String,
    /// In order of evaluation; the last one decided.
    pub checks: Vec<Check>,
}

/// Result of a whole list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ListResult {
    pub matched: bool,
    pub matched_candidate_id: Option<String>,
    pub matched_candidate_priority: Option<i64>,
    /// Results of every candidate, by priority.
    pub candidates: Vec<Outcome>,
    pub parsed: QuickView,
}

/// The matching candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Winner<'a> {
    pub candidate_id: &'a str,
    pub priority_order: i64,
}
