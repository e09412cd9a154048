//! Chooses among the numbers that were found: season, episode, absolute number, date, part, year.

use crate::lex::Kind;
use crate::marks::Found;
use crate::read::Reader;
use crate::rules::{self, Means, More, When};
use crate::words::BEFORE_A_YEAR_OF_THE_TITLE;

/// A span in numbers alone reaches no further than this beyond its first episode.
const LONGEST_SPAN: u32 = 12;
/// One that names its last episode as an episode may reach further.
const LONGEST_NAMED_SPAN: u32 = 100;
/// Absolute numbers span whole series.
const LONGEST_BATCH: u32 = 1200;

/// A season's episodes, chosen.
struct Episodes {
    season: u32,
    all: Vec<u32>,
    at: (usize, usize),
    rule: &'static str,
}

impl Reader<'_> {
    /// Season, episode, date, absolute number, part.
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

    /// The first match that holds, by the order of the table.
    fn first(&self, means: &[Means], free_of: &[Option<(usize, usize)>]) -> Option<Found> {
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

    /// Whether the conditions of a match's rule are met, and its numbers can be what they are taken for.
    fn holds(&self, found: &Found) -> bool {
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

    /// What comes here is no word of a title.
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

    /// No free number comes next.
    fn is_last(&self, at: usize) -> bool {
        let next = self.text.skip(at, " ._-");
        self.text.kind(next) != Some(Kind::Number) || self.marks.word_at(next).is_some() || self.is_year(next)
    }

    /// Something of a title stands before it.
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
                is_season && !(crossed && single && loose) && (!year || season >= 1900) && self.is_pair(found)
            }
            Means::Combined => self.is_combined(found),
            Means::Mini => {
                value(b'N').is_none_or(|of| of > 999 || value(b'E').is_some_and(|first| first <= of))
            }
            Means::Season if self.is_in_date(found) || self.is_grade(found.start) => false,
            Means::Season => {
                let season = value(b'S').unwrap_or_default();
                let up = value(b'T').is_none_or(|last| last > season);
                // `S01D02`, `S04DVD7`, and no other word right behind it.
                let disc = self.marks.word_at(found.end).is_some() || text.low(found.end) == "d";
                let open = found.rule.name == "season" && text.is_plain_word(found.end) && !disc;
                up && !open && (season <= 100 || (1900..2100).contains(&season))
            }
            Means::Absolute => self.is_absolute(found),
            Means::Date | Means::Half | Means::Part => true,
        }
    }

    /// Two numbers by themselves: no part of a chain of numbers, and no span.
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

    /// Part of what looks like a date, be it one that cannot be told.
    fn is_in_date(&self, found: &Found) -> bool {
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
        {
            return false;
        }
        let in_a_row = found.numbers.value(b'B') == Some(first.value + 1);
        if found.rule.name == "two numbers in a row" && !in_a_row {
            return false;
        }
        let in_brackets = found.rule.pattern.starts_with("{[}");
        if in_brackets && [480, 576, 720, 1080, 2160].contains(&first.value) {
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

    /// The first half of `10.5`: an episode between two, and neither of them.
    fn is_half(&self, found: &Found) -> bool {
        let end = found.end;
        self.text.mark(end) == Some('.')
            && self.text.kind(end + 1) == Some(Kind::Number)
            && self.text.low(end + 1).len() == 1
            && !self.text.is_plain_word(end + 2)
            && self.marks.word_at(end + 1).is_none()
    }

    /// The second half of `1.11`.
    fn is_decimal(&self, found: &Found) -> bool {
        let start = found.start;
        let dotted = self.text.mark(start) == Some('.') && start > 0;
        dotted
            && self.text.kind(start - 1) == Some(Kind::Number)
            && self.text.kind(start + 1) == Some(Kind::Number)
    }

    /// `Part 1`, `S 01`: the number of something else. A single digit is an episode's only in front of a bracket.
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
            || (found.numbers.get(b'B').is_none() && self.marks.in_season(found.start, found.end))
    }

    fn episodes(&mut self) -> Option<Episodes> {
        let absolute = self.first(&[Means::Absolute], &[]);
        let mut of_season = None;
        let found = self.first(&[Means::Episode, Means::Combined], &[]).or_else(|| {
            let mini = self.first(&[Means::Mini], &[])?;
            // The season that is named elsewhere would be lost.
            let season = self.first(&[Means::Season], &[Some((mini.start, mini.end))]);
            match season {
                None => Some(mini),
                Some(named) if names_season(&named) || named.rule.name == "series" => {
                    of_season = named.numbers.value(b'S');
                    Some(mini)
                }
                Some(_) => None,
            }
        })?;
        // What the table tells sooner about another number stands.
        if absolute.is_some_and(|absolute| absolute.rank < found.rank) {
            return None;
        }
        let value = |letter| found.numbers.value(letter);
        let (season, all) = match found.rule.means {
            Means::Combined => combined(&found)?,
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

    /// Takes what the marker goes on with.
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
                    let named = more.pattern.contains("|ep");
                    let longest = if named { LONGEST_NAMED_SPAN } else { LONGEST_SPAN };
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

    fn set_episodes(&mut self, episodes: &Episodes, absolute: Option<&Found>) {
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
        if let Some(season) = season.filter(|season| season.start < at.0 && names_season(season)) {
            self.take((season.start, season.end), "season", season.rule.name, true);
            self.marker = Some(season.start);
        }
        // `- 05 - S01E05`: the same thing counted twice; anywhere else a number is the episode's title's.
        if let Some(found) = absolute
            && (self.is_gap(found.end, at.0)
                || (found.start >= at.1 && found.rule.pattern.starts_with("{[}")))
        {
            self.set_absolute(found, false);
        }
    }

    fn set_absolute(&mut self, found: &Found, is_main: bool) {
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

    /// A season, several, or none; with a number counted within it or over all.
    fn without_episode(&mut self, absolute: Option<Found>) {
        let taken = absolute.as_ref().map(|found| (found.start, found.end));
        let date = self.spans.iter().find(|span| span.taken_for == "airDate");
        let date = date.map(|span| (span.start, span.end));
        let season = self.first(&[Means::Season], &[taken, date]);
        let Some(season) = season else {
            if let Some(found) = absolute.filter(|_| self.dated) {
                // What a recorder dates is a broadcast; such series have one season.
                let first = found.numbers.value(b'A').unwrap_or_default();
                let episodes = Episodes {
                    season: 1,
                    all: vec![first],
                    at: (found.start, found.end),
                    rule: "episode of a dated recording",
                };
                self.set_episodes(&episodes, None);
                return;
            }
            if let Some(found) = absolute
                && self.release.air_date.is_none_or_numbered(&found)
            {
                self.set_absolute(&found, true);
            }
            return;
        };
        let number = season.numbers.value(b'S').unwrap_or_default();
        let at = (season.start, season.end);
        let in_words = names_season(&season);
        if let Some(found) = &absolute
            && in_words
            && found.rule.name == "numbered episode"
        {
            let first = found.numbers.value(b'A').unwrap_or_default();
            let last = found.numbers.value(b'B').unwrap_or(first).max(first);
            let episodes = Episodes {
                season: number,
                all: (first..=last).collect(),
                at: (at.0.min(found.start), at.1.max(found.end)),
                rule: "season and episode apart",
            };
            self.set_episodes(&episodes, None);
            return;
        }
        self.release.season = Some(number);
        self.release.seasons = self.all_seasons(&season);
        self.note("season", number.to_string(), at, season.rule.name);
        let first = self.first_of_season(number, at.0);
        let at = (first, at.1);
        // `S2 - 05`: the season stays in the title, the number is counted within it.
        let kept = absolute.as_ref().is_some_and(|found| found.start >= season.end) && !in_words;
        let cuts = !kept && !season.rule.pattern.starts_with('第');
        self.take(at, "season", season.rule.name, cuts);
        self.marker = Some(season.start);
        if let Some(found) = absolute {
            self.set_absolute(&found, true);
            self.release.episodes.clone_from(&self.release.absolute_episodes);
        }
    }

    /// `Season 2 S02`: where the same season is named first, with little between.
    fn first_of_season(&self, number: u32, start: usize) -> usize {
        let same = |found: &&Found| {
            found.rule.means == Means::Season
                && found.numbers.value(b'S') == Some(number)
                && self.is_gap(found.end, start)
                && self.holds(found)
        };
        let first = self
            .marks
            .found
            .iter()
            .take_while(|found| found.start < start)
            .find(same);
        first.map_or(start, |found| found.start)
    }

    fn all_seasons(&self, first: &Found) -> Vec<u32> {
        let mut all = Vec::new();
        for found in &self.marks.found {
            if found.rule.means != Means::Season || !self.holds(found) {
                continue;
            }
            let from = found.numbers.value(b'S').unwrap_or_default();
            let to = found.numbers.value(b'T').unwrap_or(from);
            if found.start >= first.start && from <= to && to - from < 100 {
                all.extend(from..=to);
            }
        }
        all.sort_unstable();
        all.dedup();
        all
    }

    fn half(&mut self) {
        if self.release.absolute_episode.is_some() {
            return;
        }
        if let Some(found) = self.first(&[Means::Half], &[]) {
            // `Harbour_Lights-f02-The_Storm`: the film's own title comes behind its number.
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

    fn date(&mut self, episode: Option<(usize, usize)>) {
        let found = self
            .marks
            .found
            .iter()
            .filter(|found| found.rule.means == Means::Date && found.end <= self.end)
            .filter(|found| episode.is_none_or(|(start, end)| found.end <= start || found.start >= end))
            .filter(|found| episode.is_none() || !found.rule.name.starts_with("short"))
            .filter_map(|found| Some((found, self.date_of(found)?)))
            .min_by_key(|(found, _)| (found.rank, found.start))
            .map(|(found, date)| (*found, date));
        let Some((found, (year, month, day))) = found else {
            self.unclear_date(episode);
            return;
        };
        let date = format!("{year:04}-{month:02}-{day:02}");
        let at = (found.start, found.end);
        self.note("airDate", date.as_str(), at, found.rule.name);
        self.release.air_date = Some(date);
        self.take(at, "airDate", found.rule.name, true);
    }

    /// A date that can be read in two ways ends the title all the same.
    fn unclear_date(&mut self, episode: Option<(usize, usize)>) {
        let found = self.marks.found.iter().find(|found| {
            found.rule.means == Means::Date
                && found.rule.name.ends_with("first")
                && found.start > self.lead
                && self.is_in_date(found)
        });
        if let Some(found) = found.filter(|_| episode.is_none()) {
            let span = (found.start, found.end);
            self.take(span, "ignored", "a date that can be read in two ways", true);
        }
    }

    /// The day, if it is one and there is no other way to read it.
    fn date_of(&self, found: &Found) -> Option<(u32, u32, u32)> {
        let value = |letter| found.numbers.value(letter);
        let text = &self.text;
        if let Some(all) = value(b'Z') {
            return possible(all / 10_000, all / 100 % 100, all % 100);
        }
        let (year, month, day) = (value(b'Y')?, value(b'M')?, value(b'D')?);
        if found.rule.name.contains("name") {
            return possible(year, month, day);
        }
        let (one, other) = (text.mark(found.start + 1), text.mark(found.start + 3));
        // A longer chain of numbers is no date.
        let chained = found.start >= 2
            && text.kind(found.start - 2) == Some(Kind::Number)
            && text.mark(found.start - 1) == one
            && one != Some(' ');
        if one != other || chained {
            return None;
        }
        match found.rule.name {
            "date" => possible(year, month, day).filter(|_| year >= 1970 || one == Some('-')),
            "short date" => possible(2000 + year, month, day)
                .or_else(|| possible(2000 + day, month, year))
                .or_else(|| possible(2000 + day, year, month)),
            // Day and month can be told apart only where one of them can be no month.
            _ if month > 12 => possible(year, day, month),
            _ if day > 12 || day == month => possible(year, month, day),
            _ => None,
        }
    }

    pub(crate) fn year(&mut self) {
        let free = |at: &usize| {
            let spans = self.spans.iter().filter(|span| span.taken_for != "airDate");
            *at < self.end
                && self.is_year(*at)
                && spans.into_iter().all(|span| *at < span.start || *at >= span.end)
        };
        let years: Vec<usize> = (self.lead..self.end).filter(free).collect();
        let bracketed = |at: &usize| {
            self.text.mark(at.wrapping_sub(1)) == Some('(') && self.text.mark(at + 1) == Some(')')
        };
        let in_brackets = years.iter().rev().copied().find(bracketed);
        let Some(at) = in_brackets.or_else(|| self.of_span(&years)) else {
            let season = self.release.season.filter(|season| *season >= 1900);
            self.release.year = season;
            return;
        };
        let value = self.text.number(at).unwrap_or_default();
        let bracketed = in_brackets.is_some();
        let before_marker = self.marker.is_some_and(|marker| self.is_gap(at + 1, marker));
        if before_marker && !bracketed && self.belongs_to_title(at) {
            return;
        }
        self.note("year", value.to_string(), (at, at + 1), "year");
        self.release.year = Some(value);
        let leads = !(self.lead..at).any(|before| self.text.is_word(before));
        let cuts = (!leads || bracketed) && (bracketed || self.marker.is_none() || before_marker);
        let at = if bracketed { (at - 1, at + 2) } else { (at, at + 1) };
        self.take(at, "year", "year", cuts);
    }

    /// The last year; of a span of years at the end the first.
    fn of_span(&self, years: &[usize]) -> Option<usize> {
        match years {
            [.., first, last] if *last == first + 2 && self.text.mark(first + 1) == Some('-') => Some(*first),
            _ => years.last().copied(),
        }
    }

    fn belongs_to_title(&self, year: usize) -> bool {
        let end = self.text.skip_back(year, " ._");
        end > self.lead && BEFORE_A_YEAR_OF_THE_TITLE.contains(&self.text.low(end - 1))
    }
}

/// Whether a number may stand beside a date: only where it is called an episode.
trait BesideDate {
    fn is_none_or_numbered(&self, found: &Found) -> bool;
}

impl BesideDate for Option<String> {
    fn is_none_or_numbered(&self, found: &Found) -> bool {
        self.is_none() || found.rule.name == "numbered episode"
    }
}

/// Whether a season is named by a word, and not by a letter.
fn names_season(season: &Found) -> bool {
    season.rule.name.contains("words") || season.rule.name.starts_with("numbered")
}

/// A zero leads the number that decides.
fn is_padded(found: &Found) -> bool {
    let number = [b'A', b'E', b'C']
        .iter()
        .find_map(|letter| found.numbers.get(*letter));
    number.is_some_and(|number| number.digits > 1 && number.value < 10_u32.pow(number.digits as u32 - 1))
}

/// The day, if there is one like this.
fn possible(year: u32, month: u32, day: u32) -> Option<(u32, u32, u32)> {
    let is_day = (1900..2100).contains(&year) && (1..=12).contains(&month) && (1..=31).contains(&day);
    is_day.then_some((year, month, day))
}

/// `105` is the fifth of the first; `10708` the seventh and the eighth.
fn combined(found: &Found) -> Option<(u32, Vec<u32>)> {
    let number = found.numbers.get(b'C')?;
    let (first, last) = if number.digits == 5 {
        (number.value / 100, number.value % 100)
    } else {
        let up_to = found
            .numbers
            .value(b'D')
            .filter(|last| last / 100 == number.value / 100);
        (number.value, up_to.map_or(number.value % 100, |last| last % 100))
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
