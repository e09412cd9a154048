//! Candidates suggested from the name of a release, from the strictest to the loosest.

use std::sync::LazyLock;

use qm_release::{ContentType, Explanation, Release};
use regex::Regex;
use serde::Serialize;

use crate::candidate::{Candidate, FeedScope, MAX_PATTERN_CHARS, MatchType, QualityRules, SizeRules};
use crate::compile::{Compiled, source};
use crate::filter::escape;
use crate::judge::matches;
use crate::sample::{Prepared, Sample};
use crate::text::compact;

/// Probability that a suggested candidate matches only the intended releases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Confidence {
    High,
    Medium,
    Low,
}

/// A suggested candidate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SmartCandidate {
    pub name: String,
    pub description: String,
    pub match_type: MatchType,
    pub pattern: String,
    pub required_terms: Vec<String>,
    pub excluded_terms: Vec<String>,
    pub quality_rules: QualityRules,
    pub confidence: Confidence,
}

impl SmartCandidate {
    /// The suggestion as an enabled candidate of a list.
    pub fn into_candidate(self, id: String, priority_order: i64) -> Candidate {
        Candidate {
            id,
            priority_order,
            name: self.name,
            description: Some(self.description),
            enabled: true,
            match_type: self.match_type,
            pattern: Some(self.pattern),
            required_terms: self.required_terms,
            excluded_terms: self.excluded_terms,
            quality_rules: self.quality_rules,
            size_rules: SizeRules::default(),
            feed_scope: FeedScope::default(),
            exclude_regex: None,
        }
    }

    fn is_of(&self, name: &Prepared<'_>) -> bool {
        let list = Compiled::new(vec![self.clone().into_candidate(String::new(), 1)]);
        matches(&list, name).is_some()
    }
}

/// A parsed name, and candidates that find similar releases.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Analysis {
    pub source_name: String,
    pub parsed_metadata: Release,
    /// Confidence of the parser, 0 to 100.
    pub confidence_score: u8,
    pub recommended_candidates: Vec<SmartCandidate>,
    pub explanations: Vec<Explanation>,
    /// One short sentence each.
    pub warnings: Vec<String>,
}

/// Parses a name and suggests candidates, the best first: by title and number, by regular expression, by
/// words, by most of the words. Each matches its own name; where that is impossible, `warnings` says so. A
/// name without a title has no candidates.
pub fn analyze(torrent_name: &str) -> Analysis {
    let source_name = torrent_name.trim().to_owned();
    let name = Prepared::new(Sample {
        title: &source_name,
        ..Sample::default()
    });
    let release = name.release().clone();
    let mut warnings: Vec<String> = release
        .warnings
        .iter()
        .map(|warning| (*warning).to_owned())
        .collect();
    let recommended_candidates = match release.named() {
        Some(title) => Suggestions::new(&title, &name).all(),
        None => Vec::new(),
    };
    for candidate in &recommended_candidates {
        if !candidate.is_of(&name) {
            warnings.push(format!(
                "The candidate \"{}\" does not match this name itself",
                candidate.name
            ));
        }
    }
    Analysis {
        confidence_score: release.confidence,
        explanations: release.explanations.clone(),
        parsed_metadata: release,
        recommended_candidates,
        warnings,
        source_name,
    }
}

/// A word about the format, as the name writes it.
struct Written {
    at: usize,
    text: String,
}

/// Input of the suggestions.
struct Suggestions<'a> {
    title: &'a str,
    name: &'a Prepared<'a>,
    /// Resolution, source and codec, in the order of the name.
    format: Vec<Written>,
    rules: QualityRules,
}

impl<'a> Suggestions<'a> {
    fn new(title: &'a str, name: &'a Prepared<'a>) -> Self {
        let (release, quick) = (name.release(), name.parsed());
        // A different value in the quick view would make the candidate fail on its own name.
        let agreed = |full: Option<&'static str>, quick: Option<&'static str>| {
            let (full, quick) = (full?, quick?);
            let value = compact(full);
            let same = value == quick || source(&value) == source(quick);
            Some(if same { full } else { quick })
        };
        let told = [
            agreed(release.resolution, quick.resolution),
            agreed(release.source, quick.source),
            agreed(release.codec, quick.codec),
        ];
        let [resolution, source, codec] = told.map(|value| value.map(str::to_owned));
        let mut format: Vec<Written> = told
            .into_iter()
            .flatten()
            .filter_map(|value| written(value, name.title()))
            .collect();
        format.sort_by_key(|written| written.at);
        Self {
            title,
            name,
            format,
            rules: QualityRules {
                source,
                codec,
                resolution,
                ..QualityRules::default()
            },
        }
    }

    fn all(&self) -> Vec<SmartCandidate> {
        let mut all: Vec<SmartCandidate> = self.smart().into_iter().collect();
        all.push(self.expression());
        all.push(self.words());
        all.push(self.fuzzy());
        all.retain(|candidate| candidate.pattern.chars().count() <= MAX_PATTERN_CHARS);
        all
    }

    fn release(&self) -> &Release {
        self.name.release()
    }

    /// Season and episode, by the quick view if it has them.
    fn episode(&self) -> Option<(u32, u32)> {
        let quick = self.name.parsed();
        let release = self.release();
        quick
            .season
            .zip(quick.episode)
            .or_else(|| release.season.zip(release.episode))
    }

    fn smart(&self) -> Option<SmartCandidate> {
        let release = self.release();
        let mut rules = self.rules.clone();
        let (name, description, match_type) = match release.content_type {
            ContentType::TvEpisode => {
                let (season, episode) = self.episode()?;
                (rules.season, rules.episode) = (Some(season), Some(episode));
                let what = format!("{} S{season:02}E{episode:02}", self.title);
                (
                    what,
                    "The same episode in the same quality",
                    MatchType::SmartEpisodeMatch,
                )
            }
            ContentType::AnimeEpisode => {
                rules.episode = release.absolute_episode;
                let what = format!("{} {}", self.title, release.absolute_episode?);
                (
                    what,
                    "The same episode in the same quality",
                    MatchType::SmartEpisodeMatch,
                )
            }
            ContentType::Movie => {
                rules.year = release.year;
                let what = format!("{} ({})", self.title, release.year?);
                (
                    what,
                    "The same movie in the same quality",
                    MatchType::SmartMovieMatch,
                )
            }
            ContentType::Daily | ContentType::Unknown => return None,
        };
        Some(SmartCandidate {
            quality_rules: rules,
            ..suggested(&name, description, match_type, self.title, Confidence::High)
        })
    }

    /// The number as the name writes it, as part of a pattern.
    fn number(&self) -> Option<String> {
        let release = self.release();
        match release.content_type {
            ContentType::TvEpisode => {
                let (season, episode) = self.episode()?;
                let pattern = format!(
                    "s0?{season}[ ._-]{{0,3}}e0*{episode}|0?{season}x0*{episode}|\
                     season[ ._-]?0?{season}[, ._-]{{0,3}}episode[ ._-]?0*{episode}"
                );
                let found = find(&pattern, self.name.title()).map(|(_, text)| text);
                Some(found.unwrap_or_else(|| format!("S{season:02}E{episode:02}")))
            }
            ContentType::AnimeEpisode => {
                let number = release.absolute_episode?;
                let found = find(&format!("0*{number}"), self.name.title()).map(|(_, text)| text);
                Some(found.unwrap_or_else(|| format!("{number:02}")))
            }
            ContentType::Daily => {
                let date = release.air_date.as_deref()?;
                let pattern = date.replace('-', "[ ._/-]");
                Some(find(&pattern, self.name.title()).map_or_else(|| date.to_owned(), |(_, text)| text))
            }
            ContentType::Movie => release.year.map(|year| year.to_string()),
            ContentType::Unknown => None,
        }
    }

    fn expression(&self) -> SmartCandidate {
        let number = self.number().map(|number| escape(&number)).unwrap_or_default();
        let format: String = self
            .format
            .iter()
            .map(|written| format!(".*{}", escape(&written.text)))
            .collect();
        let suggestion = |parts_of_title: &str, before_number: &str| {
            let title: Vec<String> = self.title.split_whitespace().map(escape).collect();
            let title = title.join(parts_of_title);
            let before_number = if number.is_empty() { "" } else { before_number };
            let pattern = format!("{title}{before_number}{number}{format}.*");
            suggested(
                &format!("{} by pattern", self.title),
                "A regular expression of the title, the number and the quality",
                MatchType::Regex,
                &pattern,
                Confidence::Medium,
            )
        };
        // Names without dots between words, or with text between title and number.
        [
            (r"\.", r"\."),
            (r"\.", r".*"),
            (r"[\s._-]+", r"[\s._-]+"),
            (r"[\s._-]+", r".*"),
            (r".{1,3}", r".*"),
        ]
        .into_iter()
        .map(|(words, number)| suggestion(words, number))
        .find(|candidate| candidate.is_of(self.name))
        .unwrap_or_else(|| suggestion(r"\.", r"\."))
    }

    fn words(&self) -> SmartCandidate {
        let suggestion = |number: Option<String>| {
            let mut words = vec![self.title.to_owned()];
            words.extend(number);
            words.extend(self.format.iter().map(|written| written.text.clone()));
            suggested(
                &format!("{} by words", self.title),
                "Every word of the title, the number and the quality",
                MatchType::ContainsText,
                &words.join(" "),
                Confidence::Medium,
            )
        };
        let all = suggestion(self.number());
        // A number in several words ("Season 2 Episode 7") is not searched among words of the title.
        if all.is_of(self.name) {
            all
        } else {
            suggestion(None)
        }
    }

    fn fuzzy(&self) -> SmartCandidate {
        let release = self.release();
        let number = match release.content_type {
            ContentType::TvEpisode => self
                .episode()
                .map(|(season, episode)| format!(" Season {season} Episode {episode}")),
            ContentType::AnimeEpisode => release
                .absolute_episode
                .map(|number| format!(" Episode {number}")),
            ContentType::Movie | ContentType::Daily | ContentType::Unknown => {
                release.year.map(|year| format!(" {year}"))
            }
        };
        suggested(
            &format!("{} by most words", self.title),
            "Most words of the title, in any order",
            MatchType::FuzzyMatch,
            &format!("{}{}", self.title, number.unwrap_or_default()),
            Confidence::Low,
        )
    }
}

fn suggested(
    name: &str,
    description: &str,
    match_type: MatchType,
    pattern: &str,
    confidence: Confidence,
) -> SmartCandidate {
    SmartCandidate {
        name: name.chars().take(crate::candidate::MAX_NAME_CHARS).collect(),
        description: description.to_owned(),
        match_type,
        pattern: pattern.to_owned(),
        required_terms: Vec::new(),
        excluded_terms: Vec::new(),
        quality_rules: QualityRules::default(),
        confidence,
    }
}

/// Spellings of a value of the parser, each with its expression.
static SPELLINGS: LazyLock<Vec<(&str, Regex)>> = LazyLock::new(|| {
    [
        ("2160p", "2160p|4k|uhd"),
        ("webdl", "web[ ._-]?dl"),
        ("webrip", "web[ ._-]?rip"),
        ("bluray", "blu[ ._-]?ray|bd[ -]?rip|br[ -]?rip|bdmux"),
        ("dvd", "dvd(?:[ -]?rip)?"),
        ("x265", "x265|h[ ._]?265|hevc"),
        ("x264", "x264|h[ ._]?264|avc"),
    ]
    .into_iter()
    .filter_map(|(value, spellings)| Some((value, words(spellings)?)))
    .collect()
});

/// Spelling and position of a value in the name.
fn written(value: &'static str, name: &str) -> Option<Written> {
    let key = compact(value);
    let found = match SPELLINGS.iter().find(|(value, _)| *value == key) {
        Some((_, spellings)) => spellings
            .find(name)
            .map(|found| (found.start(), found.as_str().to_owned())),
        None => find(&escape(value), name),
    };
    let (at, text) = found?;
    Some(Written { at, text })
}

/// First match of an expression at word boundaries.
fn find(pattern: &str, name: &str) -> Option<(usize, String)> {
    let found = words(pattern)?.find(name)?;
    Some((found.start(), found.as_str().to_owned()))
}

fn words(pattern: &str) -> Option<Regex> {
    Regex::new(&format!(r"(?i)(?-u:\b)(?:{pattern})(?-u:\b)")).ok()
}
