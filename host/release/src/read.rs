//! Full parser of a release name, in stages: first known words and numbers in known forms are found, then the
//! right ones are chosen; the title stands before them and the group behind.

use crate::around::{DOMAINS, EXTENSIONS};
use crate::lex::{Kind, Text};
use crate::marks::{Marks, Word};
use crate::model::{Explanation, Release};
use crate::pattern::Steps;
use crate::words::{Field, HYPHENATED, TELEVISION, Trust};

/// A part of the name with a recognised meaning.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) taken_for: &'static str,
    pub(crate) rule: &'static str,
    /// True when the title ends before it.
    pub(crate) cuts: bool,
}

/// Flags of an atom: has a meaning, ends the title, is ignored, or belongs to the group.
pub(crate) const TAKEN: u8 = 1;
pub(crate) const CUTS: u8 = 1 << 1;
pub(crate) const LEFT_OUT: u8 = 1 << 2;

/// Properties of the whole name that several conditions use.
#[derive(Debug, Default)]
pub(crate) struct Traits {
    pub(crate) television: bool,
    pub(crate) year: bool,
    pub(crate) fans: bool,
    pub(crate) event: bool,
    pub(crate) bare: bool,
    /// True for a single run of letters and digits: a hash, a key.
    pub(crate) opaque: bool,
}

pub(crate) struct Reader<'n> {
    pub(crate) text: Text<'n>,
    pub(crate) marks: Marks,
    pub(crate) extension: Option<&'static str>,
    pub(crate) traits: Traits,
    /// Atom at which the title may begin: behind a site and a group in brackets.
    pub(crate) lead: usize,
    /// Group in brackets at the start of the name, without its brackets.
    pub(crate) lead_group: Option<(usize, usize)>,
    /// Group at the start of a scene file name: `group-title.2011.720p.bluray.x264`.
    pub(crate) scene_group: Option<(usize, usize)>,
    /// Name of a site that was removed at the end.
    pub(crate) site: Option<(usize, usize)>,
    /// True when a date starts the name.
    pub(crate) dated: bool,
    /// End of the name without the additions of sites.
    pub(crate) end: usize,
    pub(crate) spans: Vec<Span>,
    /// The flags of each atom, as a faster index than the spans.
    taken: Vec<u8>,
    /// First atom of the marker of an episode or a season.
    pub(crate) marker: Option<usize>,
    /// Start and end of the title.
    pub(crate) title: (usize, usize),
    pub(crate) release: Release,
    pub(crate) steps: Steps,
}

/// Parses a name of at most [`MAX_NAME`](crate::MAX_NAME) bytes.
pub(crate) fn read(name: &str) -> Reader<'_> {
    let name = name.trim();
    let Some((above, below)) = name.rsplit_once('\\') else {
        return read_part(name);
    };
    // Of a path the last part, unless it holds no information.
    let last = read_part(below);
    let says_nothing = last.marks.words.is_empty() && last.release.season.is_none();
    let parent = above.rsplit('\\').next().unwrap_or_default();
    if says_nothing && !parent.is_empty() {
        let mut reader = read_part(parent);
        reader.steps += last.steps;
        return reader;
    }
    last
}

fn read_part(name: &str) -> Reader<'_> {
    let (stem, extension) = without_extension(name);
    let is_address = stem.contains('+') && !stem.contains([' ', '.', '_']);
    let text = if is_address {
        Text::of_address(stem)
    } else {
        Text::new(stem)
    };
    let text = if text.is_backwards() {
        text.reversed()
    } else {
        text
    };
    let mut steps = 0;
    let marks = Marks::find(&text, &mut steps);
    let end = text.len();
    let mut reader = Reader {
        text,
        marks,
        extension,
        traits: Traits::default(),
        lead: 0,
        lead_group: None,
        scene_group: None,
        site: None,
        dated: false,
        end,
        spans: Vec::with_capacity(8),
        taken: vec![0; end],
        marker: None,
        title: (0, 0),
        release: Release::default(),
        steps,
    };
    reader.leave_sites();
    reader.find_lead();
    reader.find_traits();
    reader.numbers();
    reader.year();
    reader.find_title();
    reader.find_group();
    reader.quality();
    reader.assume();
    reader.judge();
    reader
}

fn without_extension(name: &str) -> (&str, Option<&'static str>) {
    let name = name.trim_end_matches(['\'', '"', ' ']);
    if let Some((stem, extension)) = name.rsplit_once('.')
        && let Some(known) = EXTENSIONS
            .iter()
            .find(|known| extension.eq_ignore_ascii_case(known))
    {
        return (stem.trim_end(), Some(known));
    }
    (name, None)
}

impl Reader<'_> {
    /// Records the meaning of a part of the name.
    pub(crate) fn take(
        &mut self,
        (start, end): (usize, usize),
        taken_for: &'static str,
        rule: &'static str,
        cuts: bool,
    ) {
        let bits = match taken_for {
            "ignored" => LEFT_OUT,
            "releaseGroup" => LEFT_OUT | TAKEN,
            _ => TAKEN,
        };
        let bits = if cuts { bits | CUTS } else { bits };
        for atom in &mut self.taken[start..end] {
            *atom |= bits;
        }
        self.spans.push(Span {
            start,
            end,
            taken_for,
            rule,
            cuts,
        });
    }

    /// True when the atom has any of these flags.
    pub(crate) fn has_flag(&self, at: usize, bits: u8) -> bool {
        self.taken.get(at).is_some_and(|taken| taken & bits != 0)
    }

    /// Records the part of the name from which a field was read.
    pub(crate) fn note(
        &mut self,
        field: &'static str,
        value: impl Into<String>,
        at: (usize, usize),
        rule: &str,
    ) {
        let mut reason = String::with_capacity(48);
        reason.push_str("read from `");
        reason.push_str(
            self.text
                .raw(at.0, at.1)
                .trim_matches(|c: char| " ._-".contains(c)),
        );
        reason.push_str("` (");
        reason.push_str(rule);
        reason.push(')');
        self.release.explanations.push(Explanation {
            field,
            value: value.into(),
            reason,
        });
    }

    /// Removes names of sites at either end.
    fn leave_sites(&mut self) {
        if let Some(end) = self.site_from(0) {
            self.take((0, end), "ignored", "the name of a site", false);
            self.lead = end;
        }
        while let Some(last) = self.text.brackets.last().copied() {
            // Only at the end of the name.
            let trimmed = self.text.skip_back(self.end, " ._-+=");
            if last.close + 1 != trimmed || last.open < self.lead || !self.is_site(last.open + 1, last.close)
            {
                break;
            }
            self.take(
                (last.open, last.close + 1),
                "ignored",
                "the name of a site",
                false,
            );
            self.site = Some((last.open + 1, last.close));
            self.end = self.text.skip_back(last.open, " ._-");
            self.text.brackets.pop();
        }
        // `.www.site.com`
        let www = (self.lead + 1..self.end)
            .rev()
            .take(12)
            .find(|at| self.text.low(*at) == "www");
        if let Some(at) = www
            && self.text.atoms[at].bracket == 0
        {
            self.take((at, self.end), "ignored", "the name of a site", false);
            self.end = self.text.skip_back(at, " ._-");
        }
    }

    /// True when these atoms are the name of a site: `www.site.com`, `site.org`.
    fn is_site(&self, from: usize, to: usize) -> bool {
        let from = self.text.skip(from, " ");
        let to = self.text.skip_back(to, " ");
        if from >= to {
            return false;
        }
        if (from..to.min(from + 12)).any(|at| self.text.low(at) == "www") {
            return true;
        }
        to - from >= 3
            && to - from <= 9
            && self.text.mark(to - 2) == Some('.')
            && DOMAINS.contains(&self.text.low(to - 1))
            && (from..to).all(|at| self.text.mark(at) != Some(' '))
            && self.marks.word_at(from).is_none_or(|_| to - from <= 5)
    }

    /// End of the name of a site at the start of the name, with its separators.
    fn site_from(&self, at: usize) -> Option<usize> {
        let text = &self.text;
        let begin = text.skip(at, " ._-");
        if let Some(bracket) = text.brackets.first().filter(|bracket| bracket.open == begin) {
            let is_site = bracket.close < text.len() && self.is_site(bracket.open + 1, bracket.close);
            return is_site.then(|| text.skip(bracket.close + 1, " ._-"));
        }
        let is_www = matches!(text.low(begin), "www" | "ww");
        let mut end = begin + 1;
        while end < text.len()
            && end < begin + 12
            && !text.mark(end).is_some_and(|mark| " _-/".contains(mark))
        {
            end += 1;
        }
        let known = DOMAINS.contains(&text.low(end - 1)) && text.mark(end.checked_sub(2)?) == Some('.');
        let common = known && matches!(text.low(end - 1), "com" | "net" | "org") && end - begin <= 5;
        let is_site = (is_www && known) || (common && text.mark(end).is_some());
        is_site.then(|| text.skip(end, " ._-"))
    }

    /// `[Group] Title`: the group, unless the bracket holds known words, a number of an episode, or everything.
    fn find_lead(&mut self) {
        let text = &self.text;
        let begin = text.skip(self.lead, " ._");
        let Some(bracket) = text
            .brackets
            .iter()
            .find(|bracket| bracket.open == begin)
            .copied()
            .filter(|bracket| text.mark(bracket.open) == Some('[') && bracket.close < text.len())
        else {
            self.lead = self.after_number(begin);
            self.dated = self.lead > begin;
            if let Some(dash) = self.after_scene_group(begin) {
                self.scene_group = Some((begin, dash));
                self.lead = dash + 1;
            }
            return;
        };
        let inner = (bracket.open + 1, bracket.close);
        let rest = text.skip(bracket.close + 1, " ._-");
        let words: Vec<usize> = (inner.0..inner.1).filter(|at| text.is_word(*at)).collect();
        let all_known = words.iter().all(|at| self.marks.word_at(*at).is_some());
        let is_quality = (all_known && !words.is_empty())
            || words.iter().filter_map(|at| self.marks.word_at(*at)).any(|word| {
                word.trust() == Trust::Always
                    && matches!(word.field(), Field::Resolution | Field::Source | Field::Codec)
            });
        if inner.0 >= inner.1 || is_quality || rest >= self.end {
            self.lead = begin;
            return;
        }
        self.lead_group = Some(inner);
        self.lead = rest;
    }

    /// `221208 Title`: skips a date in front of the name, as recorders write it.
    fn after_number(&self, at: usize) -> usize {
        let text = &self.text;
        let is_day = text.kind(at) == Some(Kind::Number)
            && text.low(at).len() == 6
            && text
                .number(at)
                .is_some_and(|day| (1..=12).contains(&(day / 100 % 100)) && (1..=31).contains(&(day % 100)));
        let next = text.skip(at + 1, " ");
        if is_day && next > at + 1 && text.is_word(next) {
            next
        } else {
            at
        }
    }

    /// The dash behind the group at the start of a scene file name: small letters, the group in front, and
    /// nothing behind the known words.
    fn after_scene_group(&self, begin: usize) -> Option<usize> {
        let text = &self.text;
        let dash = (begin..self.end.min(begin + 5)).find(|at| text.kind(*at) == Some(Kind::Mark))?;
        let last = self.marks.word_at(self.end.checked_sub(1)?)?;
        let is_group = text.mark(dash) == Some('-')
            && (3..=9).contains(&text.raw(begin, dash).len())
            && (begin..dash).any(|at| text.kind(at) == Some(Kind::Latin))
            && self.marks.word_at(begin).is_none()
            && text.is_plain_word(dash + 1)
            && ![begin, dash + 1]
                .iter()
                .any(|at| HYPHENATED.contains(&text.low(*at)));
        let is_known = last.trust() == Trust::Always
            && matches!(last.field(), Field::Codec | Field::Source | Field::Resolution);
        let separators = (dash + 1..last.start).filter_map(|at| text.mark(at));
        let dotted = separators.clone().all(|mark| mark == '.') && separators.count() >= 3;
        let small = !text.raw.bytes().any(|byte| byte.is_ascii_uppercase());
        (is_group && is_known && dotted && small).then_some(dash)
    }

    fn find_traits(&mut self) {
        let (text, marks) = (&self.text, &self.marks);
        let has = |wanted: &dyn Fn(&Word) -> bool| marks.words.iter().any(wanted);
        let numbers = (0..text.len()).filter(|at| text.kind(*at) == Some(Kind::Number));
        let separators = (0..text.len()).any(|at| text.kind(at) == Some(Kind::Mark));
        self.traits = Traits {
            television: has(&|word| word.field() == Field::Source && word.value() == TELEVISION),
            year: numbers.clone().any(|at| self.is_year(at)),
            fans: has(&|word| word.field() == Field::Version || word.value() == "VOSTFR")
                || text
                    .brackets
                    .iter()
                    .any(|bracket| self.is_checksum(bracket.open + 1, bracket.close)),
            event: has(&|word| word.field() == Field::Event),
            bare: marks.words.is_empty(),
            opaque: !separators && text.len() >= 8,
        };
    }

    /// True for eight hexadecimal digits, at least one of them a decimal digit.
    pub(crate) fn is_checksum(&self, from: usize, to: usize) -> bool {
        let written = self.text.raw(from, to).trim();
        written.len() == 8
            && written.bytes().all(|byte| byte.is_ascii_hexdigit())
            && written.bytes().any(|byte| byte.is_ascii_digit())
    }

    /// True for a separate number that can be a year.
    pub(crate) fn is_year(&self, at: usize) -> bool {
        let in_brackets =
            self.text.mark(at.wrapping_sub(1)) == Some('(') && self.text.mark(at + 1) == Some(')');
        let oldest = if in_brackets { 1850 } else { 1900 };
        self.text.low(at).len() == 4
            && self
                .text
                .number(at)
                .is_some_and(|year| (oldest..2100).contains(&year))
            && self.marks.word_at(at).is_none()
            && !self.text.joined_before(at)
            && !self.text.is_plain_word(at + 1)
    }

    /// `x265 10bit S82 Name`: true for the quality grade of an encoder, within a bracket and behind the
    /// codec.
    pub(crate) fn is_grade(&self, at: usize) -> bool {
        let text = &self.text;
        let before = text.skip_back(at, " ._-,").checked_sub(1);
        let encoded = before
            .and_then(|before| self.marks.word_at(before))
            .is_some_and(|word| {
                matches!(
                    word.field(),
                    Field::Codec | Field::Depth | Field::Audio | Field::Channels | Field::Hdr
                )
            });
        let high = text.low(at + 1).len() == 2 && text.number(at + 1).is_some_and(|grade| grade >= 50);
        let inside = text.atoms.get(at).is_some_and(|atom| atom.bracket > 0);
        encoded && high && inside && text.low(at) == "s" && !text.is_plain_word(at + 2)
    }

    /// True when only separators stand between.
    pub(crate) fn is_gap(&self, from: usize, to: usize) -> bool {
        from <= to && self.text.skip(from, " ._-()[]") >= to
    }
}
