//! What came of a name and a list.

use qm_release::QuickView;
use serde::Serialize;

use crate::candidate::MatchType;

/// What came of one candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Matched,
    Failed,
    /// Not asked: another matched before it, or the feed is none of its own.
    Skipped,
    Disabled,
}

/// One thing that a candidate looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Check {
    /// `feed scope`, `exact text`, `contains text`, `regex`, `wildcard`, `smart episode`, `smart movie`, `fuzzy`,
    /// `required term`, `excluded term`, `excluded regex`, `resolution`, `source`, `codec`, `quality` or `size`.
    pub label: &'static str,
    pub passed: bool,
    /// One short sentence for a person.
    pub detail: String,
}

/// What came of one candidate, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Outcome {
    pub candidate_id: String,
    pub name: String,
    pub priority_order: i64,
    pub match_type: MatchType,
    pub result: Verdict,
    /// One short sentence for a person.
    pub reason: String,
    /// In the order in which they were made; the last one decided.
    pub checks: Vec<Check>,
}

/// What came of a whole list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ListResult {
    pub matched: bool,
    pub matched_candidate_id: Option<String>,
    pub matched_candidate_priority: Option<i64>,
    /// Of every candidate, by priority.
    pub candidates: Vec<Outcome>,
    pub parsed: QuickView,
}

/// The candidate that matched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Winner<'a> {
    pub candidate_id: &'a str,
    pub priority_order: i64,
}
