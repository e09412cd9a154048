//! Matches: known words, and numbers in known forms, wherever they occur in a name.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::LazyLock;

use crate::lex::{Kind, Text};
use crate::pattern::{self, Numbers, Place, Step, Steps};
use crate::rules::{self, LIST, MORE, Means, RANGE, RULES, Rule};
use crate::words::{Field, ROWS, Row, Trust};

/// A known word at its place in the name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Word {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) row: &'static Row,
    /// Index of the row in its table.
    pub(crate) order: usize,
}

impl Word {
    pub(crate) fn field(&self) -> Field {
        self.row.0
    }

    pub(crate) fn value(&self) -> &'static str {
        self.row.1
    }

    pub(crate) fn trust(&self) -> Trust {
        self.row.2
    }
}

/// Numbers in a known form.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Found {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) rule: &'static Rule,
    pub(crate) rank: usize,
    pub(crate) numbers: Numbers,
}

/// Element of a phrase.
enum Piece {
    Word(String),
    /// An optional separator.
    Maybe,
    /// Exactly one separator.
    One,
    Sign(char),
}

struct Phrase {
    pieces: Vec<Piece>,
    order: usize,
}

struct Compiled {
    steps: Vec<Step>,
    rank: usize,
}

/// Index of a rule, and the kinds of atoms that its second element accepts.
#[derive(Clone, Copy)]
struct Entry {
    rank: usize,
    second: u8,
}

/// Hasher of words. The table is a constant of our own, so nobody can provoke collisions.
#[derive(Default)]
struct Mix(u64);

impl Hasher for Mix {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0.rotate_left(5) ^ u64::from(*byte)).wrapping_mul(0x517c_c1b7_2722_0a95);
        }
    }
}

type Table<K, V> = HashMap<K, V, BuildHasherDefault<Mix>>;

/// The tables, by the first atom of their entries.
struct Index {
    words: Table<&'static str, Begin>,
    /// Rules that begin with a number.
    numbers: Vec<Entry>,
    /// Rules that begin with a character.
    signs: Table<char, Vec<Entry>>,
    /// Rules that begin at the start of the name.
    start: Vec<Entry>,
    phrases: Vec<Phrase>,
    rules: Vec<Compiled>,
}

#[derive(Default)]
struct Begin {
    phrases: Vec<usize>,
    rules: Vec<Entry>,
}

static INDEX: LazyLock<Index> = LazyLock::new(Index::new);
static TAILS: LazyLock<Vec<Vec<Step>>> =
    LazyLock::new(|| MORE.iter().map(|more| pattern::compile(more.pattern)).collect());

impl Index {
    fn new() -> Self {
        let mut index = Self {
            words: Table::default(),
            numbers: Vec::new(),
            signs: Table::default(),
            start: Vec::new(),
            phrases: Vec::new(),
            rules: Vec::new(),
        };
        index.add_phrases();
        for (rank, rule) in RULES.iter().enumerate() {
            index.add_rule(rank, pattern::compile(rule.pattern));
        }
        index
    }

    fn add_phrases(&mut self) {
        for (order, row) in ROWS.iter().enumerate() {
            for written in row.3.split(' ').filter(|phrase| !phrase.is_empty()) {
                let first = Text::new(written).low(0).len();
                let place = self.phrases.len();
                self.phrases.push(Phrase {
                    pieces: pieces(written),
                    order,
                });
                self.words
                    .entry(&written[..first])
                    .or_default()
                    .phrases
                    .push(place);
            }
        }
        let Self { words, phrases, .. } = self;
        for begin in words.values_mut() {
            // The longest first; of equals the row that comes first.
            begin.phrases.sort_by_key(|place| {
                let phrase = &phrases[*place];
                (std::cmp::Reverse(phrase.pieces.len()), phrase.order)
            });
        }
    }

    fn add_rule(&mut self, rank: usize, steps: Vec<Step>) {
        let second = pattern::takes(steps.get(1..).unwrap_or_default());
        let entry = Entry { rank, second };
        match steps.first() {
            Some(Step::Words(words)) => {
                for word in words {
                    self.words.entry(word).or_default().rules.push(entry);
                }
            }
            Some(Step::Season) => {
                for word in crate::words::HAN_SEASONS {
                    self.words.entry(word).or_default().rules.push(entry);
                }
            }
            Some(Step::Month) => {
                for word in crate::words::MONTHS {
                    self.words.entry(word).or_default().rules.push(entry);
                }
            }
            Some(Step::Number { .. }) => self.numbers.push(entry),
            Some(Step::One(chars)) => {
                for sign in chars.chars() {
                    self.signs.entry(sign).or_default().push(entry);
                }
            }
            _ => self.start.push(entry),
        }
        self.rules.push(Compiled { steps, rank });
    }
}

fn pieces(written: &str) -> Vec<Piece> {
    let text = Text::new(written);
    (0..text.len())
        .map(|at| match text.mark(at) {
            Some('.') => Piece::Maybe,
            Some('_') => Piece::One,
            Some(sign) => Piece::Sign(sign),
            None => Piece::Word(text.low(at).to_owned()),
        })
        .collect()
}

const SEPARATORS: &str = " ._-'’";

impl Phrase {
    fn matches(&self, text: &Text<'_>, mut at: usize, count: &mut Steps) -> Option<usize> {
        for piece in &self.pieces {
            *count += 1;
            let mark = text.mark(at);
            match piece {
                Piece::Word(word) if text.low(at) == word => at += 1,
                Piece::Maybe => at += usize::from(mark.is_some_and(|mark| SEPARATORS.contains(mark))),
                Piece::One if mark.is_some_and(|mark| SEPARATORS.contains(mark)) => at += 1,
                Piece::Sign(sign) if mark == Some(*sign) => at += 1,
                _ => return None,
            }
        }
        Some(at)
    }
}

/// All matches in a name.
pub(crate) struct Marks {
    pub(crate) words: Vec<Word>,
    pub(crate) found: Vec<Found>,
    /// Per atom, the number of the word that covers it, from one; the highest value marks a checksum.
    cover: Vec<u32>,
    /// Per atom, true when a season ends before it.
    season_ends: Vec<bool>,
    /// Per atom, true within a single season.
    seasons: Vec<bool>,
    /// Per atom, true within several seasons.
    several: Vec<bool>,
    /// Per atom, true within a likely date.
    dates: Vec<bool>,
}

impl Marks {
    pub(crate) fn find(text: &Text<'_>, count: &mut Steps) -> Self {
        let mut marks = Self {
            words: Vec::with_capacity(16),
            found: Vec::with_capacity(8),
            cover: vec![0; text.len()],
            season_ends: vec![false; text.len() + 1],
            seasons: vec![false; text.len()],
            several: vec![false; text.len()],
            dates: vec![false; text.len()],
        };
        marks.leave_checksums(text);
        marks.find_words(text, count);
        marks.find_numbers(text, count);
        marks
    }

    /// The known word that covers an atom.
    pub(crate) fn word_at(&self, at: usize) -> Option<&Word> {
        let number = *self.cover.get(at)? as usize;
        number.checked_sub(1).and_then(|index| self.words.get(index))
    }

    pub(crate) fn ends_season(&self, at: usize) -> bool {
        self.season_ends.get(at).copied().unwrap_or_default()
    }

    /// True when this part of the name overlaps a single season.
    pub(crate) fn in_season(&self, start: usize, end: usize) -> bool {
        self.seasons[start..end].contains(&true)
    }

    /// True when this part of the name overlaps several seasons.
    pub(crate) fn in_seasons(&self, start: usize, end: usize) -> bool {
        self.several[start..end].contains(&true)
    }

    /// True when this part of the name overlaps a likely date.
    pub(crate) fn in_date(&self, start: usize, end: usize) -> bool {
        self.dates[start..end].contains(&true)
    }

    /// `[1930E512]`: words and numbers within a checksum are ignored.
    fn leave_checksums(&mut self, text: &Text<'_>) {
        for bracket in &text.brackets {
            let end = bracket.close.min(text.len());
            let written = text.raw(bracket.open + 1, end).as_bytes();
            let letters = written.iter().any(u8::is_ascii_alphabetic);
            if written.len() == 8 && letters && written.iter().all(u8::is_ascii_hexdigit) {
                let digits = written.iter().any(u8::is_ascii_digit);
                self.cover[bracket.open + 1..end].fill(if digits { u32::MAX } else { 0 });
            }
        }
    }

    fn find_words(&mut self, text: &Text<'_>, count: &mut Steps) {
        let mut at = 0;
        while at < text.len() {
            at = self.word_from(text, at, count).unwrap_or(at + 1);
        }
    }

    fn add(&mut self, start: usize, end: usize, order: usize) {
        self.words.push(Word {
            start,
            end,
            row: &ROWS[order],
            order,
        });
        let number = self.words.len() as u32;
        self.cover[start..end].fill(number);
    }

    /// Matches the longest phrase that begins here; returns its end.
    fn word_from(&mut self, text: &Text<'_>, at: usize, count: &mut Steps) -> Option<usize> {
        *count += 1;
        if !text.is_word(at) || self.cover[at] != 0 {
            return None;
        }
        if let Some(end) = self.broadcast(text, at) {
            return Some(end);
        }
        // Behind a number only a unit of that number, or the continuation of a known word.
        let joined = text.joined_before(at) && !self.continues(text, at);
        if let Some(end) = size(text, at) {
            let order = Self::sized(text, at, end);
            if let Some(order) = order {
                self.add(at, end, order);
                return Some(end);
            }
        }
        let Some(begin) = INDEX.words.get(text.low(at)) else {
            return if joined { None } else { self.of_service(text, at) };
        };
        let of_marker = joined && is_behind_marker(text, at);
        for place in &begin.phrases {
            let phrase = &INDEX.phrases[*place];
            let row = &ROWS[phrase.order];
            let few = joined && text.number(at - 1).is_some_and(|number| number < 100);
            let counted = few && matches!(text.low(at), "xdvd" | "xdvd5" | "xdvd9" | "dvd");
            let glued = of_marker && row.2 != Trust::Beside && row.0 != Field::Version;
            if joined && !counted && !glued {
                continue;
            }
            if let Some(end) = phrase
                .matches(text, at, count)
                .filter(|end| closes(text, *end, row))
            {
                self.add(at, end, phrase.order);
                let end = self.lines(text, end, row);
                return Some(self.channels(text, end, row));
            }
        }
        None
    }

    /// True when the text continues a known word without a separator: `1080pWEBDL`, `4Kto1080p`.
    fn continues(&self, text: &Text<'_>, at: usize) -> bool {
        let known = |at: Option<usize>| at.is_some_and(|at| self.word_at(at).is_some());
        let before = at.checked_sub(1);
        known(before) || (before.is_some_and(|at| text.low(at) == "to") && known(at.checked_sub(2)))
    }

    /// `10月新番`, `2026年4月新番`, `七月新番`: month of the first broadcast, which every show of that season has.
    fn broadcast(&mut self, text: &Text<'_>, at: usize) -> Option<usize> {
        let ends = |at: usize| {
            let word = text.low(at);
            text.kind(at) == Some(Kind::Script) && word.contains('月') && word.ends_with('番')
        };
        let is_month = |at: usize| {
            text.number(at).is_some_and(|month| (1..=12).contains(&month))
                && text.low(at + 1).starts_with('月')
        };
        let dated = text.low(at).len() == 4 && text.low(at + 1) == "年";
        let month = if dated { at + 2 } else { at };
        let end = match text.kind(month)? {
            Kind::Number if is_month(month) && ends(month + 1) => month + 2,
            Kind::Script if ends(month) && !text.low(month).starts_with('月') => month + 1,
            _ => return None,
        };
        let order = ROWS
            .iter()
            .position(|row| row.0 == Field::Noise && row.2 == Trust::Behind)?;
        self.add(at, end, order);
        Some(end)
    }

    /// `HBOMaxHD`: the streaming service at the start of the word.
    fn of_service(&mut self, text: &Text<'_>, at: usize) -> Option<usize> {
        let word = text.low(at);
        let stem = word
            .strip_suffix("uhd")
            .or_else(|| word.strip_suffix("hd"))
            .or_else(|| word.strip_suffix("sd"))?;
        let is_service = |place: &&usize| {
            let phrase = &INDEX.phrases[**place];
            let row = &ROWS[phrase.order];
            phrase.pieces.len() == 1 && row.0 == Field::Service && row.2 == Trust::Behind
        };
        let service = INDEX.words.get(stem)?.phrases.iter().find(is_service)?;
        let source = ROWS
            .iter()
            .position(|row| row.0 == Field::Source && row.1 == "WEB-DL")?;
        if text.is_plain_word(at + 1) || stem.len() < 4 {
            return None;
        }
        self.add(at, at + 1, INDEX.phrases[*service].order);
        self.add(at, at + 1, source);
        Some(at + 1)
    }

    /// `BD1080`: the number of lines behind the name of a source.
    fn lines(&mut self, text: &Text<'_>, end: usize, row: &Row) -> usize {
        if row.0 != Field::Source || !is_lines(text, end) || text.is_plain_word(end + 1) {
            return end;
        }
        let lines = text.low(end);
        let order = ROWS.iter().position(|row| {
            row.0 == Field::Resolution && row.1.strip_suffix('p') == Some(lines) && row.2 == Trust::Always
        });
        let Some(order) = order else {
            return end;
        };
        self.add(end, end + 1, order);
        end + 1
    }

    /// `1280x720`: the row of that resolution.
    fn sized(text: &Text<'_>, at: usize, end: usize) -> Option<usize> {
        let (width, height) = (
            text.number(at)?,
            text.number(end - 1).or_else(|| text.number(end - 2))?,
        );
        let value = resolution_of(width, height);
        ROWS.iter()
            .position(|row| row.0 == Field::Resolution && row.1 == value)
    }

    /// `DD5.1`, `AAC 2 0`: the number of channels behind the name of a sound format.
    fn channels(&mut self, text: &Text<'_>, end: usize, row: &Row) -> usize {
        if row.0 != Field::Audio {
            return end;
        }
        let first = text.skip(end, " ._-");
        if first - end > 2 || text.kind(first) != Some(Kind::Number) {
            return end;
        }
        let digits = text.low(first);
        let (value, last) = if digits.len() == 2 {
            (digits.to_owned(), first + 1)
        } else if digits.len() == 1
            && text.mark(first + 1).is_some_and(|mark| " ._".contains(mark))
            && text.low(first + 2).len() == 1
            && !matches!(text.kind(first + 3), Some(Kind::Number))
        {
            (format!("{digits}{}", text.low(first + 2)), first + 3)
        } else {
            return end;
        };
        let wanted = match value.as_str() {
            "71" => "7.1",
            "51" | "60" => "5.1",
            "21" => "2.1",
            "20" => "2.0",
            "10" => "1.0",
            _ => return end,
        };
        let place = ROWS
            .iter()
            .position(|row| row.0 == Field::Channels && row.1 == wanted);
        if let Some(order) = place {
            self.add(first, last, order);
            return last;
        }
        end
    }

    fn find_numbers(&mut self, text: &Text<'_>, count: &mut Steps) {
        for at in 0..text.len() {
            if at == 0 {
                for entry in &INDEX.start {
                    self.try_rule(text, entry.rank, at, count);
                }
            }
            let rules: &[Entry] = match text.kind(at) {
                Some(Kind::Number) => &INDEX.numbers,
                Some(Kind::Mark) => {
                    let sign = text.mark(at).and_then(|sign| INDEX.signs.get(&sign));
                    sign.map_or(&[], Vec::as_slice)
                }
                _ => INDEX.words.get(text.low(at)).map_or(&[], |begin| &begin.rules),
            };
            let next = pattern::kind_bit(text.kind(at + 1));
            for entry in rules {
                *count += 1;
                if entry.second & next != 0 {
                    self.try_rule(text, entry.rank, at, count);
                }
            }
        }
    }

    fn place<'t, 'n>(&'t self, text: &'t Text<'n>) -> Place<'t, 'n> {
        Place {
            text,
            cover: &self.cover,
            words: &self.words,
        }
    }

    fn try_rule(&mut self, text: &Text<'_>, rank: usize, at: usize, count: &mut Steps) {
        *count += 1;
        let compiled = &INDEX.rules[rank];
        let rule = &RULES[compiled.rank];
        if text.is_word(at) {
            let covered = self.word_at(at).is_some();
            if covered || (rule.when & rules::GLUED == 0 && text.joined_before(at)) {
                return;
            }
        }
        let Some((end, numbers)) = pattern::matches(&compiled.steps, &self.place(text), at, count) else {
            return;
        };
        // A word that continues behind it, or a known word in it, means something else.
        let runs_on = end > 0 && text.is_word(end - 1) && text.is_plain_word(end);
        let may = rule.when & rules::OPEN != 0 && text.kind(end) == Some(Kind::Latin);
        if runs_on && !may {
            return;
        }
        if rule.means == Means::Season {
            self.season_ends[end] = true;
            // `Season 2 - 05` looks like several and may be an episode.
            let several = rule.name == LIST || (rule.name == RANGE && rules::is_range(rule, &numbers, b'T'));
            if several {
                self.several[at..end].fill(true);
            }
            if numbers.get(b'T').is_none() {
                self.seasons[at..end].fill(true);
            }
        }
        // Two digits are not enough for a date.
        if rule.means == Means::Date && looks_like_date(text, at, rule, &numbers) {
            let digits = (at..end).filter(|at| text.is_word(*at));
            for at in digits {
                self.dates[at] = true;
            }
        }
        self.found.push(Found {
            start: at,
            end,
            rule,
            rank,
            numbers,
        });
    }

    /// Continuations of the marker that ends here: the end, the numbers, and the rule.
    pub(crate) fn more<'t>(
        &'t self,
        text: &'t Text<'_>,
        at: usize,
        count: &'t mut Steps,
    ) -> impl Iterator<Item = (usize, Numbers, &'static rules::More)> {
        let tails = MORE.iter().zip(TAILS.iter());
        tails.filter_map(move |(more, steps)| {
            let (end, numbers) = pattern::matches(steps, &self.place(text), at, count)?;
            let cut = text.kind(end - 1) == Some(Kind::Number) && text.kind(end) == Some(Kind::Number);
            (!cut).then_some((end, numbers, more))
        })
    }
}

/// True for day and month in either order with a plausible year.
fn looks_like_date(text: &Text<'_>, at: usize, rule: &Rule, numbers: &Numbers) -> bool {
    let same = rule.pattern.contains("month") || text.mark(at + 1) == text.mark(at + 3);
    let value = |letter| numbers.value(letter).unwrap_or(1);
    let year = numbers
        .get(b'Y')
        .is_some_and(|year| year.digits == 4 && (1900..2100).contains(&year.value));
    let (month, day) = (value(b'M'), value(b'D'));
    let days = (1..=31).contains(&day) && (1..=31).contains(&month) && (day <= 12 || month <= 12);
    rule.name.starts_with("date") && year && days && same
}

fn is_lines(text: &Text<'_>, at: usize) -> bool {
    matches!(text.low(at), "480" | "576" | "720" | "1080" | "2160")
}

/// `S01Extras`, `S01E02German`: right behind the marker of a season or an episode.
fn is_behind_marker(text: &Text<'_>, at: usize) -> bool {
    let Some(letter) = at.checked_sub(2) else {
        return false;
    };
    let begins = match text.low(letter) {
        "s" => !text.joined_before(letter),
        "e" => letter
            .checked_sub(1)
            .is_some_and(|season| text.number(season).is_some()),
        _ => false,
    };
    begins && text.kind(at) == Some(Kind::Latin) && text.number(at - 1).is_some()
}

/// True when a phrase may end here: no letter continues it, and a number only follows words that numbers may
/// follow.
fn closes(text: &Text<'_>, end: usize, row: &Row) -> bool {
    // `Complete Series 1-7`: the word is followed by the seasons.
    if row.0 == Field::Whole && text.low(end - 1) == "series" {
        let next = text.skip(end, " ._");
        return text.kind(next) != Some(Kind::Number) || text.low(next).len() > 2;
    }
    match (text.kind(end - 1), text.kind(end)) {
        (Some(Kind::Latin), Some(Kind::Number)) => {
            let counted = matches!(
                row.0,
                Field::Audio | Field::Resolution | Field::Source | Field::Codec | Field::Depth
            );
            let source = row.0 == Field::Source && is_lines(text, end);
            // `DTS x265`: the letter belongs to the codec.
            let cut = text.low(end - 1) == "x" && row.0 == Field::Audio;
            counted && !cut && (row.2 != Trust::Beside || source)
        }
        (Some(Kind::Latin | Kind::Number), Some(Kind::Latin)) => {
            row.0 == Field::Resolution
                || text.is_cut(end)
                || (row.0 == Field::Codec && begins_sound(text, end))
        }
        (Some(Kind::Number), Some(Kind::Number)) => false,
        _ => true,
    }
}

/// `H264AAC`: true when the name of a sound format begins here.
fn begins_sound(text: &Text<'_>, at: usize) -> bool {
    INDEX.words.get(text.low(at)).is_some_and(|begin| {
        let orders = begin.phrases.iter().map(|place| INDEX.phrases[*place].order);
        orders
            .map(|order| &ROWS[order])
            .any(|row| row.0 == Field::Audio && row.2 != Trust::Beside)
    })
}

/// `1280x720`, `1440x1080p`: end of the dimensions.
fn size(text: &Text<'_>, at: usize) -> Option<usize> {
    if !text.number(at).is_some_and(|width| (320..=7680).contains(&width)) {
        return None;
    }
    let spaced = usize::from(text.mark(at + 1) == Some(' '));
    let sign = at + 1 + spaced;
    let height = sign + 1 + spaced;
    let is_size = matches!(text.low(sign), "x" | "×" | "*" | "х")
        && text
            .number(height)
            .is_some_and(|height| (240..=4320).contains(&height));
    if !is_size {
        return None;
    }
    let end = height + 1;
    Some(if matches!(text.low(end), "p" | "i") {
        end + 1
    } else {
        end
    })
}

/// The standard resolution for these dimensions.
fn resolution_of(width: u32, height: u32) -> &'static str {
    match (width, height) {
        (3000.., _) => "2160p",
        (1800.., _) | (_, 1000..=1200) => "1080p",
        (1200.., _) | (_, 700..=800) => "720p",
        (_, 560..=600) => "576p",
        (_, 460..=500) => "480p",
        (640.., _) => "480p",
        _ => "360p",
    }
}
