//! Drafts of candidates: fields that a request or an import gives, read leniently.

use std::str::FromStr;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::candidate::{Candidate, FeedScope, MatchType, QualityRules, SizeRules};
use crate::compile::MAX_CANDIDATES;

/// Reason why a draft becomes no candidate, as a sentence for users.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DraftError {
    #[error("Candidate name is required")]
    NoName,
    #[error("matchType is required")]
    NoMatchType,
    #[error("Invalid match type: {0}")]
    MatchType(String),
    /// A field exceeds its limit.
    #[error("{0}")]
    Field(String),
    #[error("A rule has at most {MAX_CANDIDATES} candidates, and this would be {0}")]
    TooMany(usize),
}

/// Fields of a candidate in a request body. A field of the wrong type counts as absent.
#[derive(Clone, Debug, Default)]
pub struct CandidateDraft {
    pub name: Option<String>,
    /// Outer `None`: unchanged; inner `None`: cleared.
    pub description: Option<Option<String>>,
    pub enabled: Option<bool>,
    pub match_type: Option<String>,
    pub pattern: Option<Option<String>>,
    pub required_terms: Option<Vec<String>>,
    pub excluded_terms: Option<Vec<String>>,
    pub quality_rules: Option<QualityRules>,
    pub size_rules: Option<SizeRules>,
    pub feed_scope: Option<FeedScope>,
    pub priority_order: Option<i64>,
}

impl CandidateDraft {
    pub fn read(body: &Map<String, Value>) -> Self {
        let text = |name: &str| match body.get(name) {
            Some(Value::String(text)) => Some(Some(text.clone())),
            Some(Value::Null) => Some(None),
            _ => None,
        };
        let list = |name: &str| {
            let items = body.get(name)?.as_array()?;
            let texts = items.iter().filter_map(Value::as_str);
            let texts = texts.map(str::trim).filter(|text| !text.is_empty());
            Some(texts.map(str::to_owned).collect())
        };
        Self {
            name: text("name").flatten(),
            description: text("description"),
            enabled: body.get("enabled").and_then(Value::as_bool),
            match_type: text("matchType").flatten(),
            pattern: text("pattern"),
            required_terms: list("requiredTerms"),
            excluded_terms: list("excludedTerms"),
            quality_rules: part(body, "qualityRules"),
            size_rules: part(body, "sizeRules"),
            feed_scope: part(body, "feedScope"),
            priority_order: body.get("priorityOrder").and_then(whole),
        }
    }

    /// Parses several drafts; entries that are no object are skipped.
    pub fn read_all(list: &[Value]) -> Vec<Self> {
        list.iter().filter_map(Value::as_object).map(Self::read).collect()
    }

    /// Builds a new candidate. `order` is its place when the draft names none.
    pub fn make(self, id: String, order: i64) -> Result<Candidate, DraftError> {
        let name = self.name.as_deref().map(str::trim).unwrap_or_default().to_owned();
        if name.is_empty() {
            return Err(DraftError::NoName);
        }
        let word = self.match_type.as_deref().map(str::trim).unwrap_or_default();
        if word.is_empty() {
            return Err(DraftError::NoMatchType);
        }
        let mut candidate = Candidate {
            id,
            priority_order: order,
            name,
            description: None,
            enabled: true,
            match_type: match_type(word)?,
            pattern: None,
            required_terms: Vec::new(),
            excluded_terms: Vec::new(),
            quality_rules: QualityRules::default(),
            size_rules: SizeRules::default(),
            feed_scope: FeedScope::default(),
            exclude_regex: None,
        };
        self.apply(&mut candidate)?;
        Ok(candidate)
    }

    /// Changes the fields that the draft has, and leaves the others.
    pub fn apply(self, candidate: &mut Candidate) -> Result<(), DraftError> {
        if let Some(name) = self.name {
            let name = name.trim();
            if name.is_empty() {
                return Err(DraftError::NoName);
            }
            name.clone_into(&mut candidate.name);
        }
        if let Some(word) = self.match_type {
            candidate.match_type = match_type(word.trim())?;
        }
        fn set<T>(field: &mut T, value: Option<T>) {
            if let Some(value) = value {
                *field = value;
            }
        }
        set(&mut candidate.description, self.description);
        set(&mut candidate.enabled, self.enabled);
        set(&mut candidate.pattern, self.pattern);
        set(&mut candidate.required_terms, self.required_terms);
        set(&mut candidate.excluded_terms, self.excluded_terms);
        set(&mut candidate.quality_rules, self.quality_rules);
        set(&mut candidate.size_rules, self.size_rules);
        set(&mut candidate.feed_scope, self.feed_scope);
        set(&mut candidate.priority_order, self.priority_order);
        candidate
            .check()
            .map_err(|refused| DraftError::Field(refused.reason))
    }
}

/// Refuses a list with more candidates than a rule may have.
pub fn check_list_length(count: usize) -> Result<(), DraftError> {
    if count > MAX_CANDIDATES {
        return Err(DraftError::TooMany(count));
    }
    Ok(())
}

fn match_type(word: &str) -> Result<MatchType, DraftError> {
    MatchType::from_str(word).map_err(|()| DraftError::MatchType(word.chars().take(100).collect()))
}

/// A whole number, with or without a fraction of zero.
fn whole(value: &Value) -> Option<i64> {
    let number = value
        .as_i64()
        .or_else(|| value.as_f64().filter(|n| n.fract() == 0.0).map(|n| n as i64))?;
    (i64::from(i32::MIN)..=i64::from(i32::MAX))
        .contains(&number)
        .then_some(number)
}

/// An object member; its own members of the wrong type count as absent.
fn part<T: DeserializeOwned>(body: &Map<String, Value>, name: &str) -> Option<T> {
    let members = body.get(name)?.as_object()?;
    let readable = |(name, value): &(&String, &Value)| {
        let alone: Map<String, Value> = [((*name).clone(), (*value).clone())].into_iter().collect();
        serde_json::from_value::<T>(Value::Object(alone)).is_ok()
    };
    let good = members.iter().filter(readable);
    let good: Map<String, Value> = good.map(|(name, value)| (name.clone(), value.clone())).collect();
    serde_json::from_value(Value::Object(good)).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn draft(body: Value) -> CandidateDraft {
        CandidateDraft::read(body.as_object().unwrap())
    }

    #[test]
    fn what_has_another_type_is_not_said() {
        let read = draft(json!({
            "name": "1080p", "matchType": "regex", "pattern": 5, "enabled": "yes", "requiredTerms": ["a", 1, " "],
            "qualityRules": { "resolution": "1080p", "season": {}, "other": 1 }, "sizeRules": [], "priorityOrder": 2.0,
        }));
        let made = read.make("c".into(), 9).unwrap();
        assert_eq!((made.pattern, made.enabled, made.priority_order), (None, true, 2));
        assert_eq!(made.required_terms, ["a"]);
        assert_eq!(made.quality_rules.resolution.as_deref(), Some("1080p"));
        assert_eq!(made.quality_rules.season, None);
    }

    #[test]
    fn a_candidate_needs_a_name_and_a_type() {
        for (body, message) in [
            (json!({ "matchType": "regex" }), "Candidate name is required"),
            (
                json!({ "name": "  ", "matchType": "regex" }),
                "Candidate name is required",
            ),
            (json!({ "name": "a" }), "matchType is required"),
            (json!({ "name": "a", "matchType": "x" }), "Invalid match type: x"),
        ] {
            let refused = draft(body.clone()).make("c".into(), 1).unwrap_err();
            assert_eq!(refused.to_string(), message, "{body}");
        }
    }

    #[test]
    fn null_clears_and_absence_keeps() {
        let made = draft(json!({ "name": "a", "matchType": "regex", "pattern": "p", "description": "d" }));
        let mut made = made.make("c".into(), 1).unwrap();
        draft(json!({ "description": null, "enabled": false }))
            .apply(&mut made)
            .unwrap();
        assert_eq!(
            (made.description, made.pattern.as_deref(), made.enabled),
            (None, Some("p"), false)
        );
    }
}
