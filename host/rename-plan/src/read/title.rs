//! Title of an episode, as its file's name has it behind the number.

use qm_release::Decision;

/// Fields that end a title.
const FORMAT: &[&str] = &[
    "resolution",
    "source",
    "codec",
    "audio",
    "hdr",
    "channels",
    "streamingService",
    "bitDepth",
    "releaseGroup",
];
/// Fields that end a title only in the name of a release: between spaces they are words.
const WORDS: &[&str] = &["languages", "edition", "proper", "repack", "version", "year"];
/// Fields that a title stands behind.
const MARKS: &[&str] = &["episode", "absoluteEpisode", "airDate"];

/// Title behind the number of an episode. `name` has no ending and no tags; `decisions` are those of its reading.
pub(crate) fn episode_title(name: &str, decisions: &[Decision], episode: Option<i64>) -> Option<String> {
    let placed = place(name, decisions);
    let mark = placed
        .iter()
        .rposition(|(_, decision)| MARKS.contains(&decision.taken_for));
    let (start, behind) = match mark {
        Some(at) => (placed[at].0 + placed[at].1.token.len(), &placed[at + 1..]),
        None => (leading(name, episode?)?, &placed[..]),
    };
    let start = start + another_number(name.get(start..)?);
    let is_spaced = name.get(start..)?.trim().contains(' ') && !name.trim().contains("..");
    let is_dotted =
        !is_spaced || name[..start].trim_end_matches(['-', ' ']).contains('.') && !name.contains(" - ");
    let end = find_end(name, behind, start, is_dotted);
    let raw = name.get(start..end)?;
    let text = if is_dotted && !raw.trim().contains(' ') {
        raw.replace(['.', '_'], " ")
    } else {
        raw.replace('_', " ")
    };
    let text = without_part(text.trim_matches([' ', '-', '–', '_', '.', ':', '[', '(']));
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    (text.chars().any(char::is_alphanumeric) && !is_placeholder(&text)).then_some(text)
}

/// Decisions with their places in the name; those that are not found, or overlap, are left out.
fn place<'d>(name: &str, decisions: &'d [Decision]) -> Vec<(usize, &'d Decision)> {
    // The year is a part of a day, so a decision may begin where the one before it does.
    let (mut begin, mut end) = (0, 0);
    let mut placed = Vec::new();
    for decision in decisions.iter().filter(|decision| !decision.token.is_empty()) {
        let find = |from: usize| Some(from + name.get(from..)?.find(&decision.token)?);
        if let Some(at) = find(end).or_else(|| find(begin)) {
            placed.push((at, decision));
            (begin, end) = (at, end.max(at + decision.token.len()));
        }
    }
    placed
}

/// End of the title: where the description of the format begins.
fn find_end(name: &str, behind: &[(usize, &Decision)], start: usize, is_dotted: bool) -> usize {
    let is_format = |decision: &Decision| {
        FORMAT.contains(&decision.taken_for) || (is_dotted && WORDS.contains(&decision.taken_for))
    };
    for (at, (place, decision)) in behind.iter().enumerate() {
        if *place < start || !is_format(decision) {
            continue;
        }
        let rest = &behind[at..];
        // A word of a title may be one of a format: The Web. One that stands apart, or with others, is none.
        let before = name[..*place].trim_end();
        let stands_apart = before.ends_with(['-', '[', '(', '{']) || decision.taken_for == "resolution";
        let many = rest.iter().filter(|(_, other)| is_format(other)).count() > 1;
        if is_dotted || stands_apart || many {
            return name[..*place]
                .trim_end_matches([' ', '.', '-', '_', '[', '('])
                .len()
                .max(start);
        }
    }
    name.len()
}

/// Length of another number right behind the first one, with what joins them: `-E03`, `E04`.
fn another_number(rest: &str) -> usize {
    let mut used = 0;
    loop {
        let text = &rest[used..];
        let joined = text.trim_start_matches([' ', '-', '&', '+', '~']);
        let Some(number) = joined.strip_prefix(['E', 'e', 'x']) else {
            return used;
        };
        let digits = number.len()
            - number
                .trim_start_matches(|letter: char| letter.is_ascii_digit())
                .len();
        if !(1..=4).contains(&digits) {
            return used;
        }
        used = rest.len() - number.len() + digits;
    }
}

/// Place behind the number of the episode, where the name begins with it: `03 - Words`, `Episode 3 - Words`.
fn leading(name: &str, episode: i64) -> Option<usize> {
    let start = name.len() - name.trim_start().len();
    let mut at = start;
    for word in ["Episode", "Ep", "E", "#"] {
        let has = name
            .get(at..at + word.len())
            .is_some_and(|text| text.eq_ignore_ascii_case(word));
        if has {
            at += word.len();
            break;
        }
    }
    let rest = name[at..].trim_start_matches([' ', '.', '-']);
    let digits = rest.len()
        - rest
            .trim_start_matches(|letter: char| letter.is_ascii_digit())
            .len();
    let number: i64 = rest.get(..digits)?.parse().ok()?;
    let behind = name.len() - rest.len() + digits;
    let is_end = name[behind..]
        .chars()
        .next()
        .is_none_or(|next| !next.is_alphanumeric());
    (is_end && (number == episode || number % 100 == episode)).then_some(behind)
}

/// Text without a part at its end: it has a token of its own.
fn without_part(text: &str) -> &str {
    let lower = text.to_ascii_lowercase();
    match lower.rfind(" - part") {
        Some(at) if lower[at + 7..].bytes().all(|byte| byte.is_ascii_digit()) => {
            text[..at].trim_end_matches([' ', '-'])
        }
        _ => match lower.strip_prefix("part") {
            Some(rest) if !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()) => "",
            _ => text,
        },
    }
}

/// True for a title that says nothing but the number: `Episode 4`, `Episode #1.4`.
pub(crate) fn is_placeholder(title: &str) -> bool {
    let lower = title.to_lowercase();
    let rest = ["episode", "folge", "épisode", "episodio", "ep"]
        .into_iter()
        .find_map(|word| lower.strip_prefix(word));
    rest.is_some_and(|rest| {
        rest.chars()
            .all(|letter| letter.is_ascii_digit() || matches!(letter, ' ' | '#' | '.'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_stand_behind_numbers() {
        for (name, episode, expected) in [
            (
                "The.Wire.S01E02.The.Detail.1080p.BluRay.x265-GRP",
                2,
                Some("The Detail"),
            ),
            ("The Wire - S01E02 - The Detail", 2, Some("The Detail")),
            ("The Wire S01E02 The Detail", 2, Some("The Detail")),
            ("The Wire - S01E02-E03 - The Detail", 2, Some("The Detail")),
            ("The Wire - S01E02 - E03 - The Detail", 2, Some("The Detail")),
            ("Show - S01E05 - The Web", 5, Some("The Web")),
            ("Show - S01E05 - Extended Family", 5, Some("Extended Family")),
            (
                "Show - S01E05 - Mr. Big vs. Dr. No",
                5,
                Some("Mr. Big vs. Dr. No"),
            ),
            ("Show - S01E05 - Title - 1080p", 5, Some("Title")),
            ("Show - S01E05 - Title [1080p]", 5, Some("Title")),
            ("Show - S01E05 - 1080p", 5, None),
            ("Show.S01E05.720p.HDTV.x264-GRP", 5, None),
            ("Show - S01E05 - Episode 5", 5, None),
            ("Show - S01E05", 5, None),
            ("Show - S01E05 - part1", 5, None),
            ("Show - S01E05 - Title - part2", 5, Some("Title")),
            ("03 - Words", 3, Some("Words")),
            ("Episode 3 - Words", 3, Some("Words")),
            ("103 Words", 3, Some("Words")),
            ("The Daily Show 2011-11-15 Guest Name", 0, Some("Guest Name")),
        ] {
            let found = episode_title(name, &qm_release::explain(name), Some(episode));
            assert_eq!(found.as_deref(), expected, "{name}");
        }
    }
}
