//! Choice of the air date and the year among the numbers that were found.

use crate::lex::Kind;
use crate::marks::Found;
use crate::read::Reader;
use crate::rules::Means;
use crate::words::BEFORE_A_YEAR_OF_THE_TITLE;

/// Largest two-digit year of this century; releases are no older.
const NEWEST_SHORT_YEAR: u32 = 39;

/// Oldest year of an air date; eight digits of an earlier year are a checksum.
const OLDEST_DAY: u32 = 1950;

impl Reader<'_> {
    pub(crate) fn date(&mut self, episode: Option<(usize, usize)>) {
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

    /// An ambiguous date ends the title all the same.
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

    /// The date, if it is valid and unambiguous.
    fn date_of(&self, found: &Found) -> Option<(u32, u32, u32)> {
        let value = |letter| found.numbers.value(letter);
        let text = &self.text;
        if let Some(all) = found.numbers.get(b'Z') {
            return self.date_in_one(found, all.value, all.digits);
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
            // A middle number that is no month is the day.
            "date" => possible(year, month, day)
                .or_else(|| possible(year, day, month))
                .filter(|_| year >= 1970 || one == Some('-')),
            "short date" => possible(2000 + year, month, day)
                .or_else(|| possible(2000 + day, month, year))
                .or_else(|| possible(2000 + day, year, month)),
            // Day and month are distinguished only where one of them is above 12.
            _ if month > 12 => possible(year, day, month),
            _ if day > 12 || day == month => possible(year, month, day),
            _ => None,
        }
    }

    /// `20260314`, `14032026` and `260314`: any order but year, month, day counts as a date only in front of
    /// known words.
    fn date_in_one(&self, found: &Found, all: u32, digits: usize) -> Option<(u32, u32, u32)> {
        let (first, second, third) = (all / 10_000, all / 100 % 100, all % 100);
        if digits == 8
            && let Some(date) = possible(first, second, third).filter(|_| first >= OLDEST_DAY)
        {
            return Some(date);
        }
        let next = self.text.skip(found.end, " ._-()[]");
        if self.marks.word_at(next).is_none() || !(self.lead..found.start).any(|at| self.text.is_word(at)) {
            return None;
        }
        if digits == 6 {
            return possible(2000 + first, second, third).filter(|_| first <= NEWEST_SHORT_YEAR);
        }
        let (one, other, year) = (all / 1_000_000, first % 100, all % 10_000);
        match (one, other) {
            (13.., _) => possible(year, other, one),
            (_, 13..) => possible(year, one, other),
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

    /// The last year; of a range of years at the end the first.
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

/// The date, if it exists in the calendar.
fn possible(year: u32, month: u32, day: u32) -> Option<(u32, u32, u32)> {
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let days = match month {
        2 => 28 + u32::from(leap),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    };
    let is_day = (1900..2100).contains(&year) && (1..=12).contains(&month) && (1..=days).contains(&day);
    is_day.then_some((year, month, day))
}
