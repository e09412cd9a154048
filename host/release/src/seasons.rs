//! Choice of the seasons where no episode is named.

use crate::lex::Kind;
use crate::marks::Found;
use crate::numbers::{BesideDate as _, Episodes, names_season};
use crate::read::Reader;
use crate::rules::{LIST, Means};
use crate::words::{EXTRAS, Field, PIECES};

impl Reader<'_> {
    /// One season, several, or none; with a number counted within it or over all seasons.
    pub(crate) fn without_episode(&mut self, absolute: Option<Found>) {
        let taken = absolute.as_ref().map(|found| (found.start, found.end));
        let date = self.spans.iter().find(|span| span.taken_for == "airDate");
        let date = date.map(|span| (span.start, span.end));
        let season = self.first(&[Means::Season], &[taken, date]);
        let Some(season) = season else {
            if let Some(found) = absolute.filter(|_| self.dated) {
                // A dated recording is a broadcast; such series have one season.
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
        let extra = self.behind_extra(&season);
        self.release.is_piece = extra.is_some() || self.is_disc_of(&season);
        let absolute = absolute.filter(|found| {
            let of_extra = extra.is_some_and(|end| found.start <= end && found.end > end);
            !of_extra && !self.is_of_title(found, &season)
        });
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
        // `S2 - 05`: the season stays in the title, and the number is counted within it. `S2 EP05` needs no
        // such reading.
        let kept = !in_words
            && absolute.as_ref().is_some_and(|found| {
                let first = (found.start..found.end).find(|at| self.text.is_word(*at));
                let mut between = season.end..first.unwrap_or(found.end);
                found.start >= season.end
                    && self.is_gap(season.end, found.start)
                    && (found.rule.name != "numbered episode"
                        || between.any(|at| self.text.mark(at).is_some_and(|mark| "-[]()".contains(mark))))
            });
        let cuts = !kept && !season.rule.pattern.starts_with('第');
        self.take(at, "season", season.rule.name, cuts);
        self.marker = Some(season.start);
        if let Some(found) = absolute {
            self.set_absolute(&found, true);
            self.release.episodes.clone_from(&self.release.absolute_episodes);
        }
    }

    /// `S03.Extras.02`, `S01Extras`: end of the word, where the release holds extras instead of an episode.
    fn behind_extra(&self, season: &Found) -> Option<usize> {
        let at = self.text.skip(season.end, " ._-");
        let known = self.marks.word_at(at).filter(|word| word.field() == Field::Extra);
        let end = known.map_or(at + 1, |word| word.end);
        (known.is_some() || EXTRAS.contains(&self.text.low(at))).then_some(end)
    }

    /// `S01D02`, `S01.Disc.2`, `S01 Vol 1`: true for a part of the season.
    fn is_disc_of(&self, season: &Found) -> bool {
        let text = &self.text;
        let at = text.skip(season.end, " ._-([");
        let number = text.skip(at + 1, " ._-");
        PIECES.contains(&text.low(at))
            && text.kind(number) == Some(Kind::Number)
            && text.low(number).len() <= 2
            && self.marks.word_at(number).is_none()
    }

    /// `Season 2 S02`: start of the first mention of the same season, with little between.
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
            if found.rule.name == LIST && found.start >= first.start {
                all.extend(
                    [b'S', b'T', b'U', b'W']
                        .iter()
                        .filter_map(|letter| found.numbers.value(*letter)),
                );
                continue;
            }
            if found.start >= first.start && from <= to && to - from < 100 {
                all.extend(from..=to);
            }
        }
        all.sort_unstable();
        all.dedup();
        all
    }
}
