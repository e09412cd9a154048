//! Names of films: of the file, and of the film's folder, which is used where the file's name gives less.

use std::borrow::Cow;

use qm_release::{Release, parse};
use qm_titles::{folded, normalise};

use super::count_marks;
use super::tag::{self, Ids};

/// Facts about a film from one name.
#[derive(Clone, Debug, Default)]
pub struct Named {
    pub title: Option<String>,
    pub year: Option<i64>,
    pub ids: Ids,
    pub release: Release,
}

/// Reads one name: of a file without its ending, or of a folder.
pub fn named(name: &str) -> Named {
    let (clean, ids) = tag::split(name);
    let mut release = parse(&clean);
    let read = release.named().map(Cow::into_owned);
    let is_misread = release.season.is_some()
        || release.episode.is_some()
        || release.absolute_episode.is_some()
        || release.part.is_some()
        || release.air_date.is_some();
    let (title, year) = match dated(&clean) {
        Some((before, year)) if is_misread || is_fuller(&before, read.as_deref()) => {
            (Some(before), Some(year))
        }
        Some((_, year)) => (read, Some(year)),
        None if is_misread => whole(&clean, &release),
        None => {
            let year = release.year.filter(|year| {
                read.as_deref()
                    .is_none_or(|title| !title.contains(&year.to_string()))
            });
            (read, year.map(i64::from))
        }
    };
    let title = title
        .map(|title| without_edition(&title))
        .filter(|title| !title.trim().is_empty());
    release.year = year.and_then(|year| u32::try_from(year).ok());
    Named {
        title,
        year,
        ids,
        release,
    }
}

/// Key that is equal for all versions and parts of a film in one folder.
pub fn key(stem: &str) -> String {
    let title = folded(&named(stem).title.unwrap_or_else(|| stem.to_owned()));
    let words: Vec<&str> = title.split(' ').collect();
    let mut end = words.len();
    while end > 1
        && (is_version(words[end - 1]) || (end > 2 && is_number(words[end - 1]) && is_piece(words[end - 2])))
    {
        end -= if is_version(words[end - 1]) { 1 } else { 2 };
    }
    words[..end].join(" ")
}

fn is_number(word: &str) -> bool {
    word.len() < 3 && word.bytes().all(|digit| digit.is_ascii_digit())
}

fn is_piece(word: &str) -> bool {
    matches!(word, "cd" | "dvd" | "disc" | "disk" | "part" | "pt")
}

/// True if the text before the year is the title as it was read, but with its own punctuation, or with another title in
/// brackets.
fn is_fuller(before: &str, read: Option<&str>) -> bool {
    let Some(read) = read.filter(|read| !read.trim().is_empty()) else {
        return true;
    };
    let plain = without_edition(before);
    let (one, other) = (normalise(&plain), normalise(&without_edition(read)));
    one == other || (plain.contains('(') && one.starts_with(&other))
}

/// Text before the year in brackets, and that year.
fn dated(name: &str) -> Option<(String, i64)> {
    for (at, _) in name.match_indices(['(', '[']) {
        let year = name
            .get(at + 1..at + 5)
            .filter(|year| year.bytes().all(|digit| digit.is_ascii_digit()));
        let closes = name.as_bytes()[at..]
            .get(5)
            .is_some_and(|close| matches!(close, b')' | b']'));
        let Some(year) = year.and_then(|year| year.parse().ok()).filter(|_| closes) else {
            continue;
        };
        let title = spaced(&name[..at]);
        if (1880..2100).contains(&year) && !title.is_empty() {
            return Some((title, year));
        }
    }
    None
}

/// Title and year of a name whose numbers are not episodes.
fn whole(name: &str, release: &Release) -> (Option<String>, Option<i64>) {
    let words: Vec<&str> = name
        .split([' ', '.', '_'])
        .filter(|word| !word.is_empty())
        .collect();
    let is_year = |word: &str| {
        release
            .year
            .is_some_and(|year| word.trim_matches(['(', ')', '[', ']']) == year.to_string())
    };
    let year = (1..words.len()).rev().find(|at| is_year(words[*at]));
    let end = year
        .or_else(|| (1..words.len()).find(|at| tells_format(words[*at])))
        .unwrap_or(words.len());
    let title = spaced(&words[..end].join(" "));
    (
        Some(title).filter(|title| !title.is_empty()),
        year.and(release.year.map(i64::from)),
    )
}

/// True for a word of a resolution, a source or a codec.
fn tells_format(word: &str) -> bool {
    let alone = parse(word);
    alone.resolution.is_some() || alone.source.is_some() || alone.codec.is_some()
}

fn spaced(text: &str) -> String {
    let text = if text.trim().contains(' ') {
        text.replace('_', " ")
    } else {
        text.replace(['.', '_'], " ")
    };
    let mut text = text.trim_matches([' ', '-', '(', '[']).to_owned();
    if text.starts_with('[')
        && let Some(end) = text.find(']')
        && end + 1 < text.len()
    {
        text = text[end + 1..].trim_matches([' ', '-']).to_owned();
    }
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Words of an edition at the end of a title.
const EDITION: &[&str] = &[
    "imax",
    "recut",
    "hybrid",
    "3d",
    "2d",
    "4k",
    "uhd",
    "remaster",
    "remastered",
    "restored",
    "uncut",
    "unrated",
    "extended",
    "theatrical",
    "redux",
    "fanedit",
    "workprint",
    "colorized",
    "colourised",
    "despecialized",
    "criterion",
    "sbs",
    "hsbs",
    "hou",
    "openmatte",
    "uncensored",
    "rerip",
    "proper",
    "repack",
    "internal",
    "dubbed",
    "subbed",
];
/// Words before `cut`, `edition`, `version` and the like.
const OF_EDITION: &[&str] = &[
    "director",
    "directors",
    "final",
    "extended",
    "theatrical",
    "special",
    "ultimate",
    "collector",
    "collectors",
    "anniversary",
    "criterion",
    "fan",
    "international",
    "limited",
    "deluxe",
    "definitive",
    "imax",
    "uncut",
    "unrated",
    "restored",
    "remastered",
    "assembly",
    "producers",
    "festival",
    "rough",
    "alternate",
    "alternative",
    "original",
    "super",
    "japanese",
    "european",
    "american",
    "tv",
    "television",
    "platinum",
    "diamond",
    "gold",
    "signature",
    "steelbook",
    "recut",
    "hybrid",
    "open",
    "half",
];
const EDITIONS: &[&str] = &[
    "cut",
    "edition",
    "version",
    "edit",
    "remaster",
    "restoration",
    "release",
    "matte",
    "sbs",
    "ou",
];

/// Title without the words of its edition at the end, but never empty.
fn without_edition(title: &str) -> String {
    let words: Vec<&str> = title.split_whitespace().collect();
    let plain: Vec<String> = words
        .iter()
        .map(|word| normalise(&word.replace(['\'', '’'], "")))
        .collect();
    let mut end = words.len();
    while end > 1 {
        let is_edition = |word: &String| EDITION.contains(&&**word);
        if is_edition(&plain[end - 1])
            || plain[end - 1].is_empty() && words[end - 1].chars().all(|letter| "-–[]()".contains(letter))
        {
            end -= 1;
        } else if end > 2 && EDITIONS.contains(&&*plain[end - 1]) && OF_EDITION.contains(&&*plain[end - 2]) {
            end -= 2;
            let is_age = |word: &String| {
                word.len() > 2
                    && word.starts_with(|letter: char| letter.is_ascii_digit())
                    && word.ends_with("th")
            };
            if end > 1 && is_age(&plain[end - 1]) {
                end -= 1;
            }
        } else {
            break;
        }
    }
    if end == words.len() {
        return title.trim().to_owned();
    }
    words[..end]
        .join(" ")
        .trim_end_matches([' ', '-', '–', ',', ':', '(', '['])
        .to_owned()
}

/// Facts about a film, from its file and its own folder; `is_alone`: that folder holds no other film.
pub fn read(stem: &str, folder: Option<&str>, is_alone: bool) -> Named {
    let own = named(stem);
    let Some(folder) = folder else { return own };
    let above = named(folder);
    if above.title.is_none() || !yields(stem, &own, &above, is_alone) {
        return Named {
            ids: own.ids.clone().or(if is_same(&own, &above) {
                above.ids
            } else {
                Ids::default()
            }),
            ..own
        };
    }
    let marks = Release {
        resolution: own.release.resolution.or(above.release.resolution),
        source: own.release.source.or(above.release.source),
        codec: own.release.codec.or(above.release.codec),
        release_group: own
            .release
            .release_group
            .clone()
            .or(above.release.release_group.clone()),
        year: above.release.year.or(own.release.year),
        ..above.release
    };
    Named {
        title: above.title,
        year: above.year.or(own.year),
        ids: own.ids.or(above.ids),
        release: marks,
    }
}

fn is_same(own: &Named, above: &Named) -> bool {
    let title = |named: &Named| named.title.as_deref().map(folded);
    title(own) == title(above)
}

/// True if the folder describes the film better than the file.
fn yields(stem: &str, own: &Named, above: &Named, is_alone: bool) -> bool {
    let Some(title) = own.title.as_deref() else {
        return true;
    };
    if is_generic(stem) || is_obfuscated(stem) {
        return true;
    }
    if let (Some(one), Some(other)) = (own.year, above.year) {
        return one == other && is_alone;
    }
    if own.year.is_some() {
        return false;
    }
    let folder = above.title.as_deref().map(folded).unwrap_or_default();
    let file = folded(title);
    let goes_on = file
        .strip_prefix(&folder)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(' '));
    let names_film = above.year.is_some() || !above.ids.is_empty();
    let is_release = count_marks(&above.release) > 0;
    if names_film || is_release {
        return is_alone
            || file == folder
            || (names_film && goes_on && is_version(&file[folder.len()..]))
            || is_short(stem, above);
    }
    file == folder
}

/// True if the text behind a title describes a version or a part, not another title.
pub fn is_version(rest: &str) -> bool {
    rest.split(' ').filter(|word| !word.is_empty()).all(|word| {
        let known = EDITION.contains(&word) || OF_EDITION.contains(&word) || EDITIONS.contains(&word);
        let part = word.trim_end_matches(|letter: char| letter.is_ascii_digit());
        let is_part = part.len() < word.len() && is_piece(part);
        known || is_part || tells_format(word)
    })
}

/// True for a name that any film may have.
pub fn is_generic(stem: &str) -> bool {
    const NAMES: &[&str] = &[
        "movie",
        "film",
        "video",
        "main",
        "feature",
        "title",
        "index",
        "stream",
        "untitled",
        "default",
        "full movie",
        "main movie",
        "main feature",
        "the movie",
        "vts",
        "video ts",
        "cd",
        "dvd",
        "disc",
        "disk",
        "part",
        "pt",
        "bdmv",
        "track",
        "t",
        "mts",
        "vob",
        "file",
        "media",
        "playback",
        "output",
    ];
    let name = normalise(stem);
    if NAMES.contains(&&*name) {
        return true;
    }
    let is_count = |word: &str| word.bytes().all(|digit| digit.is_ascii_digit());
    let bare = |word: &str| {
        word.trim_end_matches(|letter: char| letter.is_ascii_digit())
            .to_owned()
    };
    let mut words = name.split(' ').filter(|word| !is_count(word)).peekable();
    if words.peek().is_none() {
        return name.is_empty() || (name.len() > 4 && name.starts_with('0'));
    }
    words.all(|word| NAMES.contains(&&*bare(word)))
}

/// True for a random sequence of letters and digits.
pub fn is_obfuscated(stem: &str) -> bool {
    let name = stem.trim();
    let is_plain = name
        .bytes()
        .all(|letter| letter.is_ascii_alphanumeric() || matches!(letter, b'-' | b'_' | b'='));
    if !is_plain || name.len() < 10 {
        return false;
    }
    let letters: Vec<char> = name.chars().filter(char::is_ascii_alphanumeric).collect();
    if letters.len() >= 16
        && letters.iter().all(char::is_ascii_hexdigit)
        && letters.iter().any(char::is_ascii_digit)
    {
        return true;
    }
    let class = |letter: char| {
        if letter.is_ascii_digit() {
            0
        } else if letter.is_ascii_uppercase() {
            1
        } else {
            2
        }
    };
    let turns = letters
        .windows(2)
        .filter(|pair| class(pair[0]) != class(pair[1]))
        .count();
    let vowels = letters
        .iter()
        .filter(|letter| "aeiouyAEIOUY".contains(**letter))
        .count();
    let digits = letters.iter().filter(|letter| letter.is_ascii_digit()).count();
    let has_words = name.contains(['-', '_']);
    (digits >= 3 && turns * 5 >= letters.len() * 2)
        || (vowels * 8 < letters.len() && !has_words)
        || (digits > 0 && turns * 2 > letters.len())
}

/// True for a short form of the name of its folder: `grp-saltriver`, `sr-grp`.
pub fn is_short(stem: &str, above: &Named) -> bool {
    if stem.contains(' ') {
        return false;
    }
    let group = above
        .release
        .release_group
        .as_deref()
        .map(normalise)
        .unwrap_or_default();
    let squash = |text: &str| normalise(text).replace(' ', "");
    let is_noise = |word: &str| {
        let word = normalise(word);
        let digits = word.trim_end_matches(['p', 'i']);
        let is_size = digits.len() > 2 && digits.bytes().all(|digit| digit.is_ascii_digit());
        word == group || is_size || tells_format(&word) || is_version(&word)
    };
    let words: Vec<&str> = stem
        .split(['-', '.', '_'])
        .filter(|word| !word.is_empty())
        .collect();
    let title = above.title.as_deref().map(squash).unwrap_or_default();
    let is_part = |text: &str| {
        let mut letters = title.chars();
        let is_within = text.chars().all(|letter| letters.any(|next| next == letter));
        text.chars().count() > 1 && title.chars().next() == text.chars().next() && is_within
    };
    let kept: Vec<&str> = words.iter().copied().filter(|word| !is_noise(word)).collect();
    let whole = squash(&kept.concat());
    // Of a group that the folder does not name one word at either end.
    let without = |from: usize, to: usize| {
        kept.get(from..to)
            .map(|some| squash(&some.concat()))
            .unwrap_or_default()
    };
    let count = kept.len();
    is_part(&whole) || (count > 1 && (is_part(&without(1, count)) || is_part(&without(0, count - 1))))
}
