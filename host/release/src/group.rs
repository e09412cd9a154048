//! Release group: behind the last dash, in brackets, at the end, or in front.

use crate::around::{REPOSTS, SPREADERS};
use crate::lex::{Bracket, Kind};
use crate::model::Explanation;
use crate::read::{CUTS, Reader, TAKEN};
use crate::words::{CODES, COLLECTIVES, DASHED_GROUPS, Field, Trust};

/// Largest number of characters of a group.
const LONGEST: usize = 25;

impl Reader<'_> {
    pub(crate) fn find_group(&mut self) {
        if self.traits.opaque {
            return;
        }
        let tail = self.tail_brackets();
        let core = self.before_reposts(self.before_version(tail.core));
        let found = self
            .collective()
            .or_else(|| self.sealed(&tail))
            .map(|span| (span, "a collective at the end"))
            .or_else(|| {
                self.behind_dash(core)
                    .map(|span| (span, "stands after the last dash"))
            })
            .or_else(|| self.made_by().map(|span| (span, "stands after `by`")))
            .or_else(|| self.lead_group.map(|span| (span, "leads the name in brackets")))
            .or_else(|| {
                self.behind_spaced_dash(core)
                    .map(|span| (span, "stands after the last dash"))
            })
            .or_else(|| tail.group.map(|span| (span, "stands in brackets at the end")))
            .or_else(|| {
                self.at_end_of_bracket()
                    .map(|span| (span, "ends the bracket of known words"))
            })
            .or_else(|| {
                self.scene_group
                    .map(|span| (span, "leads the name of a file in small letters"))
            })
            .or_else(|| {
                self.last_word(core)
                    .filter(|_| self.may_end_in_group())
                    .map(|span| (span, "stands after the last known word"))
            })
            .or_else(|| {
                self.first_bracket()
                    .map(|span| (span, "stands in brackets behind the title"))
            })
            .or_else(|| {
                self.signed_site()
                    .map(|span| (span, "stands after the last dash"))
            });
        let Some(((start, end), reason)) = found else {
            return;
        };
        let group = self
            .text
            .raw(start, end)
            .trim_matches(|c: char| " ._-[](){}".contains(c));
        let group = without_repost(group);
        if group.is_empty() {
            return;
        }
        let group = group.to_owned();
        self.take((start, end), "releaseGroup", reason, false);
        self.release.explanations.push(Explanation {
            field: "releaseGroup",
            value: group.clone(),
            reason: reason.to_owned(),
        });
        self.release.release_group = Some(group);
    }

    /// The group in brackets at the end, and the end of the name without those brackets.
    fn tail_brackets(&self) -> Tail {
        let mut tail = Tail {
            core: self.end,
            ..Tail::default()
        };
        for bracket in self.text.brackets.iter().rev() {
            let end = self.text.skip_back(tail.core, " ._-=+");
            if bracket.close + 1 != end && !(bracket.close >= self.text.len() && bracket.open < end) {
                tail.core = end;
                break;
            }
            if bracket.open <= self.lead {
                break;
            }
            let inner = (bracket.open + 1, bracket.close.min(self.end));
            let written = self.text.raw(inner.0, inner.1).trim().to_ascii_lowercase();
            let words = (bracket.open..bracket.close).filter(|at| self.text.is_word(*at));
            if words.clone().count() > 0
                && words.clone().all(|at| self.is_taken(at))
                && bracket.open >= self.title.1
            {
                tail.core = bracket.open;
                continue;
            }
            if self.holds_known(*bracket) && !self.is_of_fans(*bracket) {
                // Of a bracket of known words the end may be the group.
                break;
            }
            if self.is_group_bracket(*bracket, &written) && tail.group.is_none() {
                tail.group = Some(inner);
            }
            tail.core = bracket.open;
        }
        tail.core = self.text.skip_back(tail.core, " ._=+");
        tail
    }

    /// A collective among the last words.
    fn collective(&self) -> Option<(usize, usize)> {
        let last = (self.title.1.max(self.lead)..self.end).rev().take(8);
        last.clone()
            .find(|at| COLLECTIVES.contains(&self.text.low(*at)))
            .map(|at| (at, at + 1))
    }

    /// `(1080p WEB-DL x265 - Member) [COLLECTIVE]`: a collective's tag behind a bracket of known words; the
    /// release is the collective's.
    fn sealed(&self, tail: &Tail) -> Option<(usize, usize)> {
        let (start, end) = tail.group.filter(|_| self.lead_group.is_none())?;
        let open = start.checked_sub(1)?;
        let before = self.text.skip_back(open, " ._");
        let bracket = self
            .text
            .brackets
            .iter()
            .find(|bracket| bracket.close + 1 == before)?;
        let is_seal = self.text.mark(open) == Some('[')
            && self.text.mark(bracket.open) == Some('(')
            && bracket.open >= self.title.1
            && self.holds_known(*bracket);
        is_seal.then_some((start, end))
    }

    /// `GROUP-Obfuscated`
    fn before_reposts(&self, core: usize) -> usize {
        let mut core = core;
        while core >= 2
            && core > self.title.1 + 2
            && self.text.mark(core - 2) == Some('-')
            && (REPOSTS.contains(&self.text.low(core - 1)) || self.text.low(core - 1).starts_with("rakuv"))
        {
            core -= 2;
        }
        core
    }

    /// `GROUP v2`: the version is none of the group's.
    fn before_version(&self, core: usize) -> usize {
        let version = core.checked_sub(1).and_then(|at| self.marks.word_at(at));
        match version.filter(|word| word.field() == Field::Version && word.start > self.title.1) {
            Some(word) => self.text.skip_back(word.start, " ._"),
            None => core,
        }
    }

    /// `Title [Group] [1080p]`
    fn first_bracket(&self) -> Option<(usize, usize)> {
        let bracket = self.text.brackets.iter().find(|bracket| {
            let written = self
                .text
                .raw(bracket.open + 1, bracket.close)
                .to_ascii_lowercase();
            bracket.open >= self.title.1
                && self.text.mark(bracket.open) == Some('[')
                && (self.is_of_fans(**bracket) || !self.holds_known(**bracket))
                && self.is_group_bracket(**bracket, &written)
        })?;
        Some((bracket.open + 1, bracket.close))
    }

    /// `x264-[YTS.LT]`: a site that signs as a group does.
    fn signed_site(&self) -> Option<(usize, usize)> {
        let site = self.site?;
        let signs = self.text.mark(site.0.checked_sub(2)?) == Some('-') || self.text.low(site.0) == "yts";
        signs.then_some(site)
    }

    /// `[Name-Subs]`, `[Name Fansub]`: a name of a group of translators.
    fn is_of_fans(&self, bracket: Bracket) -> bool {
        let text = &self.text;
        let names = text.is_word(bracket.open + 1) && self.marks.word_at(bracket.open + 1).is_none();
        let mut known = (bracket.open + 2..bracket.close).filter(|at| self.marks.word_at(*at).is_some());
        let last = known.next();
        names
            && known.next().is_none()
            && last.is_some_and(|at| {
                at + 1 == bracket.close && matches!(text.low(at), "subs" | "sub" | "fansub")
            })
    }

    fn holds_known(&self, bracket: Bracket) -> bool {
        (bracket.open + 1..bracket.close).any(|at| self.marks.word_at(at).is_some() || self.is_year(at))
            || (bracket.open..bracket.close).any(|at| self.has_flag(at, CUTS))
    }

    fn is_group_bracket(&self, bracket: Bracket, written: &str) -> bool {
        let title = bracket.open < self.title.1 && bracket.close > self.title.0;
        let words = (bracket.open..bracket.close)
            .filter(|at| self.text.is_word(*at))
            .count();
        !title
            && bracket.close < self.text.len()
            && words > 0
            && words <= 6
            && (written.len() > 1)
            && written.chars().any(char::is_alphabetic)
            && !self.is_checksum(bracket.open + 1, bracket.close)
            && !SPREADERS.contains(&written)
            && self.text.mark(bracket.open) != Some('{')
    }

    /// `x264-GROUP`: behind a dash that is part of no word.
    fn behind_dash(&self, core: usize) -> Option<(usize, usize)> {
        let text = &self.text;
        let from = self.title.1.max(self.title.0).max(self.lead);
        let mut last = None;
        for at in from.max(1)..core {
            if text.mark(at) != Some('-') || at + 1 >= core {
                continue;
            }
            let opens = text.mark(at + 1).is_some_and(|mark| mark == '[');
            if !(text.is_word(at + 1) || opens) {
                continue;
            }
            let before = text.skip_back(at, " .");
            let known = before > 0 && self.is_taken(before - 1);
            let glued = before == at;
            if known
                && (glued || text.mark(at - 1) != Some(' ') || !self.is_taken(at + 1))
                && self.starts_group(at + 1)
            {
                last = Some(at + 1);
            }
        }
        if let Some(start) = last {
            return self.group_from(start, core);
        }
        self.plain_dash(core)
    }

    /// True when the atom belongs to a recognised part behind the title.
    fn is_taken(&self, at: usize) -> bool {
        if let Some(bracket) = self.text.mark(at) {
            return "])".contains(bracket) && at > self.title.1;
        }
        self.marks.word_at(at).is_some() || self.has_flag(at, TAKEN)
    }

    /// False for a known word, unless it ends the name behind the codec.
    fn starts_group(&self, at: usize) -> bool {
        let Some(word) = self.marks.word_at(at) else {
            let begin = if self.text.is_word(at) { at } else { at + 1 };
            let span = self.has_flag(begin, CUTS);
            let digits = self.text.kind(begin) == Some(Kind::Number) && !self.text.is_plain_word(begin + 1);
            return !span && (!digits || self.text.skip(begin + 1, " ._-") < self.end);
        };
        let ends = self.text.skip_back(self.end, " ._)]") == word.end;
        let before = at.checked_sub(2).and_then(|before| self.marks.word_at(before));
        let codec = before.is_some_and(|before| matches!(before.field(), Field::Codec | Field::Source));
        let runs_on = self.text.is_plain_word(word.end) || self.text.mark(word.end) == Some('_');
        let weak = matches!(
            word.field(),
            Field::Hdr | Field::Language | Field::Edition | Field::Noise | Field::Service | Field::Extra
        ) || (word.field() == Field::Resolution && word.trust() != Trust::Always);
        // `720p.HDTV.x264.CZ-SDTV`: the source was named before, so this word is the group.
        let told = word.field() == Field::Source
            && before.is_some_and(|before| {
                matches!(before.field(), Field::Codec | Field::Audio | Field::Language)
            })
            && self
                .marks
                .words
                .iter()
                .any(|other| other.field() == Field::Source && other.end < word.start);
        (codec && weak && (ends || runs_on)) || (told && ends)
    }

    /// The group from `start` to the next space, dot or bracket; to the end where no known word follows.
    fn group_from(&self, start: usize, core: usize) -> Option<(usize, usize)> {
        let text = &self.text;
        if text.mark(start) == Some('[') {
            let bracket = text.brackets.iter().find(|bracket| bracket.open == start)?;
            return Some((start + 1, bracket.close.min(core)));
        }
        let stop = |at: usize| text.mark(at).is_some_and(|mark| " .,([{)]}|;".contains(mark));
        let mut end = (start..core).find(|at| stop(*at)).unwrap_or(core);
        let rest = (end..core).filter(|at| text.is_word(*at));
        let words = rest.clone().count();
        let free = rest.clone().all(|at| !self.is_taken(at));
        let closed = (end..core).any(|at| text.mark(at).is_some_and(|mark| "([{)]}|".contains(mark)));
        if words > 0 && words <= 3 && free && !closed {
            end = core;
        }
        // `Someone.Other-GROUP`, `DUTCH_COVER-GROUP`: the group stands last.
        let dash = (start..end).rev().find(|at| text.mark(*at) == Some('-'));
        if let Some(dash) = dash
            && (start..dash).any(|at| text.mark(at).is_some_and(|mark| "._".contains(mark)))
            && dash + 1 < end
            && (dash + 1..end).all(|at| text.is_plain_word(at))
        {
            return Some((dash + 1, end));
        }
        // `GROUP_English`
        while end > start + 2
            && text.mark(end - 2) == Some('_')
            && self
                .marks
                .word_at(end - 1)
                .is_some_and(|word| matches!(word.field(), Field::Language | Field::Noise))
        {
            end -= 2;
        }
        Some((start, end)).filter(|(start, end)| text.raw(*start, *end).len() <= LONGEST + 10)
    }

    /// `Name-GROUP` without a known word right before the dash: behind the last dash of the name.
    fn plain_dash(&self, core: usize) -> Option<(usize, usize)> {
        let text = &self.text;
        let from = self.title.0.max(self.lead);
        let dash = (from + 1..core).rev().find(|at| text.mark(*at) == Some('-'))?;
        let glued = text.is_word(dash + 1) && text.mark(dash - 1) != Some(' ');
        let plain = (dash + 1..core).all(|at| text.is_plain_word(at) || text.mark(at) == Some('_'));
        let known = self.spans.iter().any(|span| span.cuts) || !self.marks.words.is_empty();
        let length = text.raw(dash + 1, core).len();
        let start = self.with_word_before(dash);
        let free = (dash + 1..core).all(|at| !self.is_taken(at)) && dash >= self.title.1;
        let ends_name = core == text.skip_back(self.end, " ._-");
        (glued && plain && known && free && ends_name && (2..=LONGEST).contains(&length))
            .then_some((start, core))
    }

    /// `x264-Etc-Group`: a single word that a dash joins to a known one belongs to the group. Behind a dot it
    /// does, unless it is in capitals like a status: `x264.PREAiR-GROUP`.
    fn with_word_before(&self, dash: usize) -> usize {
        let text = &self.text;
        let word = dash - 1;
        let before = text.skip_back(word, ".-");
        let written = text.raw(word, dash);
        let capitals = written.chars().filter(|c| c.is_uppercase()).count();
        let whole = text.raw(word, self.end).to_ascii_lowercase();
        let dashed = text.mark(word.wrapping_sub(1)) == Some('-')
            || DASHED_GROUPS.iter().any(|group| whole.starts_with(group));
        let small = written.chars().filter(|c| c.is_lowercase()).count();
        let shouted = capitals > 2 && capitals > 2 * small;
        let is_status = !dashed && (shouted || text.low(word).ends_with("fix"));
        let known = before > 0
            && before < word
            && self
                .marks
                .word_at(before - 1)
                .is_some_and(|word| word.start >= self.title.1);
        if known && !is_status && text.kind(word) == Some(Kind::Latin) && !self.is_taken(word) {
            word
        } else {
            dash + 1
        }
    }

    /// `… x264 - GROUP`
    fn behind_spaced_dash(&self, core: usize) -> Option<(usize, usize)> {
        let text = &self.text;
        let core = text.skip_back(core, " ._-)]");
        let slash = |at: usize| {
            text.mark(at) == Some('/') && text.mark(at - 1) == Some(' ') && text.mark(at + 1) == Some(' ')
        };
        let dash = (self.title.1.max(1)..core)
            .rev()
            .find(|at| text.mark(*at) == Some('-') || slash(*at))?;
        let start = text.skip(dash + 1, " _.");
        let spaced = text.mark(dash - 1).is_some_and(|mark| " _.".contains(mark));
        let words = (start..core).filter(|at| text.is_word(*at)).count();
        let quality = self.marks.words.iter().any(|word| {
            word.end <= dash && matches!(word.field(), Field::Source | Field::Codec | Field::Resolution)
        });
        let free = (start..core).all(|at| !self.is_taken(at));
        let parts = (start..core)
            .filter(|at| text.mark(*at).is_some_and(|mark| "([{".contains(mark)))
            .count();
        let sized = text.kind(start) == Some(Kind::Number) && self.is_amount(start);
        (spaced && quality && free && parts == 0 && !sized && (1..=4).contains(&words))
            .then_some((start, core))
    }

    /// `by Name`, behind something known.
    fn made_by(&self) -> Option<(usize, usize)> {
        let text = &self.text;
        let by = (self.title.1.max(1)..self.end)
            .rev()
            .find(|at| matches!(text.low(*at), "by" | "от") && !text.joined_before(*at))?;
        let start = text.skip(by + 1, " ._-");
        let stop = |at: &usize| text.mark(*at).is_some_and(|mark| " .,()[]{}|_".contains(mark));
        let end = (start..self.end).find(stop).unwrap_or(self.end);
        let known = self
            .marks
            .words
            .iter()
            .any(|word| word.end <= by && word.start >= self.title.1);
        (known && start < end && text.is_word(start)).then_some((start, end))
    }

    /// `(1080p BluRay x265 Tigole)`: the last word of the last bracket of known words.
    fn at_end_of_bracket(&self) -> Option<(usize, usize)> {
        let bracket = self.text.brackets.iter().rev().find(|bracket| {
            bracket.open >= self.title.1
                && (bracket.open + 1..bracket.close).any(|at| {
                    self.marks
                        .word_at(at)
                        .is_some_and(|word| matches!(word.field(), Field::Codec | Field::Source))
                })
        })?;
        self.last_word(bracket.close.min(self.end))
    }

    /// False for an episode with a spaced name, which may end in any word; a movie's ends in its group.
    fn may_end_in_group(&self) -> bool {
        let spaced = self.text.raw.contains(' ');
        !(spaced && self.release.episode.is_some())
    }

    /// A single free word at the end, right behind a known one.
    fn last_word(&self, core: usize) -> Option<(usize, usize)> {
        let text = &self.text;
        let end = text.skip_back(core, " ._-)]}");
        let mut start = end;
        while start > 0 && !text.mark(start - 1).is_some_and(|mark| " .,([{|/".contains(mark)) {
            start -= 1;
        }
        let length = text.raw(start, end).len();
        let letters = (start..end).any(|at| text.kind(at) == Some(Kind::Latin));
        let free = start < end && (start..end).all(|at| !text.is_word(at) || !self.is_taken(at));
        let mut before = text.skip_back(start, " ._-,");
        if before >= 2 && self.is_grade(before - 2) {
            before = text.skip_back(before - 2, " ._-,");
        }
        let known = before > 0
            && self.marks.word_at(before - 1).is_some_and(|word| {
                !matches!(word.field(), Field::Event | Field::Extra) && word.start >= self.title.1
            });
        let least = if self.is_short_group(start, end) { 2 } else { 3 };
        (free && known && letters && (least..=LONGEST).contains(&length) && !self.is_amount(start))
            .then_some((start, end))
    }

    /// `HDTV.Espanol.SC`: two capitals behind a dot, in a name without spaces, that are no language or
    /// country code.
    fn is_short_group(&self, start: usize, end: usize) -> bool {
        let text = &self.text;
        let capitals = text.raw(start, end).bytes().all(|byte| byte.is_ascii_uppercase());
        let dotted = text.mark(start.wrapping_sub(1)) == Some('.') && !text.raw.contains(' ');
        capitals && dotted && !CODES.contains(&text.low(start))
    }

    /// `1400Mb`, `1.4GB`, `384kbps`
    fn is_amount(&self, at: usize) -> bool {
        let text = &self.text;
        (at..(at + 4).min(self.end))
            .any(|at| matches!(text.low(at), "mb" | "gb" | "kbps" | "mbps" | "gib" | "mib"))
    }
}

#[derive(Default)]
struct Tail {
    core: usize,
    group: Option<(usize, usize)>,
}

/// `GROUP-Obfuscated` without the suffixes of posters.
fn without_repost(group: &str) -> &str {
    let mut group = group;
    while let Some((before, last)) = group.rsplit_once('-') {
        let last = last.to_ascii_lowercase();
        let repost = REPOSTS.contains(&last.as_str()) || last.starts_with("rakuv");
        if !repost || before.is_empty() {
            break;
        }
        group = before;
    }
    group
}
