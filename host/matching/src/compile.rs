//! Compiled preference lists.

use qm_conditions::pattern::Pattern;

use crate::candidate::{Candidate, MatchType, QualityRules};
use crate::core::Core;
use crate::sample::Prepared;
use crate::text::{Script, compact, normalize};

/// Largest number of candidates in a list.
pub const MAX_CANDIDATES: usize = 100;

/// Compiled candidates in order of priority.
#[derive(Clone, Debug, Default)]
pub struct Compiled {
    pub(crate) rules: Vec<Rule>,
}

impl Compiled {
    /// Candidates of equal priority keep their order. Never fails: a candidate beyond a limit or with an
    /// invalid pattern fails with a reason whenever it is used.
    pub fn new(mut candidates: Vec<Candidate>) -> Self {
        candidates.sort_by_key(|candidate| candidate.priority_order);
        let rules = candidates.into_iter().enumerate();
        Self {
            rules: rules.map(|(at, candidate)| Rule::new(candidate, at)).collect(),
        }
    }

    /// A list without candidates matches nothing.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    pub fn len(&self) -> usize {
        self.rules.len()
    }

    /// Candidates by priority.
    pub fn candidates(&self) -> impl Iterator<Item = &Candidate> {
        self.rules.iter().map(|rule| &rule.candidate)
    }
}

/// A compiled candidate.
#[derive(Clone, Debug)]
pub(crate) struct Rule {
    pub(crate) candidate: Candidate,
    pub(crate) core: Core,
    pub(crate) required: Vec<Term>,
    pub(crate) excluded: Vec<Term>,
    pub(crate) exclude: Option<Pattern>,
    pub(crate) wants: Wants,
}

impl Rule {
    fn new(candidate: Candidate, at: usize) -> Self {
        let refused = if at >= MAX_CANDIDATES {
            Some(format!("the list has more than {MAX_CANDIDATES} candidates"))
        } else {
            candidate.check().err().map(|refused| refused.reason)
        };
        if let Some(reason) = refused {
            return Self {
                candidate,
                core: Core::Nothing(reason),
                required: Vec::new(),
                excluded: Vec::new(),
                exclude: None,
                wants: Wants::default(),
            };
        }
        let terms = |terms: &[String]| terms.iter().filter_map(|term| Term::new(term)).collect();
        Self {
            core: Core::compile(
                candidate.match_type,
                candidate.pattern.as_deref(),
                &candidate.quality_rules,
            ),
            required: terms(&candidate.required_terms),
            excluded: terms(&candidate.excluded_terms),
            exclude: candidate
                .exclude_regex
                .as_deref()
                .and_then(|source| Pattern::compile(source).ok()),
            wants: Wants::new(&candidate.quality_rules),
            candidate,
        }
    }

    /// Label of the check of its pattern.
    pub(crate) fn label(&self) -> &'static str {
        match self.candidate.match_type {
            MatchType::ExactText => "exact text",
            MatchType::ContainsText => "contains text",
            MatchType::Regex => "regex",
            MatchType::Wildcard => "wildcard",
            MatchType::SmartEpisodeMatch => "smart episode",
            MatchType::SmartMovieMatch => "smart movie",
            MatchType::FuzzyMatch => "fuzzy",
        }
    }
}

/// A required or excluded term.
#[derive(Clone, Debug)]
pub(crate) struct Term {
    /// Original text.
    pub(crate) written: String,
    /// Normalized; `None` where nothing would remain, so that the original text is searched.
    words: Option<(Script, String)>,
    lower: String,
}

impl Term {
    /// `None` for a blank text.
    fn new(written: &str) -> Option<Self> {
        let script = Script::of_text(written);
        let words = normalize(written, script);
        let lower = written.trim().to_lowercase();
        (!lower.is_empty()).then(|| Self {
            written: written.to_owned(),
            words: (!words.is_empty()).then_some((script, words)),
            lower,
        })
    }

    pub(crate) fn is_in(&self, name: &Prepared<'_>) -> bool {
        match &self.words {
            Some((script, words)) => name.text(*script).text().contains(words.as_str()),
            None => name.lower().contains(&self.lower),
        }
    }
}

/// A value of the quality rules, with its original text.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    pub(crate) written: String,
    /// Value in the vocabulary of the quick view.
    pub(crate) value: String,
}

/// Quality rules in the vocabulary of the quick view.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wants {
    pub(crate) resolution: Option<Wanted>,
    pub(crate) source: Option<Wanted>,
    pub(crate) codec: Option<Wanted>,
    pub(crate) quality: Option<Term>,
}

impl Wants {
    fn new(rules: &QualityRules) -> Self {
        // A value is parsed by the quick view, so that `4K` becomes `2160p` and `H.265` becomes `x265`.
        let wanted =
            |rule: &Option<String>, read: fn(&str) -> Option<&'static str>, same: fn(&str) -> &str| {
                let written = rule.as_deref()?.trim();
                let value = read(written).map_or_else(|| compact(written), str::to_owned);
                (!written.is_empty()).then(|| Wanted {
                    written: written.to_owned(),
                    value: same(&value).to_owned(),
                })
            };
        Self {
            resolution: wanted(
                &rules.resolution,
                |text| qm_release::quick(text).resolution,
                |it| it,
            ),
            source: wanted(&rules.source, |text| qm_release::quick(text).source, source),
            codec: wanted(&rules.codec, |text| qm_release::quick(text).codec, |it| it),
            quality: rules.quality.as_deref().and_then(Term::new),
        }
    }
}

/// One name for sources that are equal to a rule.
pub(crate) fn source(read: &str) -> &str {
    match read {
        "web" => "webdl",
        other => other,
    }
}
