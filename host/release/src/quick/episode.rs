//! Episode in a name, for the quick view: `S01E02`, `1x02`, `Season 1 Episode 2`, and ranges.

use std::ops::Range;
use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::words::{pattern, words};

/// One episode of a season, or several in a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Episode {
    pub(crate) season: u32,
    pub(crate) first: u32,
    pub(crate) last: Option<u32>,
    /// Byte range of the marker, including a range of episodes.
    pub(crate) at: Range<usize>,
}

/// Longest range of episodes: a larger number after a dash means something else.
const LONGEST_SPAN: u32 = 12;

/// Separators between the parts of a marker.
macro_rules! gap {
    () => {
        "[ ._-]{0,3}"
    };
}

static MARKERS: LazyLock<[Regex; 3]> = LazyLock::new(|| {
    [
        pattern(concat!(r"(?-u:\b)s([0-9]{1,2})", gap!(), "e([0-9]{1,4})")),
        words("([0-9]{1,2})x([0-9]{2,3})"),
        words("season[ ._-]?([0-9]{1,2})[, ._-]{0,3}episode[ ._-]?([0-9]{1,4})"),
    ]
});

/// Continuation of a marker: the whole marker again, `E03`, or `-03`.
static AGAIN: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        "^",
        gap!(),
        "(?:s([0-9]{1,2})",
        gap!(),
        "e|([0-9]{1,2})x)([0-9]{1,4})"
    ))
});
static MORE: LazyLock<Regex> = LazyLock::new(|| pattern(concat!("^", gap!(), "e([0-9]{1,4})")));
static UP_TO: LazyLock<Regex> = LazyLock::new(|| pattern("^-([0-9]{2,4})(?-u:\\b)"));

/// The first match of the first form in the list above.
pub(crate) fn find(text: &str) -> Option<Episode> {
    let mut episode = MARKERS.iter().find_map(|marker| first(marker, text))?;
    while let Some((number, length)) = next(&text[episode.at.end..], episode.season) {
        let reached = episode.last.unwrap_or(episode.first);
        if number <= reached || number - episode.first > LONGEST_SPAN {
            break;
        }
        episode.last = Some(number);
        episode.at.end += length;
    }
    Some(episode)
}

fn first(marker: &Regex, text: &str) -> Option<Episode> {
    marker.captures_iter(text).find_map(|found| {
        let at = found.get(0)?.range();
        // Part of a longer number.
        if text.as_bytes().get(at.end).is_some_and(u8::is_ascii_digit) {
            return None;
        }
        Some(Episode {
            season: number(&found, 1)?,
            first: number(&found, 2)?,
            last: None,
            at,
        })
    })
}

/// The next episode number and the length of its text.
fn next(rest: &str, season: u32) -> Option<(u32, usize)> {
    let again = AGAIN
        .captures(rest)
        .filter(|found| number(found, 1).or_else(|| number(found, 2)) == Some(season))
        .map(|found| (found, 3));
    let (found, group) = again
        .or_else(|| MORE.captures(rest).map(|found| (found, 1)))
        .or_else(|| UP_TO.captures(rest).map(|found| (found, 1)))?;
    let length = found.get(0)?.end();
    if rest.as_bytes().get(length).is_some_and(u8::is_ascii_digit) {
        return None;
    }
    Some((number(&found, group)?, length))
}

/// The value of a capture group.
pub(crate) fn number(found: &Captures<'_>, group: usize) -> Option<u32> {
    found.get(group)?.as_str().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markers_and_spans() {
        for (text, expected) in [
            ("a S02E07 b", Some((2, 7, None))),
            ("a.s2e7.b", Some((2, 7, None))),
            ("a S02.E07", Some((2, 7, None))),
            ("a S02 - E07", Some((2, 7, None))),
            ("a 2x07 b", Some((2, 7, None))),
            ("a Season 2 Episode 7", Some((2, 7, None))),
            ("a Season.2,.Episode.7", Some((2, 7, None))),
            ("a S01E1089", Some((1, 1089, None))),
            ("a S01E01E02E03", Some((1, 1, Some(3)))),
            ("a S01E01-E02", Some((1, 1, Some(2)))),
            ("a S01E01-03 b", Some((1, 1, Some(3)))),
            ("a S01E01 S01E02", Some((1, 1, Some(2)))),
            ("a 1x01-1x02", Some((1, 1, Some(2)))),
            // Another season, backwards, too far, a resolution, a year.
            ("a S01E01 S02E02", Some((1, 1, None))),
            ("a S01E05-E03", Some((1, 5, None))),
            ("a S01E01-E14", Some((1, 1, None))),
            ("a S01E01-720p", Some((1, 1, None))),
            ("a S01E01-2021", Some((1, 1, None))),
            ("a S01E01 E02x", Some((1, 1, Some(2)))),
            ("a S01E20211", None),
            ("a 1920x1080 b", None),
            ("a xS01E01", None),
            ("a", None),
        ] {
            let found = find(text).map(|found| (found.season, found.first, found.last));
            assert_eq!(found, expected, "{text}");
        }
    }
}
