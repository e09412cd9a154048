//! Parts of one film or episode: `cd1`, `Part 2`, `(Disc 3)`, `pt1`, at the end of a name or behind its year.

use std::sync::LazyLock;

use regex::Regex;

use super::{episode, film};

/// Number of a part, and the name without it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    pub base: String,
    pub number: i64,
    /// True if the word also ends titles: `Part 2`.
    pub is_loose: bool,
}

/// Pattern of a part at the end, with its letter or its number.
static LAST: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"(?i)^(.*?(?:[ _.\-]|[\])}]))[(\[{]?(cd|dvd|part|pt|dis[ck])[ _.\-]*([0-9]{1,2}|[a-d])[)\]}]?$",
    )
    .ok()
});
/// Pattern of a part with more text behind it.
static BETWEEN: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?i)[ _.\-][(\[{]?(cd|dvd|part|pt|dis[ck])[ _.\-]?([0-9]{1,2})[)\]}]?([ _.\-].*)$").ok()
});
/// Pattern of a name that is only a part.
static ALONE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?i)^[(\[{]?(cd|dvd|part|pt|dis[ck])[ _.\-]*([0-9]{1,2}|[a-d])[)\]}]?$").ok()
});

/// Reads the part in the name of a file without its ending, or of a folder.
pub fn split(name: &str) -> Option<Part> {
    let name = name.trim();
    if let Some(found) = ALONE.as_ref()?.captures(name) {
        return Some(Part {
            base: String::new(),
            number: counted(found.get(2)?.as_str())?,
            is_loose: false,
        });
    }
    if let Some(found) = LAST.as_ref()?.captures(name) {
        let base = found.get(1)?.as_str().trim_end_matches([' ', '_', '.', '-']);
        if base.is_empty() {
            return None;
        }
        return Some(Part {
            base: base.to_owned(),
            number: counted(found.get(3)?.as_str())?,
            is_loose: is_loose(found.get(2)?.as_str()) && film::named(base).year.is_none(),
        });
    }
    let found = BETWEEN.as_ref()?.captures(name)?;
    let before = &name[..found.get(0)?.start()];
    let is_loose = is_loose(found.get(1)?.as_str());
    // In front of the year, or of the numbers, it belongs to the title.
    if is_loose && film::named(before).year.is_none() && episode::explicit(before).is_none() {
        return None;
    }
    Some(Part {
        base: format!("{before}{}", found.get(3)?.as_str()),
        number: counted(found.get(2)?.as_str())?,
        is_loose: false,
    })
}

fn is_loose(word: &str) -> bool {
    word.eq_ignore_ascii_case("part") || word.eq_ignore_ascii_case("pt")
}

/// Number of a part: 1 for `1`, `01` and `a`.
fn counted(text: &str) -> Option<i64> {
    let letter = text.bytes().next()?;
    if letter.is_ascii_alphabetic() {
        return Some(i64::from(letter.to_ascii_lowercase() - b'a') + 1);
    }
    text.parse().ok().filter(|number| *number > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_told_from_titles() {
        for (name, base, number, is_loose) in [
            ("Amber Ox (2013) - part1", "Amber Ox (2013)", 1, false),
            ("Amber Ox (2013) part2", "Amber Ox (2013)", 2, false),
            ("Amber Ox (2013)-cd1", "Amber Ox (2013)", 1, false),
            ("Amber Ox (2013).pt3", "Amber Ox (2013)", 3, false),
            ("Amber Ox (2013) (Disc 01)", "Amber Ox (2013)", 1, false),
            (
                "Amber Ox (2013)[720p][PG]part2",
                "Amber Ox (2013)[720p][PG]",
                2,
                false,
            ),
            ("Amber Ox (2013) partb", "Amber Ox (2013)", 2, false),
            ("Amber Ox disk 2", "Amber Ox", 2, false),
            (
                "Amber.Ox.2013.CD2.DVDRip.XviD-GRP",
                "Amber.Ox.2013.DVDRip.XviD-GRP",
                2,
                false,
            ),
            (
                "Amber Ox (2013).part1.unrated.1080p",
                "Amber Ox (2013).unrated.1080p",
                1,
                false,
            ),
            ("Amber Ox Part 2", "Amber Ox", 2, true),
            ("Alder.S01E02.Part1.720p", "Alder.S01E02.720p", 1, false),
            ("CD1", "", 1, false),
            ("disc-2", "", 2, false),
        ] {
            let expected = Part {
                base: base.to_owned(),
                number,
                is_loose,
            };
            assert_eq!(split(name), Some(expected), "{name}");
        }
        for name in [
            "Amber Ox Part 2 (2013)",
            "Amber Ox (2013)",
            "Amber Ox (2013) 2",
            "Amber Ox Vol. 2",
            "Apart 2",
            "Ox 2",
            "Part of Ox",
            "Discord 2",
            "",
        ] {
            assert_eq!(split(name), None, "{name}");
        }
    }
}
