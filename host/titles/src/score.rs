//! Score of a title against the question, and a test for two parts of one series.

use crate::name::similarity;

/// Score from 0 to 1, rounded to hundredths: the best likeness of `names` to `wanted` (all normalised), the years (the
/// wanted one and the title's), and true if the type is the wanted one.
pub fn score<'a>(
    wanted: &str,
    names: impl Iterator<Item = &'a str>,
    years: (Option<i64>, Option<i64>),
    is_of_type: bool,
) -> f64 {
    let likeness = names.map(|name| similarity(wanted, name)).fold(0.0, f64::max);
    let by_year = match years {
        (Some(one), Some(other)) if one == other => 0.15,
        (Some(one), Some(other)) if one.abs_diff(other) == 1 => 0.05,
        (Some(_), Some(_)) => -0.1,
        _ => 0.0,
    };
    let by_type = if is_of_type { 0.05 } else { 0.0 };
    let score: f64 = likeness * 0.8 + by_year + by_type;
    (score.clamp(0.0, 1.0) * 100.0).round() / 100.0
}

/// Largest number of a part; a larger number belongs to the title.
const PARTS: u32 = 30;
const WORDS: &[&str] = &[
    "", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
];
const ROMAN: &[&str] = &["", "i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x"];
/// Words before the number of a part.
const PART: &[&str] = &["part", "chapter", "volume", "vol", "episode"];

/// True if two normalised titles are parts of one series: equal except for the number at their end. A title without a number
/// is the first part.
pub fn sequel(one: &str, other: &str) -> bool {
    let ((one, first), (other, second)) = (numbered(one), numbered(other));
    one == other && first != second
}

/// Title without the number of its part, and that number.
fn numbered(name: &str) -> (&str, u32) {
    let Some((rest, last)) = name.rsplit_once(' ') else {
        return (name, 1);
    };
    let (before, has_word) = match rest.rsplit_once(' ') {
        Some((before, word)) if PART.contains(&word) => (before, true),
        _ => (rest, false),
    };
    let number = last.parse::<u32>().ok().or_else(|| spelled(last, has_word, true));
    match number {
        Some(number) if (1..=PARTS).contains(&number) => (before, number),
        _ => (name, 1),
    }
}

/// Number of a part that is not written in digits. "V", "X" and "two" are also ordinary words: they count as numbers only
/// after "part". Roman numbers of more letters count at the end too.
fn spelled(word: &str, has_word: bool, is_last: bool) -> Option<u32> {
    let at = |list: &[&str]| list.iter().position(|known| *known == word).filter(|at| *at > 0);
    let roman = at(ROMAN).filter(|_| has_word || (is_last && word.len() > 1));
    roman
        .or_else(|| at(WORDS).filter(|_| has_word))
        .map(|number| number as u32)
}

/// Number of a part from a word of a folded title, by the word before it.
pub(crate) fn part_number(before: Option<&str>, word: &str, is_last: bool) -> Option<u32> {
    spelled(
        word,
        before.is_some_and(|before| PART.contains(&before)),
        is_last && before.is_some(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_year_and_a_type_speak_for_a_title() {
        for (years, is_of_type, expected) in [
            ((None, None), false, 0.8),
            ((Some(1995), Some(1995)), false, 0.95),
            ((Some(1996), Some(1995)), false, 0.85),
            ((Some(2006), Some(1995)), false, 0.7),
            ((Some(2006), None), false, 0.8),
            ((Some(1995), Some(1995)), true, 1.0),
            ((Some(i64::MIN), Some(i64::MAX)), false, 0.7),
        ] {
            let score = score("heat", ["cold", "heat"].into_iter(), years, is_of_type);
            assert!((score - expected).abs() < 1e-9, "{years:?}: {score}");
        }
    }

    #[test]
    fn parts_of_a_series() {
        for (one, other) in [
            ("heat", "heat 2"),
            ("heat 3", "heat 2"),
            ("heat", "heat ii"),
            ("heat part one", "heat part two"),
            ("heat", "heat part 2"),
            ("heat", "heat chapter iv"),
            ("apollo 13", "apollo 18"),
        ] {
            assert!(sequel(one, other) && sequel(other, one), "{one} {other}");
        }
        for (one, other) in [
            ("heat", "heat"),
            ("heat", "heat 1"),
            ("heat part 1", "heat"),
            ("heat ii", "heat 2"),
            ("blade runner", "blade runner 2049"),
            ("malcolm", "malcolm x"),
            ("1917", "1918"),
            ("2", "3"),
            ("", ""),
        ] {
            assert!(!sequel(one, other), "{one} {other}");
        }
    }
}
