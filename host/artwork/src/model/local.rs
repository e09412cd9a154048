//! Names of pictures beside media, as Kodi, Jellyfin, Emby and Plex read and write them.

use std::collections::BTreeSet;

use qm_media_names::place::is_within;

use super::ArtKind;

/// Endings of pictures that are taken. Kodi's `.tbn` is one of the others under another name.
const ENDINGS: [&str; 5] = [".jpg", ".jpeg", ".png", ".webp", ".tbn"];
/// Words of a whole name, or behind the name of a video and a hyphen.
const WORDS: [(&str, ArtKind); 18] = [
    ("poster", ArtKind::Poster),
    ("folder", ArtKind::Poster),
    ("cover", ArtKind::Poster),
    ("default", ArtKind::Poster),
    ("movie", ArtKind::Poster),
    ("show", ArtKind::Poster),
    ("keyart", ArtKind::Poster),
    ("fanart", ArtKind::Fanart),
    ("backdrop", ArtKind::Fanart),
    ("background", ArtKind::Fanart),
    ("art", ArtKind::Fanart),
    ("banner", ArtKind::Banner),
    ("logo", ArtKind::Logo),
    ("clearlogo", ArtKind::Logo),
    ("clearart", ArtKind::Clearart),
    ("landscape", ArtKind::Thumbnail),
    ("thumb", ArtKind::Thumbnail),
    ("thumbnail", ArtKind::Thumbnail),
];
/// Words for a folder of episodes, with a number behind them.
const SEASONS: [&str; 8] = [
    "season",
    "series",
    "saison",
    "staffel",
    "temporada",
    "stagione",
    "sæson",
    "sezon",
];

/// A picture beside media.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Path below the library's directory.
    pub place: String,
    pub kind: ArtKind,
    pub season: Option<i64>,
    /// Name without that of the video, in small letters.
    pub slot: String,
}

/// Result of a look at the directories of an owner.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Look {
    /// The nearest and best first.
    pub found: Vec<Found>,
    /// Directories that could not be read to their end: what lies there is not known.
    pub unread: BTreeSet<String>,
}

impl Look {
    /// True if a file at this place would have been found.
    pub fn saw(&self, place: &str) -> bool {
        !self.unread.iter().any(|directory| is_within(place, directory))
    }
}

/// Meaning of a file's name: type, season, and slot.
pub type Meaning = (ArtKind, Option<i64>, String);

/// Meaning of a picture's name in the directory of videos with these stems.
pub fn read_name(name: &str, stems: &[String], is_episode: bool) -> Option<Meaning> {
    let (stem, ending) = split(name)?;
    if let Some(known) = read_general(&stem, &ending) {
        return Some(known);
    }
    read_own(&stem, &ending, stems, is_episode)
}

/// Meaning of a name that begins with that of a video.
pub fn read_own(stem: &str, ending: &str, stems: &[String], is_episode: bool) -> Option<Meaning> {
    for video in stems {
        let Some(rest) = stem.strip_prefix(video.as_str()) else {
            continue;
        };
        let slot = format!("*{rest}{ending}");
        if rest.is_empty() {
            let kind = if is_episode {
                ArtKind::Thumbnail
            } else {
                ArtKind::Poster
            };
            return Some((kind, None, slot));
        }
        let word = rest.strip_prefix(['-', '.', '_', ' ']);
        if let Some(kind) = word.and_then(|word| kind_of(word.trim_start_matches(['-', ' ']))) {
            return Some((kind, None, slot));
        }
    }
    None
}

/// Meaning of a name that needs no video: `poster`, `season01-poster`.
pub fn read_general(stem: &str, ending: &str) -> Option<Meaning> {
    let slot = format!("{stem}{ending}");
    if let Some(kind) = kind_of(stem) {
        return Some((kind, None, slot));
    }
    let (season, rest) = read_season(stem)?;
    let word = rest.trim_start_matches(['-', '.', '_', ' ']);
    let kind = match word {
        "" => ArtKind::Poster,
        word => kind_of(word)?,
    };
    let kind = if kind == ArtKind::Poster {
        ArtKind::SeasonPoster
    } else {
        kind
    };
    Some((kind, season, slot))
}

/// The stem in small letters, and the ending; `None` for what is no picture.
pub fn split(name: &str) -> Option<(String, String)> {
    let name = name.to_lowercase();
    let ending = ENDINGS.iter().find(|ending| name.ends_with(*ending))?;
    let stem = name[..name.len() - ending.len()].to_owned();
    (!stem.is_empty() && !stem.starts_with('.')).then(|| (stem, (*ending).to_owned()))
}

/// Name of a video without its ending, in small letters.
pub fn stem_of(name: &str) -> String {
    let name = name.to_lowercase();
    match name.rfind('.') {
        Some(at) if at > 0 => name[..at].to_owned(),
        _ => name,
    }
}

/// Number of the season that a folder is named for; 0: specials.
pub fn season_of_folder(name: &str) -> Option<i64> {
    let name = name.to_lowercase();
    let name = name.trim();
    if matches!(name, "specials" | "special") {
        return Some(0);
    }
    let (season, rest) = read_season(name)?;
    rest.is_empty().then_some(season)?
}

/// Type of a word, with a number behind it for the second and further ones: `fanart2`, `poster-1`.
fn kind_of(word: &str) -> Option<ArtKind> {
    let plain = word.trim_end_matches(|letter: char| letter.is_ascii_digit());
    let plain = if plain.len() < word.len() {
        plain.trim_end_matches(['-', '_', ' '])
    } else {
        plain
    };
    WORDS
        .iter()
        .find(|(known, _)| *known == plain)
        .map(|(_, kind)| *kind)
}

/// Season at the beginning of a name, and what follows. No season: all of them.
fn read_season(stem: &str) -> Option<(Option<i64>, &str)> {
    if let Some(rest) = stem
        .strip_prefix("season")
        .map(|rest| rest.trim_start_matches(['-', '.', '_', ' ']))
    {
        for (word, season) in [("specials", Some(0)), ("special", Some(0)), ("all", None)] {
            if let Some(rest) = rest.strip_prefix(word)
                && rest.chars().next().is_none_or(|next| !next.is_alphanumeric())
            {
                return Some((season, rest));
            }
        }
    }
    let rest = SEASONS.iter().find_map(|word| stem.strip_prefix(word))?;
    let rest = rest.trim_start_matches(['-', '.', '_', ' ']);
    let end = rest
        .find(|letter: char| !letter.is_ascii_digit())
        .unwrap_or(rest.len());
    let number = rest[..end].parse().ok().filter(|_| (1..=5).contains(&end))?;
    let follows = &rest[end..];
    let ends = follows.chars().next().is_none_or(|next| !next.is_alphanumeric());
    ends.then_some((Some(number), follows))
}

/// Order of names in one directory: those of the video first, those without a number first, then as [`WORDS`] has them.
pub fn rank(slot: &str) -> (bool, bool, usize) {
    let stem = slot.rsplit_once('.').map_or(slot, |(stem, _)| stem);
    let word = stem.trim_start_matches(['*', '-', '.', '_', ' ']);
    let plain = word.trim_end_matches(|letter: char| letter.is_ascii_digit());
    let known = plain.trim_end_matches(['-', '_', ' ']);
    let at = WORDS.iter().position(|(name, _)| *name == known);
    let is_numbered = plain.len() < word.len() && at.is_some();
    (!slot.starts_with('*'), is_numbered, at.unwrap_or(WORDS.len()))
}
