//! Position and spelling of the title.

use crate::lex::{Bracket, Kind};
use crate::marks::Word;
use crate::read::{Reader, TAKEN};
use crate::words::{BEFORE_A_WORD_OF_THE_TITLE, COUNTRIES, Field, PICTURES, Trust};

/// Separators between the title and the part that ends it.
const JOINTS: &str = " ._-,([{~+&/|:★";

impl Reader<'_> {
    pub(crate) fn find_title(&mut self) {
        for index in 0..self.marks.words.len() {
            let word = self.marks.words[index];
            let counted = self.text.low(word.start).starts_with("xd") || self.text.low(word.start) == "dvd";
            let start = word.start - usize::from(counted && self.text.joined_before(word.start));
            // `3DVD`: counted discs do not belong to a title.
            if (word.trust() == Trust::Always || start < word.start)
                && word.end <= self.end
                && !self.begins_name(&word)
            {
                self.take(
                    (start, word.end),
                    crate::words::name(word.field()),
                    "known word",
                    true,
                );
            }
        }
        for index in 0..self.text.brackets.len() {
            let bracket = self.text.brackets[index];
            if bracket.open > self.lead && self.is_checksum(bracket.open + 1, bracket.close) {
                self.take((bracket.open, bracket.close), "ignored", "checksum", true);
            }
        }
        let mut cuts: Vec<(usize, usize, &'static str)> = self
            .spans
            .iter()
            .filter(|span| span.cuts && span.start >= self.lead)
            .map(|span| (span.start, span.end, span.taken_for))
            .collect();
        cuts.sort_unstable();
        let mut start = self.lead;
        let mut leading = 0;
        // A part at the start of the name ends no title; only behind an episode follows the episode's own.
        for (from, to, taken_for) in &cuts {
            let before = self.after_known(start);
            let quality = matches!(*taken_for, "resolution" | "source" | "codec");
            let known = |at: usize| !self.text.is_word(at) || (quality && self.marks.word_at(at).is_some());
            if !(self.text.skip(before, JOINTS)..*from).all(known)
                || matches!(*taken_for, "episode" | "season")
            {
                break;
            }
            start = (*to).max(start);
            leading += 1;
        }
        start = self.after_known(start);
        let cut = cuts
            .get(leading)
            .map_or((self.end, "end"), |(from, _, what)| (*from, *what));
        let (start, end) = (start.min(cut.0), cut.0);
        // Within a bracket that begins behind the title, the title ends before the bracket.
        let bracket = self
            .text
            .brackets
            .iter()
            .find(|bracket| bracket.open > start && bracket.close > end);
        let inside = bracket
            .filter(|bracket| bracket.open < end && (start..bracket.open).any(|at| self.text.is_word(at)));
        let end = inside.map_or(end, |bracket| bracket.open);
        let (start, end) = self.behind_foreign(start, end, &cuts);
        let mut end = self.peel(start, end, cut.1);
        if cut.1 != "end" {
            end = self.before_second(start, end);
            end = self.before_glued(start, end);
        } else if self.traits.bare
            && cuts.first().is_some_and(|first| {
                leading == 1 && first.2 == "absoluteEpisode" && self.text.mark(first.1 - 2) == Some('.')
            })
        {
            end = self.before_own_title(start, end);
        }
        if self.text.mark(end) == Some('.') && self.in_acronym(end, end + 1) {
            end += 1;
        }
        if let Some(group) = self.lead_group
            && !(start..end).any(|at| self.text.is_word(at))
        {
            // `[Title][07]`
            self.lead_group = None;
            self.title = (group.0, self.peel(group.0, group.1, ""));
            self.write_title();
            return;
        }
        self.title = self.pick(start, end);
        self.leave_country();
        self.leave_initials();
        self.write_title();
    }

    /// `Subbed.Harbors.S01E02`: true when a known word at the start belongs to the title, because it does not
    /// describe the quality.
    fn begins_name(&self, word: &Word) -> bool {
        let told = matches!(
            word.field(),
            Field::Noise | Field::Extra | Field::Language | Field::Edition | Field::Whole
        );
        told && word.start == self.text.skip(self.lead, " ._-")
            && self.text.atoms[word.start].bracket == 0
            && word.end == word.start + 1
            && self.text.kind(word.start) == Some(Kind::Latin)
    }

    /// `片名[第01-15集].Title.S01`: a title in Latin letters behind the first number, when none stands before.
    fn behind_foreign(
        &self,
        start: usize,
        end: usize,
        cuts: &[(usize, usize, &'static str)],
    ) -> (usize, usize) {
        let has = |from: usize, to: usize, kind: Kind| (from..to).any(|at| self.text.kind(at) == Some(kind));
        if has(start, end, Kind::Latin) || !has(start, end, Kind::Script) {
            return (start, end);
        }
        if let Some(title) = self.behind_slash(end, cuts) {
            return title;
        }
        let Some(bracket) = self.text.brackets.iter().rev().find(|bracket| {
            bracket.open >= end
                && bracket.close < self.text.len()
                && cuts.first().is_some_and(|cut| cut.0 < bracket.close)
        }) else {
            return (start, end);
        };
        let from = self.text.skip(bracket.close + 1, " ._-");
        let to = cuts
            .iter()
            .map(|cut| cut.0)
            .find(|cut| *cut > from)
            .unwrap_or(self.end);
        let free = (from..to).all(|at| self.marks.word_at(at).is_none());
        let dotted = self.text.mark(bracket.close + 1) == Some('.');
        if from < to && dotted && free && has(from, to, Kind::Latin) {
            (from, to)
        } else {
            (start, end)
        }
    }

    /// `Название (S2E1) / Title (S2E1)`: a title in Latin letters behind a slash, when each has the number to itself.
    fn behind_slash(&self, end: usize, cuts: &[(usize, usize, &'static str)]) -> Option<(usize, usize)> {
        let text = &self.text;
        let slash = (end..self.end).find(|at| {
            text.mark(*at) == Some('/') && text.mark(at - 1) == Some(' ') && text.mark(at + 1) == Some(' ')
        })?;
        let numbered = |cut: &(usize, usize, &str)| cut.0 < slash && matches!(cut.2, "episode" | "season");
        let from = text.skip(slash + 1, " ._-");
        let cut = cuts.iter().map(|cut| cut.0).find(|cut| *cut > from);
        let bracket = text
            .brackets
            .iter()
            .map(|bracket| bracket.open)
            .find(|open| *open > from);
        let to = cut.unwrap_or(self.end).min(bracket.unwrap_or(self.end));
        let words = (from..to).filter(|at| text.is_word(*at));
        let latin = words.clone().any(|at| text.kind(at) == Some(Kind::Latin));
        let free = words
            .clone()
            .all(|at| self.marks.word_at(at).is_none() && text.kind(at) != Some(Kind::Script));
        (latin && free && cuts.iter().any(numbered)).then_some((from, to))
    }

    /// Position behind a bracket of known words and separators.
    fn after_known(&self, start: usize) -> usize {
        let mut at = self.text.skip(start, " ._-,:)]}");
        let counted = self.text.mark(at) == Some('(')
            && self.text.low(at + 1).len() <= 2
            && self.text.kind(at + 1) == Some(Kind::Number)
            && self.text.mark(at + 2) == Some(')');
        if counted {
            at += 3;
        }
        at = self.behind_shelf(self.behind_genre(at));
        at = self.behind_broadcast(at);
        while let Some(bracket) = self
            .text
            .brackets
            .iter()
            .take(8)
            .find(|bracket| bracket.open == at)
        {
            let words = (bracket.open + 1)..bracket.close;
            let known = words.clone().filter(|inner| self.text.is_word(*inner));
            let (mut all, mut of_them) = (0, 0);
            for inner in known {
                all += 1;
                of_them += usize::from(self.marks.word_at(inner).is_some());
            }
            if all == 0 || of_them < all || bracket.close >= self.text.len() {
                break;
            }
            at = self.text.skip(bracket.close + 1, " ._-,:");
        }
        at
    }

    /// `★4月新番★片名`: position behind the month of the first broadcast.
    fn behind_broadcast(&self, at: usize) -> usize {
        let begin = self.text.skip(at, "★☆ ");
        match self.marks.word_at(begin) {
            Some(word) if word.start == begin && self.text.low(word.end - 1).ends_with('番') => {
                self.text.skip(word.end, "★☆ ._-")
            }
            _ => at,
        }
    }

    /// `(Comedy) Title`: position behind a genre.
    fn behind_genre(&self, at: usize) -> usize {
        let text = &self.text;
        let is_word = text.mark(at) == Some('(')
            && text.kind(at + 1) == Some(Kind::Latin)
            && text.low(at + 1).len() > 2
            && text.mark(at + 2) == Some(')');
        let next = text.skip(at + 3, " ._-");
        if is_word
            && at <= self.lead
            && text.is_word(next)
            && !self.is_year(next)
            && self
                .marks
                .word_at(next)
                .is_none_or(|word| word.trust() != Trust::Always)
        {
            next
        } else {
            at
        }
    }

    /// `IMAX - Title`, `Netflix Originals - Title`: position behind a description of the release.
    fn behind_shelf(&self, at: usize) -> usize {
        let text = &self.text;
        let leads = !(self.lead..at).any(|before| text.is_word(before) && text.atoms[before].bracket == 0);
        let Some(word) = self.marks.word_at(at).filter(|word| leads && word.start == at) else {
            return at;
        };
        let told = match word.field() {
            Field::Edition | Field::Language => true,
            Field::Service => word.trust() == Trust::Behind,
            _ => false,
        };
        let next = text.skip(word.end, " ._-");
        let dashed = next == word.end + 3 && text.mark(word.end + 1) == Some('-');
        if told && dashed && text.is_word(next) && !self.is_year(next) && self.marks.word_at(next).is_none() {
            next
        } else {
            at
        }
    }

    /// `003. Title - Of The Episode`: end of the series title, when only the number is recognised.
    fn before_own_title(&self, start: usize, end: usize) -> usize {
        let text = &self.text;
        let spaced = |at: &usize| {
            text.mark(*at) == Some('-') && text.mark(at - 1) == Some(' ') && text.mark(at + 1) == Some(' ')
        };
        let dash = (start + 2..end).find(spaced);
        dash.map_or(end, |dash| text.skip_back(dash, JOINTS))
    }

    /// `A_Title(ABC)`: capitals in brackets that are glued to the title of a group in brackets.
    fn before_glued(&self, start: usize, end: usize) -> usize {
        let text = &self.text;
        let Some(open) = end.checked_sub(3).filter(|open| *open > start) else {
            return end;
        };
        let glued = text.mark(open) == Some('(') && text.mark(end - 1) == Some(')') && text.is_word(open - 1);
        let written = text.raw(open + 1, end - 1);
        let capitals = written.len() > 2 && written.bytes().all(|byte| byte.is_ascii_uppercase());
        if self.lead_group.is_some() && glued && capitals {
            open
        } else {
            end
        }
    }

    /// `A Title (Another Title)`: start of the second title, if it has several words.
    fn before_second(&self, start: usize, end: usize) -> usize {
        let text = &self.text;
        let Some(bracket) = text.brackets.iter().find(|bracket| {
            bracket.open > start && bracket.close + 1 == end && text.mark(bracket.open) == Some('(')
        }) else {
            return end;
        };
        let words = |from: usize, to: usize| (from..to).filter(|at| text.is_word(*at)).count();
        let before = text.skip_back(bracket.open, " ._-");
        let continues = before > start && matches!(text.low(before - 1), "or" | "of" | "the" | "and");
        if words(bracket.open, bracket.close) > 1 && words(start, before) > 1 && !continues {
            before
        } else {
            end
        }
    }

    /// Removes known words from the end of the title.
    fn peel(&self, start: usize, end: usize, by: &str) -> usize {
        let text = &self.text;
        let mut cut = text.skip_back(end, JOINTS);
        let by_number = matches!(by, "episode" | "season" | "absoluteEpisode" | "airDate" | "part");
        while cut > start {
            // A bracket of known words.
            if text.mark(cut - 1).is_some_and(|mark| ")]".contains(mark)) {
                let place = text.brackets.partition_point(|bracket| bracket.open < cut);
                let bracket = place.checked_sub(1).and_then(|place| text.brackets.get(place));
                let bracket = bracket.filter(|bracket| bracket.close == cut - 1 && bracket.open > start);
                let Some(bracket) = bracket.filter(|bracket| {
                    let mut words = (bracket.open..bracket.close).filter(|at| text.is_word(*at));
                    words.all(|at| self.marks.word_at(at).is_some()) || self.is_tag(**bracket, start)
                }) else {
                    break;
                };
                cut = text.skip_back(bracket.open, JOINTS);
                continue;
            }
            if by == "year" && cut - 1 > start && self.short_edition(cut - 1).is_some() {
                cut = text.skip_back(cut - 1, JOINTS);
                continue;
            }
            let Some(word) = self.marks.word_at(cut - 1) else {
                break;
            };
            let written = text.raw(word.start, word.end);
            let words = (start..word.start).filter(|at| text.is_word(*at)).count();
            let long = words > 2 && word.field() == Field::Language && written.len() > 4;
            let capitals = written.len() > 2 && !written.chars().any(char::is_lowercase);
            let short = written.len() == 2 && !written.chars().any(char::is_lowercase);
            let edition = word.field() == Field::Edition
                && (word.trust() == Trust::Behind || capitals || short || word.value() == "IMAX");
            let whole = word.field() == Field::Whole;
            let before = text.skip_back(word.start, JOINTS);
            let joined = before > start
                && matches!(
                    text.low(before - 1),
                    "and" | "the" | "of" | "a" | "in" | "an" | "my" | "und" | "good" | "speak"
                );
            let goes = !joined
                && match by {
                    _ if whole => !matches!(by, "year" | "airDate"),
                    "year" => {
                        edition
                            || word.field() == Field::Extra
                            || is_format(word, written)
                            || (is_shouted(written) && word.trust() == Trust::Behind)
                            || ((capitals || long) && word.trust() == Trust::Behind)
                    }
                    // No other part was recognised: it may be no release name at all.
                    "end" => false,
                    _ if by_number => {
                        edition
                            || (word.field() == Field::Language && capitals && word.trust() == Trust::Behind)
                    }
                    _ => true,
                };
            if !goes || word.start <= start {
                break;
            }
            let ordinal = word.value() == "Anniversary"
                && before > start + 1
                && matches!(text.low(before - 1), "th" | "st" | "nd" | "rd")
                && text.kind(before - 2) == Some(Kind::Number);
            cut = if ordinal {
                text.skip_back(before - 2, JOINTS)
            } else {
                before
            };
        }
        cut
    }

    /// `Title [Group] (1080p)`: true for a square bracket behind the title with the group or a tag.
    fn is_tag(&self, bracket: Bracket, start: usize) -> bool {
        let text = &self.text;
        let outside = |at: usize| text.atoms[at].bracket == 0;
        text.mark(bracket.open) == Some('[')
            && bracket.close < text.len()
            && !is_country(text.low(bracket.open + 1))
            && (start..bracket.open).any(|at| outside(at) && text.kind(at) == Some(Kind::Latin))
    }

    /// `Title.DC.2018`, `Title SE (2018)`: abbreviation of an edition, valid only at this place.
    pub(crate) fn short_edition(&self, at: usize) -> Option<&'static str> {
        let text = &self.text;
        let dotted = text.mark(at + 1) == Some('.') && self.is_year(at + 2);
        let bracketed =
            text.mark(text.skip(at + 1, " ._")) == Some('(') && self.is_year(text.skip(at + 1, " ._("));
        let edition = match text.raw(at, at + 1) {
            "DC" => "Director's Cut",
            "SE" => "Special Edition",
            _ => return None,
        };
        ((dotted || bracketed) && !text.joined_before(at)).then_some(edition)
    }

    /// Selects the title in Latin letters where the name has several.
    fn pick(&self, start: usize, end: usize) -> (usize, usize) {
        let start = self.text.skip(start, " ._-,:★");
        let outside = |at: &usize| self.text.atoms[*at].bracket == 0;
        let has_latin = (start..end)
            .filter(outside)
            .any(|at| self.text.kind(at) == Some(Kind::Latin));
        let brackets = self.text.brackets.iter().filter(|bracket| {
            bracket.open >= start && bracket.open < end && !self.is_checksum(bracket.open + 1, bracket.close)
        });
        let leads = self.text.mark(start) == Some('[');
        if leads && has_latin {
            // Cooperating groups, each in brackets, in front of the title.
            let first = (start..end).find(|at| self.text.atoms[*at].bracket == 0 && self.text.is_word(*at));
            let start = first.unwrap_or(start);
            return self.alternative(start, end);
        }
        if leads || !has_latin {
            let whole = |bracket: &&Bracket| (bracket.open + 1, bracket.close.min(end));
            let latin =
                |(from, to): (usize, usize)| (from..to).any(|at| self.text.kind(at) == Some(Kind::Latin));
            let script =
                |(from, to): (usize, usize)| (from..to).any(|at| self.text.kind(at) == Some(Kind::Script));
            let all: Vec<(usize, usize)> = brackets.map(|bracket| whole(&bracket)).collect();
            let pure = all.iter().copied().find(|span| latin(*span) && !script(*span));
            let any = pure.or_else(|| all.iter().copied().find(|span| latin(*span)));
            if let Some(span) = any.or_else(|| all.first().copied().filter(|_| leads)) {
                return self.alternative(span.0, span.1);
            }
        }
        self.alternative(start, end)
    }

    /// `Название / Title`, `Title AKA Other`, `劇場版 Title`.
    fn alternative(&self, start: usize, end: usize) -> (usize, usize) {
        let text = &self.text;
        let kinds = |from: usize, to: usize, kind: Kind| (from..to).any(|at| text.kind(at) == Some(kind));
        // The longer one: a title, or a part with several titles.
        let aka = (start + 1..end).find(|at| text.raw(*at, at + 1) == "AKA" && !text.joined_before(*at));
        let end = aka.map_or(end, |at| text.skip_back(at, JOINTS));
        let parts: Vec<(usize, usize)> = self.parts(start, end);
        if parts.len() > 1 && parts.iter().any(|part| kinds(part.0, part.1, Kind::Script)) {
            let mut latin: Vec<_> = parts
                .iter()
                .filter(|part| kinds(part.0, part.1, Kind::Latin))
                .collect();
            if latin.iter().any(|part| !kinds(part.0, part.1, Kind::Script)) {
                latin.retain(|part| !kinds(part.0, part.1, Kind::Script));
            }
            if let (Some(first), Some(last)) = (latin.first(), latin.last()) {
                return self.without_people(first.0, last.1, true);
            }
        }
        let (start, end) = self.without_people(start, end, parts.len() > 1);
        // A foreign title in front of the Latin one.
        let level = text.atoms.get(start).map_or(0, |atom| atom.bracket);
        let first =
            (start..end).find(|at| text.kind(*at) == Some(Kind::Latin) && text.atoms[*at].bracket == level);
        if let Some(first) = first
            && kinds(start, first, Kind::Script)
            && !kinds(first, end, Kind::Script)
            && (first..end).any(|at| text.low(at).len() > 2)
        {
            return (first, end);
        }
        (start, end)
    }

    /// The titles between separate slashes, and between dots and underscores at a change of script.
    fn parts(&self, start: usize, end: usize) -> Vec<(usize, usize)> {
        let mut parts = Vec::new();
        let mut from = start;
        let level = self.text.atoms.get(start).map_or(0, |atom| atom.bracket);
        for at in start..end {
            let outside = self.text.atoms[at].bracket == level;
            if outside && self.text.mark(at).is_some_and(|mark| "/|·_".contains(mark)) {
                // An underscore separates titles only between scripts.
                let scripts = (from..at).any(|inner| self.text.kind(inner) == Some(Kind::Script));
                let bracketed = self.text.atoms[at].bracket > 0;
                if self.text.mark(at) == Some('_') && !(scripts && bracketed) {
                    continue;
                }
                parts.push((from, at));
                from = at + 1;
            }
        }
        parts.push((from, end));
        parts
    }

    /// Removes directors and casts in brackets behind titles in several languages.
    fn without_people(&self, start: usize, end: usize, several: bool) -> (usize, usize) {
        let bracket = self
            .text
            .brackets
            .iter()
            .find(|bracket| bracket.open > start && bracket.open < end);
        match bracket {
            Some(bracket) if several => (start, bracket.open),
            _ => (start, end),
        }
    }

    fn write_title(&mut self) {
        let (start, end) = self.title;
        let season = self
            .spans
            .iter()
            .find(|span| span.taken_for == "season" && !span.cuts && span.start >= start && span.end <= end)
            .map(|span| (span.start, span.end));
        let title = match season {
            // `S02` becomes `S2`, as titles write it.
            Some((from, to)) => {
                let number = self.release.season.unwrap_or_default();
                format!(
                    "{} S{number} {}",
                    self.written(start, from),
                    self.written(to, end)
                )
            }
            None => self.written(start, end),
        };
        let title = title.trim_matches(|c: char| c == '-' || c.is_whitespace());
        if title.is_empty() || !title.chars().any(char::is_alphanumeric) {
            return;
        }
        self.release.explanations.push(crate::model::Explanation {
            field: "title",
            value: title.to_owned(),
            reason: "stands before everything else that was recognised".to_owned(),
        });
        self.release.title = Some(title.to_owned());
    }

    /// `Title.US.S01`, `Title (UK) - …`: moves the country from the title to its own field.
    fn leave_country(&mut self) {
        if self.release.season.is_none() && self.release.air_date.is_none() {
            return;
        }
        let Some((at, rule)) = self.tagged_country().or_else(|| self.dotted_country()) else {
            return;
        };
        let code = self.text.low(at);
        let Some((_, country)) = COUNTRIES.iter().find(|(written, _)| *written == code) else {
            return;
        };
        self.note("country", *country, (at, at + 1), rule);
        self.take((at, at + 1), "country", rule, false);
        self.release.country = Some(country);
        self.title.1 = self.text.skip_back(at, JOINTS);
        // `Title.1990.UK.S01`: the year is removed with the country.
        let year = self.title.1.saturating_sub(1);
        let told = self.release.year.is_some() && self.release.year == self.text.number(year);
        if told && year > self.title.0 && self.has_flag(year, TAKEN) {
            self.title.1 = self.text.skip_back(year, JOINTS);
        }
    }

    /// `Title (US)`: country at the end of the title, or in front of the dash before the episode's title.
    fn tagged_country(&self) -> Option<(usize, &'static str)> {
        let text = &self.text;
        let (start, end) = self.title;
        let tag = text.brackets.iter().find(|bracket| {
            let next = text.skip(bracket.close + 1, " ._");
            bracket.open > start
                && bracket.open + 2 == bracket.close
                && bracket.close < end
                && (next >= end || (text.mark(next) == Some('-') && next > bracket.close + 1))
                && is_country(text.low(bracket.open + 1))
        })?;
        Some((tag.open + 1, "country in brackets"))
    }

    /// `Title.US.S01`: country in the scene's form, in capitals, unless the whole title is.
    fn dotted_country(&self) -> Option<(usize, &'static str)> {
        let text = &self.text;
        let (start, end) = self.title;
        let at = end.checked_sub(1)?;
        let word = at.checked_sub(2).filter(|word| *word >= start)?;
        let capitals = |from: usize, to: usize| !text.raw(from, to).chars().any(char::is_lowercase);
        let is_tag = text.mark(at - 1) == Some('.')
            && text.mark(end) == Some('.')
            && is_country(text.low(at))
            && capitals(at, end)
            && !capitals(start, at)
            && text.is_word(word)
            && !BEFORE_A_WORD_OF_THE_TITLE.contains(&text.low(word));
        is_tag.then_some((at, "country between dots"))
    }

    /// `Silver River - SR - 07`: removes the title's initials behind it.
    fn leave_initials(&mut self) {
        let text = &self.text;
        let (start, end) = self.title;
        let Some(at) = end
            .checked_sub(1)
            .filter(|at| text.kind(*at) == Some(Kind::Latin))
        else {
            return;
        };
        let dash = text.skip_back(at, " _.");
        let before = dash.saturating_sub(1);
        let title = text.skip_back(before, " _.");
        if text.mark(before) != Some('-') || dash == at || title == before || title <= start {
            return;
        }
        let words = (start..title).filter(|word| text.is_word(*word) && !text.joined_before(*word));
        let initials: String = words.filter_map(|word| text.low(word).chars().next()).collect();
        if initials.len() > 1 && initials == text.low(at) {
            self.take((at, end), "ignored", "the initials of the title", false);
            self.title.1 = title;
        }
    }

    /// The title as text: separators become spaces, brackets are left out, dots of acronyms stay.
    fn written(&self, start: usize, end: usize) -> String {
        let text = &self.text;
        let mut written = String::with_capacity(48);
        let mut space = false;
        for at in start..end {
            let raw = text.raw(at, at + 1);
            let gap = match text.mark(at) {
                Some('.') => !self.in_acronym(at, end),
                Some('_') => true,
                Some('[' | ']' | '(' | ')' | '{' | '}' | '<' | '>') => continue,
                Some(mark) => mark.is_whitespace(),
                None => false,
            };
            if gap {
                space = !written.is_empty();
                continue;
            }
            if space {
                written.push(' ');
                space = false;
            }
            written.push_str(raw);
        }
        while written.ends_with([',', ':', '/', '|', '~', '+']) || written.ends_with(" -") {
            written.pop();
            written.truncate(written.trim_end().len());
        }
        written
    }

    /// `S.H.I.E.L.D.`: true for a dot after one of several single letters, each followed by a dot.
    fn in_acronym(&self, dot: usize, end: usize) -> bool {
        let text = &self.text;
        let single = |at: usize| {
            text.kind(at) == Some(Kind::Latin)
                && text.low(at).len() == 1
                && text.mark(at + 1) == Some('.')
                && !text.joined_before(at)
        };
        let Some(letter) = dot.checked_sub(1).filter(|letter| single(*letter)) else {
            return false;
        };
        let before = letter.checked_sub(2).is_some_and(single);
        before || (dot + 1 < end.max(dot + 2) && single(dot + 1))
    }
}

/// True for a format of the picture, which never ends a title right before its year, in any case of letters.
fn is_format(word: &Word, written: &str) -> bool {
    let letters: String = written.chars().filter(|c| c.is_alphanumeric()).collect();
    matches!(word.field(), Field::Resolution | Field::Hdr | Field::Depth)
        || PICTURES.contains(&letters.to_ascii_lowercase().as_str())
}

/// `MULTi`, `iNTERNAL`: true when most letters are capitals.
fn is_shouted(written: &str) -> bool {
    let capitals = written.chars().filter(|c| c.is_uppercase()).count();
    let small = written.chars().filter(|c| c.is_lowercase()).count();
    capitals > 2 && capitals > 2 * small
}

fn is_country(code: &str) -> bool {
    COUNTRIES.iter().any(|(written, _)| *written == code)
}
