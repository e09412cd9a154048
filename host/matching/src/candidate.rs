//! Candidates: conditions on the name of a release.

use std::fmt;
use std::str::FromStr;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use crate::core::Core;
use crate::text::{compact, is_format};

/// Largest number of characters of a candidate's name.
pub const MAX_NAME_CHARS: usize = 200;
/// Largest number of characters of a candidate's pattern.
pub const MAX_PATTERN_CHARS: usize = qm_conditions::pattern::MAX_CHARS;
/// Largest number of required terms, and of excluded terms.
pub const MAX_TERMS: usize = 50;
/// Largest number of characters of a term, and of a value of the quality rules.
pub const MAX_TERM_CHARS: usize = 200;
/// Largest number of feeds that a candidate is limited to.
pub const MAX_FEEDS: usize = 500;

/// Comparison of a candidate's pattern with a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MatchType {
    /// The whole name, apart from separators and case.
    ExactText,
    /// Each word of the pattern: title words in the title, words of format anywhere.
    ContainsText,
    /// A regular expression as ECMAScript reads them, case-insensitive and unanchored.
    Regex,
    /// `*` for anything, `?` for one character; case-insensitive and unanchored.
    Wildcard,
    /// The title of a show, with the season and episode of the quality rules.
    SmartEpisodeMatch,
    /// The title of a movie, with the year of the quality rules.
    SmartMovieMatch,
    /// Most words of the pattern, in any order.
    FuzzyMatch,
}

impl MatchType {
    pub const ALL: [Self; 7] = [
        Self::ExactText,
        Self::ContainsText,
        Self::Regex,
        Self::Wildcard,
        Self::SmartEpisodeMatch,
        Self::SmartMovieMatch,
        Self::FuzzyMatch,
    ];

    /// Its word in JSON and in the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ExactText => "exact_text",
            Self::ContainsText => "contains_text",
            Self::Regex => "regex",
            Self::Wildcard => "wildcard",
            Self::SmartEpisodeMatch => "smart_episode_match",
            Self::SmartMovieMatch => "smart_movie_match",
            Self::FuzzyMatch => "fuzzy_match",
        }
    }
}

impl fmt::Display for MatchType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// `Err` for an unknown word.
impl FromStr for MatchType {
    type Err = ();

    fn from_str(word: &str) -> Result<Self, ()> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == word).ok_or(())
    }
}

/// Title in the name of a rule: its words before those about the format. `None` without a letter or a digit.
fn title_in(name: &str) -> Option<String> {
    let words: Vec<&str> = name.split_whitespace().collect();
    let is_format = |word: &&str| is_format(&compact(word));
    let end = words
        .iter()
        .skip(1)
        .position(is_format)
        .map_or(words.len(), |at| at + 1);
    let title = words[..end].join(" ");
    title.chars().any(char::is_alphanumeric).then_some(title)
}

/// One entry of a preference list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    pub id: String,
    /// The smallest is tried first; equal ones in the order of the list.
    pub priority_order: i64,
    pub name: String,
    pub description: Option<String>,
    pub enabled: bool,
    pub match_type: MatchType,
    pub pattern: Option<String>,
    /// All must occur in the name.
    pub required_terms: Vec<String>,
    /// None may occur in the name.
    pub excluded_terms: Vec<String>,
    pub quality_rules: QualityRules,
    pub size_rules: SizeRules,
    pub feed_scope: FeedScope,
    /// A regular expression that must not match; only candidates made from a simple filter have one. An
    /// invalid one excludes nothing.
    pub exclude_regex: Option<String>,
}

/// Required properties of a release. Numbers may be texts of digits; unknown keys are ignored.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct QualityRules {
    /// A text that must occur in the name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quality: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub codec: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resolution: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "number")]
    pub season: Option<u32>,
    /// Without a season also the absolute number of an episode.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "number")]
    pub episode: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "number")]
    pub year: Option<u32>,
}

/// Limits of a release's size, inclusive. An unknown size matches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SizeRules {
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "number")]
    pub min_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "number")]
    pub max_bytes: Option<u64>,
}

/// Feeds that a candidate is limited to; an empty list means all.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct FeedScope {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub feed_ids: Vec<String>,
}

/// A whole number as clients write it: `2`, `2.0`, `"2"`; `null` and an empty text are none.
fn number<'de, D, N>(deserializer: D) -> Result<Option<N>, D::Error>
where
    D: Deserializer<'de>,
    N: TryFrom<u64>,
{
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Written {
        Whole(u64),
        Float(f64),
        Text(String),
    }
    /// The largest whole number that a float represents exactly.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let number = match Option::<Written>::deserialize(deserializer)? {
        None => return Ok(None),
        Some(Written::Whole(number)) => Some(number),
        Some(Written::Float(number)) => {
            ((0.0..=EXACT).contains(&number) && number.fract() == 0.0).then_some(number as u64)
        }
        Some(Written::Text(text)) if text.trim().is_empty() => return Ok(None),
        Some(Written::Text(text)) => text.trim().parse().ok(),
    };
    number
        .and_then(|number| N::try_from(number).ok())
        .map(Some)
        .ok_or_else(|| D::Error::custom("a whole number that is not negative is expected"))
}

/// Reason why a candidate is not stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// Name of the serialised field.
    pub field: &'static str,
    /// One short sentence for users.
    pub reason: String,
}

impl Candidate {
    /// The candidate as used by a rule of this name: one of a smart type without a title takes the rule's.
    pub fn of_rule(mut self, name: &str) -> Self {
        let is_smart = matches!(
            self.match_type,
            MatchType::SmartEpisodeMatch | MatchType::SmartMovieMatch
        );
        let is_blank = self
            .pattern
            .as_deref()
            .is_none_or(|pattern| pattern.trim().is_empty());
        if is_smart && is_blank {
            self.pattern = title_in(name);
        }
        self
    }

    /// Key that candidates share which look for the same: one that is imported again is not stored twice.
    pub fn import_key(&self) -> String {
        let part = |text: &str| text.trim().to_lowercase();
        format!(
            "{}|{}|{}",
            self.match_type,
            part(self.pattern.as_deref().unwrap_or_default()),
            part(&self.name)
        )
    }

    /// Reason why it can never match; `None` where it may match.
    pub fn complaint(&self) -> Option<String> {
        match Core::compile(self.match_type, self.pattern.as_deref(), &self.quality_rules) {
            Core::Nothing(reason) => Some(reason),
            _ => None,
        }
    }

    /// Checks the limits of its parts. An invalid regular expression passes: such a candidate may be stored,
    /// and fails with a reason whenever it is used.
    pub fn check(&self) -> Result<(), Refused> {
        within("name", "The candidate name", &self.name, MAX_NAME_CHARS)?;
        for pattern in [&self.pattern, &self.exclude_regex].into_iter().flatten() {
            within("pattern", "The pattern", pattern, MAX_PATTERN_CHARS)?;
        }
        for (field, terms) in [
            ("requiredTerms", &self.required_terms),
            ("excludedTerms", &self.excluded_terms),
        ] {
            few(field, terms.len(), MAX_TERMS)?;
            for term in terms {
                within(field, "A term", term, MAX_TERM_CHARS)?;
            }
        }
        let quality = &self.quality_rules;
        for value in [
            &quality.quality,
            &quality.source,
            &quality.codec,
            &quality.resolution,
        ]
        .into_iter()
        .flatten()
        {
            within("qualityRules", "A quality rule", value, MAX_TERM_CHARS)?;
        }
        few("feedScope", self.feed_scope.feed_ids.len(), MAX_FEEDS)?;
        match (self.size_rules.min_bytes, self.size_rules.max_bytes) {
            (Some(least), Some(most)) if least > most => Err(Refused {
                field: "sizeRules",
                reason: format!("minBytes is {least}, which is more than maxBytes, {most}"),
            }),
            _ => Ok(()),
        }
    }
}

fn within(field: &'static str, what: &str, text: &str, most: usize) -> Result<(), Refused> {
    let length = text.chars().count();
    if length <= most {
        return Ok(());
    }
    Err(Refused {
        field,
        reason: format!("{what} has {length} characters; {most} is the most"),
    })
}

fn few(field: &'static str, count: usize, most: usize) -> Result<(), Refused> {
    if count <= most {
        return Ok(());
    }
    Err(Refused {
        field,
        reason: format!("{field} has {count} entries; {most} is the most"),
    })
}
