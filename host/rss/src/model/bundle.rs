//! Export and import of rules as a bundle.

use qm_kernel::Timestamp;
use qm_matching::Candidate;
use qm_platform::masked;
use serde_json::{Value, json};

use super::candidate::StoredCandidate;
use super::feed::Feed;
use super::rule::Rule;

/// Value of `kind` in our bundles; bundles of similar services share its suffix.
pub const KIND: &str = "quartermaster.rss-export";
const SUFFIX: &str = ".rss-export";

/// Treatment of imported rules that exist already.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    #[default]
    Skip,
    Overwrite,
    Merge,
}

impl Mode {
    /// Parses the query word; an unknown word skips existing rules.
    pub fn from_word(word: &str) -> Self {
        match word {
            "overwrite" => Mode::Overwrite,
            "merge" => Mode::Merge,
            _ => Mode::Skip,
        }
    }

    pub const fn as_str(self) -> &'static str {
        match self {
            Mode::Skip => "skip",
            Mode::Overwrite => "overwrite",
            Mode::Merge => "merge",
        }
    }
}

/// Result of an import.
#[derive(Clone, Debug, Default)]
pub struct Imported {
    pub feeds_created: u64,
    pub rules_created: u64,
    pub rules_overwritten: u64,
    pub rules_merged: u64,
    pub rules_skipped: u64,
    pub candidates_created: u64,
    pub candidates_skipped: u64,
    /// Skipped rows and the reasons, in the order of the bundle.
    pub problems: Vec<Problem>,
}

impl Imported {
    /// Records a skipped row and its reason.
    pub fn skip(&mut self, row: usize, rule: Option<String>, reason: String) {
        self.rules_skipped += 1;
        self.problems.push(Problem {
            row,
            rule,
            candidate: None,
            reason,
        });
    }
}

/// A row of a bundle that was left out, or a part of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Place in the bundle, from 0.
    pub row: usize,
    pub rule: Option<String>,
    /// Place in the rule's candidates, from 0; `None`: the rule itself.
    pub candidate: Option<usize>,
    pub reason: String,
}

/// True when `kind` marks a bundle of rules.
pub fn is_bundle(kind: &str) -> bool {
    kind.ends_with(SUFFIX)
}

/// A bundle of rules, each with its feed and its candidates.
pub fn write(rows: &[(Rule, Feed, Vec<StoredCandidate>)], now: Timestamp) -> Value {
    let rules: Vec<Value> = rows
        .iter()
        .map(|(rule, feed, candidates)| {
            json!({
                "name": rule.name, "includeRegex": rule.include_regex, "excludeRegex": rule.exclude_regex,
                "savePath": rule.save_path, "autoDownload": rule.auto_download, "isEnabled": rule.is_enabled,
                "feed": { "name": feed.name, "url": feed.url, "refreshInterval": feed.refresh_interval },
                "candidates": candidates.iter().map(|stored| candidate(&stored.candidate)).collect::<Vec<_>>(),
            })
        })
        .collect();
    json!({ "kind": KIND, "version": 1, "exportedAt": now, "rules": rules })
}

/// The bundle with masked keys in the addresses of its feeds.
pub fn without_keys(mut bundle: Value) -> Value {
    let rules = bundle["rules"].as_array_mut();
    for rule in rules.into_iter().flatten() {
        let url = rule["feed"]["url"].as_str().map(masked::url);
        if let Some(url) = url {
            rule["feed"]["url"] = url.into();
        }
    }
    bundle
}

fn candidate(candidate: &Candidate) -> Value {
    json!({
        "priorityOrder": candidate.priority_order, "name": candidate.name, "description": candidate.description,
        "enabled": candidate.enabled, "matchType": candidate.match_type, "pattern": candidate.pattern,
        "requiredTerms": candidate.required_terms, "excludedTerms": candidate.excluded_terms,
        "qualityRules": candidate.quality_rules, "sizeRules": candidate.size_rules,
    })
}
