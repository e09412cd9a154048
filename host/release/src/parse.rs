//! The full reading of a release name.
//!
//! The extension and the group come off first; then everything that is known cuts the title short, so that what
//! stands before the earliest such marker is the title.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use crate::clip;
use crate::episode::{self, number};
use crate::model::{ContentType, Explanation, Release};
use crate::vocabulary::{
    AUDIO, CODECS, HDR, HDR_NAMES, LANGUAGES, PROPER, REPACK, RESOLUTIONS, SOURCES, YEAR, pattern, words,
};

static GROUP: LazyLock<Regex> = LazyLock::new(|| pattern("-([a-z0-9][a-z0-9_]{1,24})$"));
/// What a dash stands before at the end of a name, and which is no group: the rest of a marker or of a term.
static NO_GROUP: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        "^(?:[0-9]{1,4}|(?:s[0-9]{1,2})?e[0-9]{1,4}|s[0-9]{1,2}|[0-9]{1,2}x[0-9]{2,3}|dl|rip|hd|ray|ac3|\
         [0-9]{3,4}[pi]|x26[45]|hevc)$",
    )
});
static LEADING_GROUP: LazyLock<Regex> = LazyLock::new(|| pattern(r"^\[([^\[\]]{1,50})\] *"));
/// `S.H.I.E.L.D.`: its dots are not separators.
static ACRONYM: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?:(?-u:\b)[a-z]\.){2,}"));
static AIR_DATE: LazyLock<Regex> = LazyLock::new(|| words(r"(20[0-9]{2})[. /-]([0-9]{2})[. /-]([0-9]{2})"));
static PART: LazyLock<Regex> = LazyLock::new(|| words("part ([0-9]{1,2})"));
static ABSOLUTE: LazyLock<[Regex; 3]> = LazyLock::new(|| {
    [
        words("episode ([0-9]{1,4})"),
        words("e([0-9]{2,3})"),
        pattern(r" - ([0-9]{2,3})(?:v[0-9])?(?:[ \[(]|$)"),
    ]
});
static SEASON: LazyLock<Regex> = LazyLock::new(|| {
    words("(?:s([0-9]{2})|seasons? ([0-9]{1,2}))(?-u:\\b)( ?(?:-|to) ?(?:s|season )?[0-9]{1,2})?")
});
static BRACKETED_YEAR: LazyLock<Regex> = LazyLock::new(|| pattern(r"\(((?:19|20)[0-9]{2})\)"));

const EXTENSIONS: [&str; 6] = ["mkv", "mp4", "avi", "ts", "m2ts", "torrent"];

/// A year right after one of these belongs to the title: "Class of 2020".
const BEFORE_A_YEAR_OF_THE_TITLE: [&str; 10] = [
    "of", "in", "since", "from", "year", "after", "before", "until", "til", "circa",
];

/// Reads a release name.
pub fn parse(name: &str) -> Release {
    let mut reader = Reader::new(without_extension(clip(name).trim()));
    reader.numbers();
    reader.year();
    reader.quality();
    reader.title();
    reader.judge();
    reader.release
}

fn without_extension(name: &str) -> &str {
    match name.rsplit_once('.') {
        Some((stem, extension))
            if EXTENSIONS
                .iter()
                .any(|known| extension.eq_ignore_ascii_case(known)) =>
        {
            stem.trim_end()
        }
        _ => name,
    }
}

/// Separators as spaces, byte for byte: positions in the result are positions in `name`.
fn spaced(name: &str) -> String {
    let acronyms: Vec<Range<usize>> = ACRONYM.find_iter(name).map(|found| found.range()).collect();
    let mut next = acronyms.iter().peekable();
    name.char_indices()
        .map(|(at, c)| {
            while next.peek().is_some_and(|acronym| acronym.end <= at) {
                next.next();
            }
            let in_acronym = next.peek().is_some_and(|acronym| acronym.contains(&at));
            if c == '_' || c == '.' && !in_acronym {
                ' '
            } else {
                c
            }
        })
        .collect()
}

struct Reader {
    text: String,
    /// Where the title begins: after a group in brackets.
    start: usize,
    /// Where it ends.
    cut: usize,
    episode_at: Option<usize>,
    release: Release,
}

impl Reader {
    fn new(name: &str) -> Self {
        let mut release = Release::default();
        let mut rest = name;
        if let Some(found) = GROUP.captures(name)
            && let (Some(whole), Some(group)) = (found.get(0), found.get(1))
            && !NO_GROUP.is_match(group.as_str())
        {
            release.release_group = Some(group.as_str().to_owned());
            explain(
                &mut release,
                "releaseGroup",
                group.as_str(),
                "stands after the last dash",
            );
            rest = &name[..whole.start()];
        }
        let mut start = 0;
        if let Some(found) = LEADING_GROUP.captures(rest)
            && let (Some(whole), Some(group)) = (found.get(0), found.get(1))
        {
            start = whole.end();
            if release.release_group.is_none() && !NO_GROUP.is_match(group.as_str()) {
                release.release_group = Some(group.as_str().to_owned());
                explain(
                    &mut release,
                    "releaseGroup",
                    group.as_str(),
                    "leads the name in brackets",
                );
            }
        }
        let text = spaced(rest);
        Self {
            start,
            cut: text.len(),
            text,
            episode_at: None,
            release,
        }
    }

    /// Notes where a field was read from.
    fn note(&mut self, field: &'static str, value: impl ToString, at: &Range<usize>) {
        let reason = format!("read from `{}`", self.text[at.clone()].trim());
        explain(&mut self.release, field, &value.to_string(), &reason);
    }

    fn cut_at(&mut self, at: usize) {
        self.cut = self.cut.min(at);
    }

    /// Season, episode, date, absolute number, part.
    fn numbers(&mut self) {
        if let Some(found) = episode::find(&self.text) {
            self.release.season = Some(found.season);
            self.release.episode = Some(found.first);
            self.release.episode_end = found.last;
            self.note("season", found.season, &found.at);
            self.note("episode", found.first, &found.at);
            if let Some(last) = found.last {
                self.note("episodeEnd", last, &found.at);
            }
            self.episode_at = Some(found.at.start);
            self.cut_at(found.at.start);
        }
        self.air_date();
        if self.release.episode.is_none() {
            self.absolute();
        }
        let Release {
            episode,
            absolute_episode,
            ..
        } = self.release;
        if episode.is_none() && absolute_episode.is_none() && self.release.air_date.is_none() {
            self.season();
        }
        self.part();
    }

    fn air_date(&mut self) {
        let Some((date, at)) = AIR_DATE.captures_iter(&self.text).find_map(|found| {
            let (year, month, day) = (number(&found, 1)?, number(&found, 2)?, number(&found, 3)?);
            let real = (1..=12).contains(&month) && (1..=31).contains(&day);
            real.then_some((format!("{year:04}-{month:02}-{day:02}"), found.get(0)?.range()))
        }) else {
            return;
        };
        self.note("airDate", &date, &at);
        self.release.air_date = Some(date);
        self.cut_at(at.start);
    }

    fn absolute(&mut self) {
        let text = &self.text;
        let Some((value, at)) = ABSOLUTE.iter().find_map(|pattern| {
            let found = pattern.captures(text)?;
            Some((number(&found, 1)?, found.get(0)?.range()))
        }) else {
            return;
        };
        self.note("absoluteEpisode", value, &at);
        self.release.absolute_episode = Some(value);
        self.cut_at(at.start);
    }

    /// A whole season, or several: of several none is *the* season.
    fn season(&mut self) {
        let found = SEASON
            .captures_iter(&self.text)
            .find(|found| found.get(0).is_some_and(|whole| whole.start() > self.start));
        let Some((value, several, at)) = found.and_then(|found| {
            let value = number(&found, 1).or_else(|| number(&found, 2))?;
            Some((value, found.get(3).is_some(), found.get(0)?.range()))
        }) else {
            return;
        };
        if !several {
            self.note("season", value, &at);
            self.release.season = Some(value);
        }
        self.episode_at = Some(at.start);
        self.cut_at(at.start);
    }

    fn part(&mut self) {
        let Some((value, at)) = PART
            .captures(&self.text)
            .and_then(|found| Some((number(&found, 1)?, found.get(0)?.range())))
        else {
            return;
        };
        self.note("part", value, &at);
        self.release.part = Some(value);
        let release = &self.release;
        if release.episode.is_some() || release.absolute_episode.is_some() || release.air_date.is_some() {
            self.cut_at(at.start);
        }
    }

    fn year(&mut self) {
        let bracketed = BRACKETED_YEAR
            .captures(&self.text)
            .and_then(|found| Some((found.get(0)?.range(), number(&found, 1)?)));
        let in_brackets = bracketed.is_some();
        let last = || {
            let found = YEAR.find_iter(&self.text).last()?;
            Some((found.range(), found.as_str().parse().ok()?))
        };
        let Some((at, value)) = bracketed.or_else(last) else {
            return;
        };
        let before_marker = self
            .episode_at
            .is_some_and(|marker| self.text.get(at.end..marker).is_some_and(is_gap));
        if before_marker && !in_brackets && self.belongs_to_title(at.start) {
            return;
        }
        self.note("year", value, &at);
        self.release.year = Some(value);
        if at.start > self.start && (in_brackets || self.episode_at.is_none() || before_marker) {
            self.cut_at(at.start);
        }
    }

    fn belongs_to_title(&self, year_at: usize) -> bool {
        let before = self.text[..year_at].split_whitespace().next_back();
        before.is_some_and(|word| {
            BEFORE_A_YEAR_OF_THE_TITLE
                .iter()
                .any(|known| word.eq_ignore_ascii_case(known))
        })
    }

    fn quality(&mut self) {
        let (resolution, source, codec) = (
            RESOLUTIONS.first(&self.text),
            SOURCES.first(&self.text),
            CODECS.first(&self.text),
        );
        for (field, found) in [
            ("resolution", &resolution),
            ("source", &source),
            ("codec", &codec),
        ] {
            if let Some((name, at)) = found {
                self.note(field, name, at);
                self.cut_at(at.start);
            }
        }
        self.release.resolution = resolution.map(|(name, _)| name);
        self.release.source = source.map(|(name, _)| name);
        self.release.codec = codec.map(|(name, _)| name);
        for (field, terms) in [("audio", &AUDIO), ("languages", &LANGUAGES)] {
            let found = terms.all(&self.text);
            for (name, at) in &found {
                self.note(field, name, at);
            }
            let names = found.into_iter().map(|(name, _)| name).collect();
            if field == "audio" {
                self.release.audio = names;
            } else {
                self.release.languages = names;
            }
        }
        self.hdr();
        self.release.proper = self.flag("proper", &PROPER);
        self.release.repack = self.flag("repack", &REPACK);
    }

    fn hdr(&mut self) {
        let mut found: Vec<(usize, Range<usize>)> = Vec::new();
        for captures in HDR.captures_iter(&self.text) {
            let group = (0..HDR_NAMES.len()).find_map(|term| Some((term, captures.get(term + 1)?.range())));
            if let Some((term, at)) = group
                && found.iter().all(|(known, _)| *known != term)
            {
                found.push((term, at));
            }
        }
        found.sort_by_key(|(term, _)| *term);
        for (term, at) in found {
            self.note("hdr", HDR_NAMES[term], &at);
            self.release.hdr.push(HDR_NAMES[term]);
        }
    }

    fn flag(&mut self, field: &'static str, word: &Regex) -> bool {
        let found = word.find(&self.text).map(|found| found.range());
        if let Some(at) = &found {
            self.note(field, true, at);
        }
        found.is_some()
    }

    fn title(&mut self) {
        let bare: String = self.text[self.start.min(self.cut)..self.cut]
            .chars()
            .filter(|c| !"[](){}".contains(*c))
            .collect();
        let words: Vec<&str> = bare.split_whitespace().collect();
        let title = words
            .join(" ")
            .trim_matches(|c: char| c == '-' || c.is_whitespace())
            .to_owned();
        if !title.is_empty() {
            let reason = "stands before everything else that was recognised";
            explain(&mut self.release, "title", &title, reason);
            self.release.title = Some(title);
        }
    }

    /// What kind of thing it is, how sure that is, and what is missing.
    fn judge(&mut self) {
        let release = &mut self.release;
        let many_episodes = self.episode_at.is_some() && release.episode.is_none();
        release.content_type = if release.season.is_some() && release.episode.is_some() {
            ContentType::TvEpisode
        } else if release.air_date.is_some() {
            ContentType::Daily
        } else if release.absolute_episode.is_some() {
            ContentType::AnimeEpisode
        } else if release.year.is_some() && !many_episodes {
            ContentType::Movie
        } else {
            ContentType::Unknown
        };
        let identified =
            release.absolute_episode.is_some() || release.air_date.is_some() || release.year.is_some();
        let confidence = [
            (release.title.is_some(), 30),
            (release.episode.is_some(), 25),
            (release.episode.is_none() && identified, 18),
            (release.resolution.is_some(), 15),
            (release.source.is_some(), 15),
            (release.codec.is_some(), 10),
            (release.release_group.is_some(), 5),
        ];
        release.confidence = confidence
            .into_iter()
            .filter_map(|(known, points)| known.then_some(points))
            .sum();
        for (missing, warning) in [
            (release.release_group.is_none(), "No release group was recognised"),
            (release.resolution.is_none(), "No resolution was recognised"),
            (release.source.is_none(), "No source was recognised"),
            (release.title.is_none(), "No title was recognised"),
        ] {
            if missing {
                release.warnings.push(warning);
            }
        }
    }
}

fn is_gap(text: &str) -> bool {
    text.chars().all(|c| " ._-()[]".contains(c))
}

fn explain(release: &mut Release, field: &'static str, value: &str, reason: &str) {
    release.explanations.push(Explanation {
        field,
        value: value.to_owned(),
        reason: reason.to_owned(),
    });
}
