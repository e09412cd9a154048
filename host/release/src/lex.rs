//! Lexer: splits a name into atoms, which are runs of letters, runs of digits, and single other characters.

use std::borrow::Cow;

use crate::words::LINES_BACKWARDS;

/// Kind of an atom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Latin letters.
    Latin,
    /// Letters of any other script; such words may touch numbers and markers without a separator.
    Script,
    Number,
    /// A space, a dot, a bracket: one character.
    Mark,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Atom {
    /// Start in bytes of the name.
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) kind: Kind,
    /// The character of a mark; `\0` for words and numbers.
    sign: char,
    /// True when it was cut off the word before it.
    is_cut: bool,
    /// Number of the outermost bracket around it, brackets included, counted from one; zero outside.
    pub(crate) bracket: usize,
}

/// An outermost bracket, by indices of atoms.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bracket {
    pub(crate) open: usize,
    /// Its closing atom, or the number of atoms when it is never closed.
    pub(crate) close: usize,
}

/// A name, split into atoms.
#[derive(Debug)]
pub(crate) struct Text<'n> {
    pub(crate) raw: Cow<'n, str>,
    /// `raw` in lower case, byte for byte.
    low: String,
    pub(crate) atoms: Vec<Atom>,
    pub(crate) brackets: Vec<Bracket>,
}

impl<'n> Text<'n> {
    pub(crate) fn new(name: &'n str) -> Self {
        Self::from_name(plain(name))
    }

    /// Splits a name whose words are separated by plus signs, as in addresses.
    pub(crate) fn of_address(name: &str) -> Self {
        Self::from_name(Cow::Owned(plain(name).replace('+', " ")))
    }

    /// The name spelled backwards.
    pub(crate) fn reversed(&self) -> Self {
        Self::from_name(Cow::Owned(self.raw.chars().rev().collect()))
    }

    /// `p0801.10E20S`: true when a marker of an episode or a resolution is written backwards.
    pub(crate) fn is_backwards(&self) -> bool {
        (1..self.len()).any(|at| match self.low(at) {
            "s" => {
                at >= 3
                    && self.number(at - 1).is_some()
                    && self.low(at - 1).len() == 2
                    && self.low(at - 2) == "e"
                    && self.number(at - 3).is_some()
                    && self.low(at - 3).len() >= 2
                    && !self.joined_before(at - 3)
                    && !self.is_plain_word(at + 1)
            }
            lines if LINES_BACKWARDS.contains(&lines) => {
                self.low(at - 1) == "p" && !self.joined_before(at - 1) && !self.is_plain_word(at + 1)
            }
            _ => false,
        })
    }

    fn from_name(raw: Cow<'n, str>) -> Self {
        let low = lower(&raw);
        let atoms = atoms(&raw);
        let mut text = Self {
            raw,
            low,
            atoms,
            brackets: Vec::new(),
        };
        text.find_brackets();
        text
    }

    pub(crate) fn len(&self) -> usize {
        self.atoms.len()
    }

    /// The atom in lower case.
    pub(crate) fn low(&self, at: usize) -> &str {
        self.atoms
            .get(at)
            .map_or("", |atom| &self.low[atom.start..atom.end])
    }

    pub(crate) fn kind(&self, at: usize) -> Option<Kind> {
        self.atoms.get(at).map(|atom| atom.kind)
    }

    /// The character of an atom that is neither word nor number.
    pub(crate) fn mark(&self, at: usize) -> Option<char> {
        let atom = self.atoms.get(at)?;
        (atom.kind == Kind::Mark).then_some(atom.sign)
    }

    /// The atoms as they are written.
    pub(crate) fn raw(&self, from: usize, to: usize) -> &str {
        match (
            self.atoms.get(from),
            to.checked_sub(1).and_then(|last| self.atoms.get(last)),
        ) {
            (Some(first), Some(last)) if from < to => &self.raw[first.start..last.end],
            _ => "",
        }
    }

    /// True when the atom was cut off the word before it.
    pub(crate) fn is_cut(&self, at: usize) -> bool {
        self.atoms.get(at).is_some_and(|atom| atom.is_cut)
    }

    /// True when a Latin letter or a digit stands right before this atom.
    pub(crate) fn joined_before(&self, at: usize) -> bool {
        !self.is_cut(at)
            && at
                .checked_sub(1)
                .is_some_and(|before| matches!(self.kind(before), Some(Kind::Latin | Kind::Number)))
    }

    /// True for a Latin word or a number.
    pub(crate) fn is_plain_word(&self, at: usize) -> bool {
        matches!(self.kind(at), Some(Kind::Latin | Kind::Number))
    }

    /// True for any word or number.
    pub(crate) fn is_word(&self, at: usize) -> bool {
        self.kind(at).is_some_and(|kind| kind != Kind::Mark)
    }

    /// Value of a number atom of at most nine digits.
    pub(crate) fn number(&self, at: usize) -> Option<u32> {
        match self.kind(at) {
            Some(Kind::Number) if self.low(at).len() <= 9 => self.low(at).parse().ok(),
            _ => None,
        }
    }

    /// The first atom from `at` that is none of these separators.
    pub(crate) fn skip(&self, mut at: usize, separators: &str) -> usize {
        while self.mark(at).is_some_and(|mark| separators.contains(mark)) {
            at += 1;
        }
        at
    }

    /// Backwards: the place after the last atom that is none of these separators.
    pub(crate) fn skip_back(&self, mut end: usize, separators: &str) -> usize {
        while end > 0 && self.mark(end - 1).is_some_and(|mark| separators.contains(mark)) {
            end -= 1;
        }
        end
    }

    fn find_brackets(&mut self) {
        let (mut depth, mut begin) = (0_usize, 0);
        for at in 0..self.atoms.len() {
            match self.mark(at) {
                Some('[' | '(' | '{') => {
                    if depth == 0 {
                        begin = at;
                        self.brackets.push(Bracket {
                            open: at,
                            close: self.atoms.len(),
                        });
                    }
                    depth += 1;
                }
                Some(']' | ')' | '}') if depth > 0 => {
                    depth -= 1;
                    // Square brackets do not nest in names: this one closes the outermost.
                    if self.mark(at) == Some(']')
                        && self.mark(begin) == Some('[')
                        && !self.reopened(begin, at)
                    {
                        depth = 0;
                    }
                    self.atoms[at].bracket = self.brackets.len();
                    if depth == 0
                        && let Some(bracket) = self.brackets.last_mut()
                    {
                        bracket.close = at;
                    }
                }
                _ => {}
            }
            if depth > 0 {
                self.atoms[at].bracket = self.brackets.len();
            }
        }
    }

    /// True when a second square bracket opens shortly after `begin`.
    fn reopened(&self, begin: usize, at: usize) -> bool {
        (begin + 1..at.min(begin + 4)).any(|inner| self.mark(inner) == Some('['))
    }
}

/// Replaces full-width digits and brackets, and dashes of every length, by their ASCII forms.
fn plain(name: &str) -> Cow<'_, str> {
    if name.is_ascii() {
        return Cow::Borrowed(name);
    }
    let plain = |c: char| match c {
        '０'..='９' => char::from(b'0' + (c as u32 - '０' as u32) as u8),
        '【' | '［' | '「' | '『' => '[',
        '】' | '］' | '」' | '』' => ']',
        '（' => '(',
        '）' => ')',
        '～' | '〜' => '~',
        '–' | '—' | '−' => '-',
        '：' => ':',
        '\u{a0}' | '\u{3000}' => ' ',
        other => other,
    };
    Cow::Owned(name.chars().map(plain).collect())
}

/// Lower case with the same number of bytes: other letters stay.
fn lower(raw: &str) -> String {
    if raw.is_ascii() {
        return raw.to_ascii_lowercase();
    }
    raw.chars()
        .map(|c| {
            let mut lower = c.to_lowercase();
            match (lower.next(), lower.next()) {
                (Some(only), None) if only.len_utf8() == c.len_utf8() => only,
                _ => c,
            }
        })
        .collect()
}

fn kind_of(c: char) -> Kind {
    match c {
        '0'..='9' => Kind::Number,
        'a'..='z' | 'A'..='Z' => Kind::Latin,
        '\0'..='\u{7f}' => Kind::Mark,
        // Ordinal signs are letters to Unicode, and separate numbers from words here.
        'ª' | 'º' => Kind::Mark,
        '\u{80}'..='\u{24f}' | '\u{1e00}'..='\u{1eff}' if c.is_alphabetic() => Kind::Latin,
        '\u{300}'..='\u{36f}' => Kind::Latin,
        _ if c.is_alphabetic() => Kind::Script,
        _ => Kind::Mark,
    }
}

fn atoms(raw: &str) -> Vec<Atom> {
    let mut atoms: Vec<Atom> = Vec::with_capacity(raw.len() / 3 + 4);
    for (start, c) in raw.char_indices() {
        let (kind, end) = (kind_of(c), start + c.len_utf8());
        let codec = kind == Kind::Latin && begins_codec(raw, &atoms, start);
        let lines = match kind {
            Kind::Latin => codec || ends_lines(raw, &atoms),
            Kind::Script => begins_counter(raw, &atoms, start, c),
            Kind::Number | Kind::Mark => false,
        };
        match atoms.last_mut() {
            Some(last) if last.kind == kind && kind != Kind::Mark && !lines => last.end = end,
            _ => {
                if kind == Kind::Number {
                    part_marker(raw, &mut atoms);
                }
                atoms.push(Atom {
                    start,
                    end,
                    kind,
                    sign: if kind == Kind::Mark { c } else { '\0' },
                    is_cut: codec,
                    bracket: 0,
                });
            }
        }
    }
    atoms
}

/// `DVDRipXviD`: true where the name of a codec ends the word.
fn begins_codec(raw: &str, atoms: &[Atom], start: usize) -> bool {
    let bytes = raw.as_bytes();
    // This runs for every letter.
    if !matches!(bytes[start], b'x' | b'X' | b'd' | b'D' | b'h' | b'H') {
        return false;
    }
    let named = bytes.get(start..start + 4).is_some_and(|word| {
        word.eq_ignore_ascii_case(b"xvid")
            || word.eq_ignore_ascii_case(b"divx")
            || word.eq_ignore_ascii_case(b"hevc")
    });
    let ends = !bytes.get(start + 4).is_some_and(u8::is_ascii_alphabetic);
    named
        && ends
        && atoms.last().is_some_and(|word| {
            let stem = &bytes[word.start..word.end];
            word.kind == Kind::Latin
                && word.end == start
                && (stem.len() > 2 || stem.eq_ignore_ascii_case(b"dl"))
        })
}

/// `1080pRemux`: true where the `p` belongs to the number.
fn ends_lines(raw: &str, atoms: &[Atom]) -> bool {
    let [.., number, letter] = atoms else {
        return false;
    };
    letter.kind == Kind::Latin
        && matches!(&raw[letter.start..letter.end], "p" | "i" | "P")
        && number.kind == Kind::Number
        && number.end == letter.start
        && matches!(
            &raw[number.start..number.end],
            "480" | "576" | "720" | "1080" | "2160"
        )
}

/// `第2季第05集`, `片名全12集`, `第2期片名`: counters run right up to other words.
fn begins_counter(raw: &str, atoms: &[Atom], start: usize, c: char) -> bool {
    if c == '第' {
        return true;
    }
    if matches!(c, '全' | '共') {
        return raw
            .as_bytes()
            .get(start + c.len_utf8())
            .is_some_and(u8::is_ascii_digit);
    }
    let [.., ordinal, number, counter] = atoms else {
        return false;
    };
    number.kind == Kind::Number
        && &raw[ordinal.start..ordinal.end] == "第"
        && matches!(
            &raw[counter.start..counter.end],
            "季" | "期" | "话" | "話" | "集" | "回"
        )
}

/// `NameS01`: a capital after a small letter, before a number, is the marker's and not the word's.
fn part_marker(raw: &str, atoms: &mut Vec<Atom>) {
    let Some(word) = atoms.last().copied().filter(|atom| atom.kind == Kind::Latin) else {
        return;
    };
    let written = &raw.as_bytes()[word.start..word.end];
    // `DLx264`, `4Kto1080p`
    let follows = raw.as_bytes().get(word.end..).unwrap_or_default();
    let is_codec = matches!(follows, [b'2', b'6', b'4' | b'5' | b'6', rest @ ..] if !rest.first().is_some_and(u8::is_ascii_digit));
    if is_codec && matches!(written, [_, .., b'x' | b'X' | b'h' | b'H']) {
        cut(atoms, word, word.end - 1);
        return;
    }
    if written.eq_ignore_ascii_case(b"kto") {
        cut(atoms, word, word.start + 1);
        return;
    }
    let capital = matches!(written, [.., before, b'S' | b'E'] if before.is_ascii_lowercase());
    // `names01e02`
    let whole = matches!(follows, [a, b, b'e' | b'E', c, ..]
        if a.is_ascii_digit() && b.is_ascii_digit() && c.is_ascii_digit());
    if capital || (whole && matches!(written, [_, .., b's' | b'S'])) {
        cut(atoms, word, word.end - 1);
    }
}

/// Cuts the last word in two at `middle`.
fn cut(atoms: &mut Vec<Atom>, word: Atom, middle: usize) {
    if let Some(last) = atoms.last_mut() {
        last.end = middle;
    }
    atoms.push(Atom {
        start: middle,
        is_cut: true,
        ..word
    });
}
