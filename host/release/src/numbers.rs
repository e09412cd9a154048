//! Choice among the numbers that were found: season, episode, absolute number, part.

use crate::lex::Kind;
use crate::marks::Found;
use crate::read::Reader;
use crate::rules::{self, Means, More, RANGE, SPAN, When};

/// Longest range of episodes whose end is a bare number.
const LONGEST_SPAN: u32 = 12;
/// Longest range whose end is marked as an episode.
const LONGEST_NAMED_SPAN: u32 = 100;
/// Longest range of absolute numbers, which may cover a whole series.
const LONGEST_BATCH: u32 = 1200;

/// The chosen season and episodes.
pub(crate) struct Episodes {
    pub(crate) season: u32,
    pub(crate) all: Vec<u32>,
    pub(crate) at: (usize, usize),
    pub(crate) rule: &'static str,
}

impl Reader<'_> {
    /// Reads season, episode, date, absolute number and part.
    pub(crate) fn numbers(&mut self) {
        if self.traits.opaque {
            return;
        }
        let episodes = self.episodes();
        let span = episodes.as_ref().map(|episodes| episodes.at);
        self.date(span);
        let absolute = self.absolute(span);
        match episodes {
            Some(episodes) => self.set_episodes(&episodes, absolute.as_ref()),
            None => self.without_episode(absolute),
        }
        self.half();
        self.part();
    }

    /// The first match whose conditions hold, in the order of the table.
    pub(crate) fn first(&self, means: &[Means], free_of: &[Option<(usize, usize)>]) -> Option<Found> {
        let candidates = self.marks.found.iter().filter(|found| {
            means.contains(&found.rule.means)
                && free_of
                    .iter()
                    .flatten()
                    .all(|(start, end)| found.end <= *start || found.start >= *end)
                && found.end <= self.end
                && self.holds(found)
        });
        candidates.min_by_key(|found| (found.rank, found.start)).copied()
    }

    /// True when the conditions of a match's rule are met, and its numbers are plausible.
    pub(crate) fn holds(&self, found: &Found) -> bool {
        let when = found.rule.when;
        let asks = |condition: When| when & condition != 0;
        (!asks(rules::ENDS) || self.ends(found.end))
            && (!asks(rules::GROUP) || self.lead_group.is_some())
            && (!asks(rules::NO_GROUP) || self.lead_group.is_none())
            && (!asks(rules::PADDED) || is_padded(found))
            && (!asks(rules::TELEVISION) || self.traits.television)
            && (!asks(rules::NO_YEAR) || !self.traits.year)
            && (!asks(rules::FANS) || self.traits.fans)
            && (!asks(rules::SEASON) || self.follows_season(found.start))
            && (!asks(rules::LEADS) || found.start == self.lead)
            && (!asks(rules::BARE) || self.traits.bare)
            && (!asks(rules::LAST) || self.is_last(found.end))
            && (!asks(rules::INSIDE) || self.is_inside(found))
            && self.is_possible(found)
    }

    /// True when no word of a title follows.
    fn ends(&self, at: usize) -> bool {
        let text = &self.text;
        let next = text.skip(at, " ._-,:");
        if next >= self.end || self.marks.word_at(next).is_some() {
            return true;
        }
        match text.mark(next) {
            Some(mark) => "[](){}".contains(mark),
            None => {
                let dash = (at..next).find(|inner| text.mark(*inner) == Some('-'));
                let parted = dash.is_some_and(|dash| dash > at || dash + 1 < next);
                parted || (text.low(next) == "s" && text.kind(next + 1) == Some(Kind::Number))
            }
        }
    }

    fn follows_season(&self, at: usize) -> bool {
        let end = self.text.skip_back(at, " ._-");
        self.marks.ends_season(end)
    }

    /// True when no free number follows.
    fn is_last(&self, at: usize) -> bool {
        let next = self.text.skip(at, " ._-");
        self.text.kind(next) != Some(Kind::Number) || self.marks.word_at(next).is_some() || self.is_year(next)
    }

    /// True when a part of a title stands before it.
    fn is_inside(&self, found: &Found) -> bool {
        let in_brackets = found.rule.pattern.starts_with("{[}") && self.lead_group.is_some();
        in_brackets || (self.lead..found.start).any(|at| self.text.is_word(at))
    }

    fn is_possible(&self, found: &Found) -> bool {
        let value = |letter| found.numbers.value(letter);
        let text = &self.text;
        match found.rule.means {
            Means::Episode => {
                let season = value(b'S').unwrap_or_default();
                let is_season = season <= 200 || (1900..2100).contains(&season);
                let decimal = found.start >= 2
                    && text.mark(found.start - 1) == Some('.')
                    && text.kind(found.start - 2) == Some(Kind::Number)
                    && text.low(found.start - 2).len() < 3;
                let single = found.numbers.get(b'E').is_some_and(|episode| episode.digits == 1);
                let crossed = found.rule.name == "season by episode";
                let loose = text.joined_before(found.start) || text.is_plain_word(found.end) || decimal;
                let year = found.rule.pattern.starts_with("<S:4>");
                // `S01-05` is five seasons.
                let seasons = found.rule.name == "season, dash, number"
                    && rules::is_range(found.rule, &found.numbers, b'E');
                is_season
                    && !(crossed && single && loose)
                    && (!year || season >= 1900)
                    && !seasons
                    && !self.is_half_of_season(found)
                    && self.is_pair(found)
            }
            Means::Combined => self.is_combined(found),
            Means::Mini if found.rule.name == "all of several" => value(b'N') == value(b'E'),
            Means::Mini => {
                value(b'N').is_none_or(|of| of > 999 || value(b'E').is_some_and(|first| first <= of))
            }
            Means::Season if self.is_in_date(found) || self.is_grade(found.start) => false,
            Means::Season if found.rule.name == RANGE => rules::is_range(found.rule, &found.numbers, b'T'),
            Means::Season => {
                let season = value(b'S').unwrap_or_default();
                let up = value(b'T').is_none_or(|last| last > season);
                // `S01D02`, `S04DVD7` without another word right behind.
                let disc = self.marks.word_at(found.end).is_some() || text.low(found.end) == "d";
                let open = found.rule.name == "season" && text.is_plain_word(found.end) && !disc;
                up && !open && (season <= 100 || (1900..2100).contains(&season))
            }
            Means::Absolute => self.is_absolute(found),
            Means::Special => value(b'E').is_some_and(|first| value(b'F').is_none_or(|last| last > first)),
            Means::Half => !found.rule.name.ends_with("of a season") || value(b'D') == Some(5),
            Means::Date | Means::Part => true,
        }
    }

    /// True for two numbers alone: no part of a chain of numbers, and no range.
    fn is_pair(&self, found: &Found) -> bool {
        if !found.rule.name.starts_with("two numbers") {
            return true;
        }
        let before = found.start.checked_sub(1);
        let chained = before.is_some_and(|at| self.text.kind(at) == Some(Kind::Number) && !self.is_year(at));
        let value = |letter| found.numbers.value(letter).unwrap_or_default();
        let (one, other) = (value(b'S'), value(b'E'));
        let span = found.rule.name.ends_with("end") && other > one && other - one <= 5;
        !chained && !span && !self.is_in_date(found)
    }

    /// True within a likely date, also an ambiguous one.
    pub(crate) fn is_in_date(&self, found: &Found) -> bool {
        self.marks.in_date(found.start, found.end)
    }

    fn is_combined(&self, found: &Found) -> bool {
        let Some(number) = found.numbers.get(b'C') else {
            return false;
        };
        let is_year = number.digits == 4 && (1900..2100).contains(&number.value);
        let sizes = [480, 576, 720, 1080, 2160];
        if found.rule.name.starts_with("season and episode in one") {
            let pair = number.digits != 5 || number.value / 100 % 100 + 1 == number.value % 100;
            return pair
                && !is_year
                && !self.traits.event
                && number.value % 100 > 0
                && !sizes.contains(&number.value);
        }
        if found.rule.name == "several numbers of season and episode" {
            let next = |letter: u8, before: u32| {
                let value = found.numbers.value(letter);
                value.is_none_or(|value| value == before + 1)
            };
            let second = found.numbers.value(b'D').unwrap_or_default();
            let third = found.numbers.value(b'G').unwrap_or_default();
            let in_a_row = next(b'D', number.value) && next(b'G', second) && next(b'H', third);
            return in_a_row && !is_year && !self.traits.event && number.value % 100 > 0;
        }
        number.value % 100 > 0
    }

    fn is_absolute(&self, found: &Found) -> bool {
        let Some(first) = found.numbers.get(b'A') else {
            return false;
        };
        let is_year = |digits: usize, value: u32| digits == 4 && (1900..2100).contains(&value);
        if is_year(first.digits, first.value) || self.traits.event && found.rule.when & rules::ENDS != 0 {
            return false;
        }
        if self.is_in_date(found)
            || self.is_half(found)
            || self.is_decimal(found)
            || self.belongs_to_word(found)
            || self.counts_all(found)
            || self.ends_title(found)
        {
            return false;
        }
        let in_a_row = found.numbers.value(b'B') == Some(first.value + 1);
        if found.rule.name == "two numbers in a row" && !in_a_row {
            return false;
        }
        let of = found.numbers.value(b'N');
        if found.rule.name == "one of several" && of.is_none_or(|all| all < first.value) {
            return false;
        }
        if found.rule.name == "padded span" && self.text.mark(self.text.skip(found.end, " ._")) == Some('-') {
            return false;
        }
        let in_brackets = found.rule.pattern.starts_with("{[}");
        let versioned = found.numbers.get(b'V').is_some();
        if in_brackets && !versioned && [480, 576, 720, 1080, 2160].contains(&first.value) {
            return false;
        }
        let second = found.numbers.value(b'C').zip(found.numbers.value(b'D'));
        if second.is_some_and(|(from, to)| {
            let follows = found.numbers.value(b'B').is_some_and(|last| last < from);
            !follows || to <= from || to - from > LONGEST_BATCH
        }) {
            return false;
        }
        found.numbers.get(b'B').is_none_or(|last| {
            found.rule.name == "numbered episode" && last.value <= first.value
                || !is_year(last.digits, last.value)
                    && last.value > first.value
                    && last.value - first.value <= LONGEST_BATCH
        })
    }

    /// True for the first half of `10.5`: an episode between two.
    fn is_half(&self, found: &Found) -> bool {
        let end = found.end;
        self.text.mark(end) == Some('.')
            && self.text.kind(end + 1) == Some(Kind::Number)
            && self.text.low(end + 1).len() == 1
            && (!self.text.is_plain_word(end + 2) || self.text.low(end + 2) == "v")
            && self.marks.word_at(end + 1).is_none()
    }

    /// `S01E07.5`: true for an episode between two. Any other digit there begins the episode's title.
    fn is_half_of_season(&self, found: &Found) -> bool {
        let half = found.end + 1;
        self.is_half(found) && self.text.low(half) == "5" && self.ends(half + 1)
    }

    /// `Agent 86 3D 1987`: true for the last word of a title, when only words of releases stand between it
    /// and the year.
    fn ends_title(&self, found: &Found) -> bool {
        let bare = found.rule.name == "number of an anime before an end" && self.lead_group.is_none();
        let mut next = self.text.skip(found.end, " ._-(");
        for _ in 0..3 {
            match self.marks.word_at(next).filter(|_| bare) {
                Some(word) => next = self.text.skip(word.end, " ._-("),
                None => break,
            }
        }
        bare && self.is_year(next)
    }

    /// `全12集`: true for the total number of episodes.
    fn counts_all(&self, found: &Found) -> bool {
        let before = found.start.checked_sub(1).map_or("", |at| self.text.low(at));
        before.ends_with(['全', '共'])
    }

    /// True for the second half of `1.11`.
    fn is_decimal(&self, found: &Found) -> bool {
        let start = found.start;
        let dotted = self.text.mark(start) == Some('.') && start > 0;
        dotted
            && self.text.kind(start - 1) == Some(Kind::Number)
            && self.text.kind(start + 1) == Some(Kind::Number)
    }

    /// `Part 1`, `S 01`: true for the number of another word. A single digit is an episode only in front of a
    /// bracket.
    fn belongs_to_word(&self, found: &Found) -> bool {
        if found.rule.name == "numbered episode" {
            return false;
        }
        let text = &self.text;
        let end = text.skip_back(found.start, " ._");
        let before = end.checked_sub(1).map_or("", |at| text.low(at));
        let dash = (found.start..found.end).any(|at| text.mark(at) == Some('-'));
        let counted = !dash
            && matches!(
                before,
                "part" | "pt" | "vol" | "volume" | "cd" | "disc" | "disk" | "movie"
            );
        let single = found.rule.when & rules::FANS != 0
            && found.numbers.get(b'A').is_some_and(|number| number.digits == 1)
            && text
                .mark(text.skip(found.end, " ._"))
                .is_none_or(|mark| !"[(".contains(mark));
        counted
            || single
            || self.marks.in_seasons(found.start, found.end)
            || (found.numbers.get(b'B').is_none() && self.marks.in_season(found.start, found.end))
    }

    fn episodes(&mut self) -> Option<Episodes> {
        let absolute = self.first(&[Means::Absolute], &[]);
        let mut of_season = None;
        let means = [Means::Episode, Means::Combined, Means::Special];
        let found = self.first(&means, &[]).or_else(|| {
            let mini = self.first(&[Means::Mini], &[])?;
            // A season named elsewhere would be lost.
            let season = self.first(&[Means::Season], &[Some((mini.start, mini.end))]);
            match season {
                None => Some(mini),
                Some(named)
                    if names_season(&named)
                        || named.rule.name == "series"
                        || mini.rule.name.ends_with("of several") =>
                {
                    of_season = named.numbers.value(b'S');
                    Some(mini)
                }
                Some(_) => None,
            }
        })?;
        // An earlier rule of the table for another number wins.
        if absolute.is_some_and(|absolute| absolute.rank < found.rank) {
            return None;
        }
        let value = |letter| found.numbers.value(letter);
        let (season, all) = match found.rule.means {
            Means::Combined => combined(&found)?,
            Means::Special => {
                let first = value(b'E')?;
                (0, (first..=value(b'F').unwrap_or(first)).collect())
            }
            // `[26 из 26]`: the total number of episodes.
            Means::Mini if found.rule.name == "all of several" => {
                (of_season.unwrap_or(1), (1..=value(b'E')?).collect())
            }
            Means::Mini => {
                let first = value(b'E')?;
                let last = value(b'F').filter(|last| *last > first && last - first <= LONGEST_NAMED_SPAN);
                (of_season.unwrap_or(1), (first..=last.unwrap_or(first)).collect())
            }
            _ => {
                let first = value(b'E')?;
                let last = value(b'F').filter(|last| *last > first && last - first <= LONGEST_NAMED_SPAN);
                (value(b'S')?, (first..=last.unwrap_or(first)).collect())
            }
        };
        let mut episodes = Episodes {
            season,
            all,
            at: (found.start, found.end),
            rule: found.rule.name,
        };
        if found.rule.means == Means::Episode {
            self.follow(&mut episodes);
        }
        Some(episodes)
    }

    /// Reads the continuations of the marker.
    fn follow(&mut self, episodes: &mut Episodes) {
        let first = episodes.all[0];
        loop {
            let reached = episodes.all.last().copied().unwrap_or(first);
            let mut steps = 0;
            let next = self
                .marks
                .more(&self.text, episodes.at.1, &mut steps)
                .find(|(end, numbers, more)| {
                    let Some(number) = numbers.get(b'E') else {
                        return false;
                    };
                    let season = numbers.value(b'S').is_none_or(|season| season == episodes.season);
                    let single = more.pattern.ends_with("<E:1>");
                    let named = more.pattern.contains("|ep") || more.pattern.contains("<N:");
                    // `E01-16`: two numbers with the same number of digits.
                    let alike = more.pattern == SPAN && (number.digits == 2 || first > 99);
                    let longest = if named || alike {
                        LONGEST_NAMED_SPAN
                    } else {
                        LONGEST_SPAN
                    };
                    let underscored = more.pattern.starts_with("{_}");
                    if underscored && number.value != reached + 1 && !self.ends(*end) {
                        return false;
                    }
                    if number.value > numbers.value(b'N').unwrap_or(number.value) {
                        return false;
                    }
                    let runs_on = single && (first > 9 || self.text.is_plain_word(*end));
                    season
                        && number.value > reached
                        && number.value - first <= longest
                        && !runs_on
                        && *end <= self.end
                });
            self.steps += steps;
            let Some((end, numbers, more)) = next else {
                return;
            };
            let number = numbers.value(b'E').unwrap_or(reached);
            extend(&mut episodes.all, number, more);
            episodes.at.1 = end;
        }
    }

    pub(crate) fn set_episodes(&mut self, episodes: &Episodes, absolute: Option<&Found>) {
        let (at, rule) = (episodes.at, episodes.rule);
        let (first, last) = (episodes.all[0], episodes.all[episodes.all.len() - 1]);
        self.note("season", episodes.season.to_string(), at, rule);
        self.note("episode", first.to_string(), at, rule);
        if last > first {
            self.note("episodeEnd", last.to_string(), at, rule);
            self.release.episode_end = Some(last);
        }
        self.release.season = Some(episodes.season);
        self.release.seasons = vec![episodes.season];
        self.release.episode = Some(first);
        self.release.episodes.clone_from(&episodes.all);
        self.take(at, "episode", rule, true);
        self.marker = Some(at.0);
        let season = self.first(&[Means::Season], &[Some(at)]);
        if let Some(season) = season.filter(|season| {
            let same = season.numbers.value(b'S') == Some(episodes.season) && self.is_gap(season.end, at.0);
            season.start < at.0 && (names_season(season) || same)
        }) {
            self.take((season.start, season.end), "season", season.rule.name, true);
            self.marker = Some(season.start);
        }
        // `- 05 - S01E05`: the same episode in both countings; elsewhere a number belongs to the title.
        if let Some(found) = absolute
            && (self.is_counted_twice(found, at.0)
                || (found.start >= at.1 && found.rule.pattern.starts_with("{[}")))
        {
            self.set_absolute(found, false);
        }
    }

    /// Right before a marker a number counts only if it is marked as an episode or is separated on both
    /// sides: `Agent 86 S02E04` is a title.
    fn is_counted_twice(&self, found: &Found, marker: usize) -> bool {
        let text = &self.text;
        let apart = |from: usize, to: usize| {
            (from..to).any(|at| text.mark(at).is_some_and(|mark| "-[](){}#".contains(mark)))
        };
        let first = (found.start..found.end)
            .find(|at| text.is_word(*at))
            .unwrap_or(found.end);
        let before = apart(text.skip_back(first, " ._-[({#"), first);
        self.is_gap(found.end, marker)
            && (is_named(found)
                || found.numbers.get(b'B').is_some()
                || (before && apart(first, marker.min(text.len()))))
    }

    /// True for a bare number of a title right before the marker of a season: `Agent 86 S02`.
    pub(crate) fn is_of_title(&self, found: &Found, season: &Found) -> bool {
        found.end <= season.start
            && self.is_gap(found.end, season.start)
            && !self.is_counted_twice(found, season.start)
    }

    pub(crate) fn set_absolute(&mut self, found: &Found, is_main: bool) {
        let Some(first) = found.numbers.value(b'A') else {
            return;
        };
        let last = found.numbers.value(b'B').unwrap_or(first).max(first);
        let at = (found.start, found.end);
        let field = if is_main {
            "absoluteEpisode"
        } else {
            "absoluteEpisodes"
        };
        self.note(field, first.to_string(), at, found.rule.name);
        self.release.absolute_episodes = (first..=last).collect();
        let second = found.numbers.value(b'C').zip(found.numbers.value(b'D'));
        if let Some((from, to)) = second {
            self.release.absolute_episodes.extend(from..=to);
        }
        if is_main {
            self.release.absolute_episode = Some(first);
            if let Some(version) = found.numbers.value(b'V') {
                self.release.version = Some(version);
                self.note("version", version.to_string(), at, found.rule.name);
            }
        }
        self.take(at, "absoluteEpisode", found.rule.name, true);
        let marker = self.marker.map_or(found.start, |marker| marker.min(found.start));
        self.marker = Some(marker);
    }

    fn absolute(&self, episode: Option<(usize, usize)>) -> Option<Found> {
        let date = self.spans.iter().find(|span| span.taken_for == "airDate");
        self.first(
            &[Means::Absolute],
            &[episode, date.map(|span| (span.start, span.end))],
        )
    }

    fn half(&mut self) {
        if self.release.absolute_episode.is_some() {
            return;
        }
        if let Some(found) = self.first(&[Means::Half], &[]) {
            self.release.is_piece = true;
            if let Some(season) = found
                .numbers
                .value(b'S')
                .filter(|_| self.release.season.is_none())
            {
                self.release.season = Some(season);
                self.release.seasons = vec![season];
                self.note(
                    "season",
                    season.to_string(),
                    (found.start, found.end),
                    found.rule.name,
                );
                self.marker = Some(found.start);
            }
            // `Harbour_Lights-f02-The_Storm`: the film's own title follows its number.
            let film = found.rule.name == "film of a series";
            self.take((found.start, found.end), "ignored", found.rule.name, !film);
            if film {
                self.lead = found.end;
            }
        }
    }

    fn part(&mut self) {
        let Some(found) = self.first(&[Means::Part], &[]) else {
            return;
        };
        let Some(value) = found.numbers.value(b'P') else {
            return;
        };
        let numbered = self.release.episode.is_some()
            || self.release.absolute_episode.is_some()
            || self.release.air_date.is_some();
        self.release.part = Some(value);
        let at = (found.start, found.end);
        self.note("part", value.to_string(), at, found.rule.name);
        self.take(at, "part", found.rule.name, numbered);
    }
}

/// Check of a number beside a date: it must be marked as an episode.
pub(crate) trait BesideDate {
    fn is_none_or_numbered(&self, found: &Found) -> bool;
}

impl BesideDate for Option<String> {
    fn is_none_or_numbered(&self, found: &Found) -> bool {
        self.is_none() || found.rule.name == "numbered episode"
    }
}

/// True when a season is named by a word instead of a letter.
pub(crate) fn names_season(season: &Found) -> bool {
    season.rule.name.contains("words") || season.rule.name.starts_with("numbered")
}

/// True when a number is marked as an episode.
fn is_named(found: &Found) -> bool {
    matches!(
        found.rule.name,
        "numbered episode" | "number sign" | "one of several"
    )
}

/// True when the deciding number has a leading zero.
fn is_padded(found: &Found) -> bool {
    let number = [b'A', b'E', b'C']
        .iter()
        .find_map(|letter| found.numbers.get(*letter));
    number.is_some_and(|number| number.digits > 1 && number.value < 10_u32.pow(number.digits as u32 - 1))
}

/// `105` is season 1 episode 5; `10708` is season 1 episodes 7 and 8.
fn combined(found: &Found) -> Option<(u32, Vec<u32>)> {
    let number = found.numbers.get(b'C')?;
    let (first, last) = if number.digits == 5 {
        (number.value / 100, number.value % 100)
    } else {
        let same = |letter: u8| {
            let last = found.numbers.value(letter)?;
            (last / 100 == number.value / 100).then_some(last % 100)
        };
        let up_to = same(b'H').or_else(|| same(b'G')).or_else(|| same(b'D'));
        (number.value, up_to.unwrap_or(number.value % 100))
    };
    let episode = first % 100;
    Some((first / 100, (episode..=last.max(episode)).collect()))
}

fn extend(all: &mut Vec<u32>, number: u32, more: &More) {
    let reached = all.last().copied().unwrap_or(number);
    if more.fills {
        all.extend(reached + 1..=number);
    } else {
        all.push(number);
    }
}
