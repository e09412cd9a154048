//! Patterns over atoms: a small language in which the tables of markers are written.
//!
//! A pattern is a list of elements, parted by spaces:
//!
//! | element | what it takes |
//! |---|---|
//! | `s\|season` | one of these words |
//! | `<E:1-3>` | a number of one to three digits, kept under the letter |
//! | `_` | up to four separators, dashes among them; `__` at least one |
//! | `.` | up to two separators that are no dash; `..` at least one |
//! | `=` | up to six separators, slashes, signs and brackets among them |
//! | `~` | what stands between the ends of a range: a dash, a tilde, `to` |
//! | `<month>` | the name of a month; `<count>` a number in words; `<season>` a season by a Chinese numeral |
//! | `{xyz}` | one of these characters; `{ }` a space |
//! | `(? … )` | the elements within, or nothing |
//! | `^`, `$` | the beginning of the name, its end |
//!
//! Each element of a pattern is tried once, or twice behind an optional part: the cost of a pattern at one
//! place is bounded by its own length, whatever the name.

use crate::lex::{Kind, Text};
use crate::marks::Word;
use crate::words::{COUNTS, HAN_SEASONS, MONTHS, Trust};

/// Number of tried elements of patterns and terms: the measure of the parser's work.
pub(crate) type Steps = u64;

#[derive(Debug)]
pub(crate) enum Step {
    Words(Vec<&'static str>),
    Number {
        letter: u8,
        least: usize,
        most: usize,
    },
    Gap {
        of: &'static str,
        least: usize,
        most: usize,
    },
    Range,
    /// The name of a month, kept under `M`.
    Month,
    /// A number in words, kept under `E`.
    Count,
    /// `第二季`, kept under `S`.
    Season,
    One(&'static str),
    Maybe(Vec<Step>),
    Start,
    End,
}

/// One bit for each kind of atom, and one for the end of the name.
pub(crate) fn kind_bit(kind: Option<Kind>) -> u8 {
    match kind {
        Some(Kind::Latin | Kind::Script) => 1,
        Some(Kind::Number) => 2,
        Some(Kind::Mark) => 4,
        None => 8,
    }
}

/// Kinds of atoms with which these elements may begin, as bits of [`kind_bit`].
pub(crate) fn takes(steps: &[Step]) -> u8 {
    let Some((first, rest)) = steps.split_first() else {
        return u8::MAX;
    };
    match first {
        Step::Words(_) | Step::Month | Step::Count | Step::Season => 1,
        Step::Number { .. } => 2,
        // The end of a range is separated by a sign or by spaces.
        Step::One(_) | Step::Range => 4,
        Step::Gap { least: 0, .. } => 4 | takes(rest),
        Step::Gap { .. } => 4,
        Step::Maybe(within) => takes(within) | takes(rest),
        Step::Start => u8::MAX,
        Step::End => 8,
    }
}

const GAP: &str = " ._-,";
const DOTS: &str = " ._";
const WIDE: &str = " ._-,:/#[]()ªº°№";
/// Words between the ends of a range.
const UP_TO: [&str; 10] = ["to", "a", "à", "ao", "bis", "do", "al", "по", "thru", "through"];

/// A number that a pattern has captured.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Kept {
    letter: u8,
    pub(crate) value: u32,
    pub(crate) digits: usize,
}

/// All captures of a pattern.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Numbers {
    kept: [Kept; 6],
    len: usize,
}

impl Numbers {
    pub(crate) fn get(&self, letter: u8) -> Option<Kept> {
        self.kept[..self.len]
            .iter()
            .copied()
            .find(|kept| kept.letter == letter)
    }

    pub(crate) fn value(&self, letter: u8) -> Option<u32> {
        self.get(letter).map(|kept| kept.value)
    }

    fn keep(&mut self, kept: Kept) {
        if let Some(place) = self.kept.get_mut(self.len) {
            *place = kept;
            self.len += 1;
        }
    }
}

/// Compiles the text of a pattern, which is a constant; a test compiles them all.
pub(crate) fn compile(text: &'static str) -> Vec<Step> {
    let mut open: Vec<Vec<Step>> = vec![Vec::new()];
    for element in elements(text) {
        if element == ")" {
            let within = open.pop().unwrap_or_default();
            if let Some(outer) = open.last_mut() {
                outer.push(Step::Maybe(within));
            }
        } else if element == "(?" {
            open.push(Vec::new());
        } else if let Some(inner) = open.last_mut() {
            inner.push(step(element));
        }
    }
    open.pop().unwrap_or_default()
}

/// Splits at spaces, but not within braces.
fn elements(text: &'static str) -> impl Iterator<Item = &'static str> {
    let mut braces = false;
    text.split(move |c: char| {
        match c {
            '{' => braces = true,
            '}' => braces = false,
            _ => {}
        }
        c == ' ' && !braces
    })
    .filter(|element| !element.is_empty())
}

fn step(element: &'static str) -> Step {
    let gap = |of, least, most| Step::Gap { of, least, most };
    match element {
        "_" => gap(GAP, 0, 4),
        "__" => gap(GAP, 1, 4),
        "." => gap(DOTS, 0, 2),
        ".." => gap(DOTS, 1, 2),
        "=" => gap(WIDE, 0, 6),
        "~" => Step::Range,
        "<month>" => Step::Month,
        "<count>" => Step::Count,
        "<season>" => Step::Season,
        "^" => Step::Start,
        "$" => Step::End,
        _ => {
            if let Some(chars) = element.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) {
                Step::One(chars)
            } else if let Some(number) = element.strip_prefix('<').and_then(|rest| rest.strip_suffix('>')) {
                number_step(number)
            } else {
                Step::Words(element.split('|').collect())
            }
        }
    }
}

/// `E:1-3` or `E:2`.
fn number_step(text: &'static str) -> Step {
    let (letter, digits) = text.split_once(':').unwrap_or((text, "1-9"));
    let (least, most) = digits.split_once('-').unwrap_or((digits, digits));
    Step::Number {
        letter: letter.bytes().next().unwrap_or(b'?'),
        least: least.parse().unwrap_or(1),
        most: most.parse().unwrap_or(9),
    }
}

/// End of the match that begins at this atom, and its captures.
pub(crate) fn matches(
    steps: &[Step],
    place: &Place<'_, '_>,
    at: usize,
    count: &mut Steps,
) -> Option<(usize, Numbers)> {
    let mut numbers = Numbers::default();
    let end = run(steps, &[], place, at, &mut numbers, count)?;
    Some((end, numbers))
}

/// Input of a match; atoms of known words are marked as taken.
pub(crate) struct Place<'t, 'n> {
    pub(crate) text: &'t Text<'n>,
    /// Per atom, the number of the known word that covers it, from one; zero for none.
    pub(crate) cover: &'t [u32],
    pub(crate) words: &'t [Word],
}

impl Place<'_, '_> {
    fn is_free(&self, at: usize) -> bool {
        self.cover.get(at).is_none_or(|number| *number == 0)
    }

    /// True for a single common word, which a pattern may claim (`[24 (END)]`).
    fn is_common(&self, at: usize) -> bool {
        let number = self.cover.get(at).map_or(0, |number| *number as usize);
        let word = number.checked_sub(1).and_then(|index| self.words.get(index));
        word.is_some_and(|word| word.trust() == Trust::Beside && word.end == word.start + 1)
    }
}

/// Matches the elements; `later` are those after an optional part.
fn run(
    steps: &[Step],
    later: &[Step],
    place: &Place<'_, '_>,
    mut at: usize,
    numbers: &mut Numbers,
    count: &mut Steps,
) -> Option<usize> {
    for (index, step) in steps.iter().enumerate() {
        *count += 1;
        if let Step::Maybe(within) = step {
            let rest = &steps[index + 1..];
            let before = *numbers;
            if let Some(end) = run(within, rest, place, at, numbers, count) {
                return run(later, &[], place, end, numbers, count);
            }
            *numbers = before;
            continue;
        }
        at = match_step(step, place, at, numbers)?;
    }
    run_later(later, place, at, numbers, count)
}

fn run_later(
    later: &[Step],
    place: &Place<'_, '_>,
    at: usize,
    numbers: &mut Numbers,
    count: &mut Steps,
) -> Option<usize> {
    if later.is_empty() {
        return Some(at);
    }
    run(later, &[], place, at, numbers, count)
}

fn match_step(step: &Step, place: &Place<'_, '_>, at: usize, numbers: &mut Numbers) -> Option<usize> {
    let text = place.text;
    match step {
        Step::Number { .. } | Step::Month | Step::Count | Step::Season if !place.is_free(at) => None,
        Step::Words(words) => {
            let word = text.low(at);
            let named = text.is_word(at) && words.contains(&word);
            (named && (place.is_free(at) || place.is_common(at))).then_some(at + 1)
        }
        Step::Number { letter, least, most } => {
            let value = text.number(at)?;
            let digits = text.low(at).len();
            if !(*least..=*most).contains(&digits) {
                return None;
            }
            numbers.keep(Kept {
                letter: *letter,
                value,
                digits,
            });
            Some(at + 1)
        }
        Step::Gap { of, least, most } => {
            let mut end = at;
            while end - at < *most && text.mark(end).is_some_and(|mark| of.contains(mark)) {
                end += 1;
            }
            (end - at >= *least).then_some(end)
        }
        Step::Range => range(text, at),
        Step::Count => {
            let place = COUNTS.iter().position(|count| text.low(at) == *count)?;
            numbers.keep(Kept {
                letter: b'E',
                value: place as u32 + 1,
                digits: 1,
            });
            Some(at + 1)
        }
        Step::Month => {
            let place = MONTHS.iter().position(|month| text.low(at) == *month)?;
            numbers.keep(Kept {
                letter: b'M',
                value: place as u32 / 3 + 1,
                digits: 2,
            });
            Some(at + 1)
        }
        Step::Season => {
            let place = HAN_SEASONS.iter().position(|season| text.low(at) == *season)?;
            numbers.keep(Kept {
                letter: b'S',
                value: place as u32 / 2 + 1,
                digits: 1,
            });
            Some(at + 1)
        }
        Step::One(chars) => text.mark(at).filter(|mark| chars.contains(*mark)).map(|_| at + 1),
        Step::Start => (at == 0).then_some(at),
        Step::End => (text.kind(at).is_none()).then_some(at),
        Step::Maybe(_) => None,
    }
}

/// A dash or tilde with up to two spaces on each side, or a word with some.
fn range(text: &Text<'_>, at: usize) -> Option<usize> {
    let space = |mut at: usize| {
        for _ in 0..2 {
            if text.mark(at).is_some_and(|mark| DOTS.contains(mark)) {
                at += 1;
            }
        }
        at
    };
    let sign = space(at);
    if text.mark(sign).is_some_and(|mark| "-~".contains(mark)) {
        return Some(space(sign + 1));
    }
    let is_word = sign > at && text.kind(sign) != Some(Kind::Number) && UP_TO.contains(&text.low(sign));
    let end = space(sign + 1);
    (is_word && end > sign + 1).then_some(end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::{MORE, RULES};

    fn found(pattern: &'static str, name: &str) -> Option<(String, Numbers)> {
        let text = Text::new(name);
        let cover = vec![0; text.len()];
        let place = Place {
            text: &text,
            cover: &cover,
            words: &[],
        };
        let (end, numbers) = matches(&compile(pattern), &place, 0, &mut 0)?;
        Some((text.raw(0, end).to_owned(), numbers))
    }

    #[test]
    fn elements_take_what_they_say() {
        for (pattern, name, taken) in [
            ("s <S:1-2> _ e <E:1-3>", "S01E02", Some("S01E02")),
            ("s <S:1-2> _ e <E:1-3>", "s1 - e2 x", Some("s1 - e2")),
            ("s <S:1-2> _ e <E:1-3>", "S001E02", None),
            ("a __ b", "ab", None),
            ("a .. b", "a-b", None),
            ("a . b", "a._b", Some("a._b")),
            ("a = b", "a: [b", Some("a: [b")),
            ("<A:2> ~ <B:2>", "01 - 12", Some("01 - 12")),
            ("<A:2> ~ <B:2>", "01 to 12", Some("01 to 12")),
            ("<A:2> ~ <B:2>", "01to12", None),
            ("<A:2> (? v <V:1> ) {]}", "05v2]", Some("05v2]")),
            ("<A:2> (? v <V:1> ) {]}", "05]", Some("05]")),
            ("<D:1-2> _ <month> _ <Y:4>", "3 March 2020", Some("3 March 2020")),
            ("part .. <count>", "Part Two", Some("Part Two")),
            ("<season>", "第二季", Some("第二季")),
            ("<season>", "第季", None),
            ("^ <A:2> $", "05", Some("05")),
            ("^ <A:2> $", "05 ", None),
        ] {
            let found = found(pattern, name).map(|(taken, _)| taken);
            assert_eq!(found.as_deref(), taken, "{pattern} on {name}");
        }
        let (_, numbers) = found("<D:1-2> _ <month> _ <Y:4>", "3 Sept 2020").unwrap();
        let kept = [b'D', b'M', b'Y', b'S'].map(|letter| numbers.value(letter));
        assert_eq!(kept, [Some(3), Some(9), Some(2020), None]);
    }

    #[test]
    fn what_is_known_already_takes_no_part() {
        let text = Text::new("E05-1080");
        let place = Place {
            text: &text,
            cover: &[0, 0, 0, 1],
            words: &[],
        };
        let steps = compile("e <A:2> (? {-} <B:4> )");
        let (end, numbers) = matches(&steps, &place, 0, &mut 0).unwrap();
        assert_eq!((end, numbers.value(b'B')), (2, None));
    }

    /// A misspelt element would be a word that no name contains.
    #[test]
    fn the_words_of_all_patterns_are_words() {
        fn check(steps: &[Step], pattern: &str) {
            for step in steps {
                match step {
                    Step::Words(words) => {
                        for word in words {
                            assert!(
                                word.chars().all(char::is_alphabetic) || *word == "×",
                                "{pattern}: {word}"
                            );
                        }
                    }
                    Step::Maybe(within) => check(within, pattern),
                    Step::Number { least, most, .. } => assert!(least <= most && *most <= 9, "{pattern}"),
                    _ => {}
                }
            }
        }
        let patterns = RULES.iter().map(|rule| rule.pattern);
        for pattern in patterns.chain(MORE.iter().map(|more| more.pattern)) {
            check(&compile(pattern), pattern);
        }
    }
}
