//! Comparison for each match type.

use qm_conditions::pattern::Pattern;
use qm_release::ContentType;

use crate::candidate::{MAX_PATTERN_CHARS, MatchType, QualityRules};
use crate::filter::escape;
use crate::sample::Prepared;
use crate::text::{Script, Title, is_episode, is_format, normalize};

/// Percentage of the words of a fuzzy pattern that must occur.
const FUZZY_SHARE: usize = 70;

/// A compiled pattern of one type.
#[derive(Clone, Debug)]
pub(crate) enum Core {
    /// Never matches, with the reason.
    Nothing(String),
    Exact(Script, String),
    Contains {
        script: Script,
        /// Words that must occur before the marker of an episode.
        title: Vec<String>,
        anywhere: Vec<String>,
    },
    Pattern(Pattern),
    Show(Show),
    Movie(Show, Option<u32>),
    Fuzzy {
        script: Script,
        words: Vec<String>,
        episode: Option<Number>,
    },
}

/// A title with its episode.
#[derive(Clone, Debug)]
pub(crate) struct Show {
    script: Script,
    title: Title,
    season: Option<u32>,
    episode: Option<u32>,
}

/// Number of an episode in a fuzzy pattern.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Number {
    Season(u32, u32),
    Absolute(u32),
}

impl Core {
    pub(crate) fn compile(kind: MatchType, pattern: Option<&str>, quality: &QualityRules) -> Self {
        let pattern = pattern.unwrap_or_default();
        let length = pattern.chars().count();
        if length > MAX_PATTERN_CHARS {
            return Self::Nothing(format!(
                "the pattern has {length} characters; {MAX_PATTERN_CHARS} is the most"
            ));
        }
        if pattern.trim().is_empty() {
            return Self::Nothing("the pattern is empty".to_owned());
        }
        let script = Script::of_text(pattern);
        let words = normalize(pattern, script);
        let by_words = !matches!(kind, MatchType::Regex | MatchType::Wildcard);
        if by_words && words.is_empty() {
            return Self::Nothing("the pattern holds no letter and no digit".to_owned());
        }
        match kind {
            MatchType::ExactText => Self::Exact(script, words),
            MatchType::ContainsText => contains(script, &words),
            MatchType::Regex => expression(pattern),
            MatchType::Wildcard => expression(&of_wildcard(pattern)),
            MatchType::SmartEpisodeMatch => Self::Show(Show {
                season: quality.season,
                episode: quality.episode,
                ..Show::from_words(script, &words)
            }),
            MatchType::SmartMovieMatch => Self::Movie(Show::from_words(script, &words), quality.year),
            MatchType::FuzzyMatch => fuzzy(pattern, script, &words),
        }
    }

    /// Evaluates the pattern. `say` receives each comparison with its result and a description; the first
    /// failure is the last call.
    pub(crate) fn ask(&self, name: &Prepared<'_>, mut say: impl FnMut(bool, &dyn Fn() -> String)) -> bool {
        let mut told = |passed: bool, detail: &dyn Fn() -> String| {
            say(passed, detail);
            passed
        };
        match self {
            Self::Nothing(reason) => told(false, &|| reason.clone()),
            Self::Exact(script, words) => {
                let same = name.text(*script).text() == words;
                told(same, &|| {
                    let is = if same { "is" } else { "is not" };
                    format!("the name {is} {}", quoted(words))
                })
            }
            Self::Contains {
                script,
                title,
                anywhere,
            } => {
                let text = name.text(*script);
                let missing = |words: &[String], has: &dyn Fn(&str) -> bool| {
                    words.iter().find(|word| !has(word)).cloned()
                };
                let lost = missing(title, &|word| text.has_in_region(word));
                if let Some(word) = lost {
                    return told(false, &|| format!("the title has no word {}", quoted(&word)));
                }
                match missing(anywhere, &|word| text.has(word)) {
                    Some(word) => told(false, &|| format!("the name has no word {}", quoted(&word))),
                    None => told(true, &|| "every word is there".to_owned()),
                }
            }
            Self::Pattern(pattern) => {
                let found = pattern.is_in(name.title());
                told(found, &|| {
                    let matches = if found { "matches" } else { "does not match" };
                    format!("the pattern {matches} the name")
                })
            }
            Self::Show(show) => {
                show.title_of(name, &mut told)
                    && show.season_of(name, &mut told)
                    && show.episode_of(name, &mut told)
            }
            Self::Movie(show, year) => show.title_of(name, &mut told) && year_of(*year, name, &mut told),
            Self::Fuzzy {
                script,
                words,
                episode,
            } => is_number(*episode, name, &mut told) && shares(words, *script, name, &mut told),
        }
    }
}

fn expression(source: &str) -> Core {
    match Pattern::compile(source) {
        Ok(pattern) => Core::Pattern(pattern),
        Err(error) => Core::Nothing(format!("the pattern {error}")),
    }
}

/// Regular expression for a wildcard pattern: `*` for anything, `?` for one character, the rest literally.
fn of_wildcard(pattern: &str) -> String {
    let mut out = String::with_capacity(pattern.len() + 16);
    let mut letters = pattern.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '*' => {
                // Several are the same as one.
                while letters.next_if_eq(&'*').is_some() {}
                out.push_str(".*");
            }
            '?' => out.push('.'),
            other => out.push_str(&escape(other.encode_utf8(&mut [0; 4]))),
        }
    }
    out
}

fn words_of(normalized: &str) -> Vec<String> {
    normalized.split(' ').map(str::to_owned).collect()
}

fn contains(script: Script, normalized: &str) -> Core {
    let mut title = words_of(normalized);
    let end = title
        .iter()
        .position(|word| is_format(word))
        .unwrap_or(title.len());
    let anywhere = title.split_off(end);
    Core::Contains {
        script,
        title,
        anywhere,
    }
}

fn fuzzy(pattern: &str, script: Script, normalized: &str) -> Core {
    let mut words = words_of(normalized);
    let quick = qm_release::quick(pattern);
    let episode = quick
        .season
        .zip(quick.episode)
        .map(|(season, episode)| Number::Season(season, episode))
        .or_else(|| {
            let at = words.iter().position(|word| word == "episode")?;
            let number = words.get(at + 1)?.parse().ok()?;
            Some(Number::Absolute(number))
        });
    if episode.is_some() {
        words = without_numbers(&words);
        if words.is_empty() {
            return Core::Nothing("the pattern holds no word beside the episode".to_owned());
        }
    }
    Core::Fuzzy {
        script,
        words,
        episode,
    }
}

/// Words without episode numbers: `s01e02`, `s01`, `e02`, `season 1`, `episode 2`.
fn without_numbers(words: &[String]) -> Vec<String> {
    let is_number = |word: &str| !word.is_empty() && word.bytes().all(|digit| digit.is_ascii_digit());
    let is_marker = |word: &str| {
        matches!(word, "season" | "episode")
            || is_episode(word)
            || word.strip_prefix(['s', 'e']).is_some_and(is_number)
    };
    let mut before = "";
    let mut kept = Vec::with_capacity(words.len());
    for word in words {
        let counts = matches!(before, "season" | "episode") && is_number(word);
        if !counts && !is_marker(word) {
            kept.push(word.clone());
        }
        before = word;
    }
    kept
}

type Say<'a> = &'a mut dyn FnMut(bool, &dyn Fn() -> String) -> bool;

impl Show {
    fn from_words(script: Script, normalized: &str) -> Self {
        Self {
            script,
            title: Title::new(normalized),
            season: None,
            episode: None,
        }
    }

    fn title_of(&self, name: &Prepared<'_>, told: Say<'_>) -> bool {
        let title = &self.title;
        let text = name.text(self.script);
        let same = title.is_of(text) || self.is_read_as(title, name);
        told(same, &|| {
            if same {
                "the title is the same".to_owned()
            } else {
                format!("the title is read as {}", quoted(&text.title()))
            }
        })
    }

    /// For names with a group or site in front, and for anime without a marker after the title: the title is
    /// taken from the full parser.
    fn is_read_as(&self, title: &Title, name: &Prepared<'_>) -> bool {
        let bracketed = name.title().trim_start().starts_with(['[', '【', '(', '{']);
        let has_marker = name.text(self.script).has_marker;
        // `S2 - 09` and `2nd Season - 09` are no normal markers.
        let is_unmarked = name.parsed().episode.is_none();
        if !bracketed && has_marker && !is_unmarked {
            return false;
        }
        let release = name.release();
        let has_season = is_unmarked && release.season.is_some() && !release.episodes.is_empty();
        let told = bracketed || has_season || release.content_type == ContentType::AnimeEpisode;
        if !told {
            return false;
        }
        let is = |read: &str| title.equals(&normalize(read, self.script));
        release.title.as_deref().is_some_and(is) || release.named_without_season().as_deref().is_some_and(is)
    }

    fn season_of(&self, name: &Prepared<'_>, told: Say<'_>) -> bool {
        self.season
            .is_none_or(|wanted| equal("season", wanted, season_in(name), told))
    }

    fn episode_of(&self, name: &Prepared<'_>, told: Say<'_>) -> bool {
        let Some(wanted) = self.episode else {
            return true;
        };
        let read = episode_in(name);
        if self.season.is_none() && read.is_none() {
            // A name with absolute numbers.
            return absolute(wanted, name, told);
        }
        equal("episode", wanted, read, told)
    }
}

/// Season of the quick view, or else of the full parser, which knows `S2 - 09`.
fn season_in(name: &Prepared<'_>) -> Option<u32> {
    name.parsed().season.or_else(|| name.release().season)
}

/// Episode of the quick view, or else one of the full parser counted within a season.
fn episode_in(name: &Prepared<'_>) -> Option<u32> {
    let of_season = || {
        let release = name.release();
        release.season.and_then(|_| release.episodes.first().copied())
    };
    name.parsed().episode.or_else(of_season)
}

fn equal(what: &str, wanted: u32, read: Option<u32>, told: Say<'_>) -> bool {
    told(read == Some(wanted), &|| match read {
        Some(read) if read == wanted => format!("{what} {wanted}"),
        Some(read) => format!("{what} {wanted} is wanted, the name has {read}"),
        None => format!("{what} {wanted} is wanted, the name has none"),
    })
}

fn absolute(wanted: u32, name: &Prepared<'_>, told: Say<'_>) -> bool {
    let numbers = &name.release().absolute_episodes;
    let read = numbers.contains(&wanted).then_some(wanted);
    equal("episode", wanted, read.or_else(|| numbers.first().copied()), told)
}

/// Year of the quick view, which is the first in the name; or of the full parser, which recognises a year as
/// a title.
fn year_of(wanted: Option<u32>, name: &Prepared<'_>, told: Say<'_>) -> bool {
    let Some(wanted) = wanted else {
        return true;
    };
    let first = name.parsed().year;
    let full = || name.release().year.filter(|year| *year == wanted);
    let read = first
        .filter(|year| *year == wanted)
        .or_else(|| first.and_then(|_| full()))
        .or(first);
    equal("year", wanted, read, told)
}

fn is_number(wanted: Option<Number>, name: &Prepared<'_>, told: Say<'_>) -> bool {
    match wanted {
        None => true,
        Some(Number::Absolute(number)) => absolute(number, name, told),
        Some(Number::Season(season, episode)) => {
            equal("season", season, season_in(name), told)
                && equal("episode", episode, episode_in(name), told)
        }
    }
}

fn shares(words: &[String], script: Script, name: &Prepared<'_>, told: Say<'_>) -> bool {
    let text = name.text(script);
    let there = words.iter().filter(|word| text.has(word)).count();
    told(there * 100 >= words.len() * FUZZY_SHARE, &|| {
        let share = there * 100 / words.len();
        format!(
            "{there} of {} words are there ({share} %, {FUZZY_SHARE} % are needed)",
            words.len()
        )
    })
}

/// A text in quotes for sentences.
pub(crate) fn quoted(text: &str) -> String {
    const LONGEST: usize = 120;
    if text.chars().count() <= LONGEST {
        return format!("\"{text}\"");
    }
    let start: String = text.chars().take(LONGEST).collect();
    format!("\"{start}…\"")
}
