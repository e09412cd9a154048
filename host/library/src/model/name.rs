//! What the name of a file, and those of the folders above it, say of it.

use std::borrow::Cow;
use std::path::Path;

use qm_release::{ContentType, Release, parse};

use super::item::{Facts, Tech};
use super::library::Kind;

/// Endings of the names of what is indexed.
const VIDEO: [&str; 9] = ["mkv", "mp4", "avi", "m4v", "ts", "m2ts", "wmv", "mov", "webm"];

/// Whether a file of this name is indexed.
pub fn is_video(name: &[u8]) -> bool {
    let Some(dot) = name.iter().rposition(|byte| *byte == b'.') else {
        return false;
    };
    VIDEO
        .iter()
        .any(|ending| name[dot + 1..].eq_ignore_ascii_case(ending.as_bytes()))
}

/// Whether a directory of this name is passed over.
pub fn is_skipped(name: &[u8]) -> bool {
    name.starts_with(b".") || name == b"@eaDir"
}

/// Whether a file of this name says that its directory is to be left alone.
pub fn is_marker(name: &[u8]) -> bool {
    matches!(name, b".nomedia" | b".tmmignore" | b"tmmignore")
}

/// What is read of one path.
#[derive(Clone, Debug, PartialEq)]
pub struct Read {
    pub facts: Facts,
    pub tech: Tech,
}

/// What the name of a new file says, without the folders above.
pub fn read(shown: &str, kind: Kind) -> Read {
    let name = shown.rsplit('/').next().unwrap_or(shown);
    let release = parse(name);
    let stem = Path::new(name)
        .file_stem()
        .and_then(|stem| stem.to_str())
        .unwrap_or(name);
    let facts = Facts {
        media_type: kind.media_type().unwrap_or("other_video").to_owned(),
        title: release
            .named()
            .map(Cow::into_owned)
            .filter(|title| !title.trim().is_empty())
            .unwrap_or_else(|| stem.to_owned()),
        year: release.year.map(i64::from),
        season: release.season.map(i64::from),
        episode: release.episode.or(release.absolute_episode).map(i64::from),
        episode_end: release.episode_end.map(i64::from),
    };
    Read {
        facts,
        tech: tech(name, &release),
    }
}

fn tech(name: &str, release: &Release) -> Tech {
    let text = |text: Option<&'static str>| text.map(str::to_owned);
    let ending = name
        .rsplit_once('.')
        .map(|(_, ending)| ending.to_ascii_lowercase());
    let quality: Vec<&str> = release.source.into_iter().chain(release.resolution).collect();
    let some = |text: String| Some(text).filter(|text| !text.is_empty());
    Tech {
        container: ending,
        video_codec: text(release.codec),
        audio_codec: text(release.audio.first().copied()),
        resolution: text(release.resolution),
        hdr: some(release.hdr.join("/")),
        language: text(release.languages.first().copied()),
        release_group: release.release_group.clone(),
        quality: some(quality.join(" ")),
    }
}

/// What a file is, by its name and the folders above it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// `None`: as before.
    pub media_type: Option<&'static str>,
    pub title: Option<String>,
    pub year: Option<i64>,
    pub season: Option<i64>,
    pub episode: Option<i64>,
    pub episode_end: Option<i64>,
    /// Hundredths.
    pub confidence: i64,
}

impl Identity {
    /// From here on a file counts as known.
    pub const MATCHED: i64 = 50;

    pub fn is_matched(&self) -> bool {
        self.confidence >= Self::MATCHED
    }

    /// `matched` or `unmatched`
    pub fn status(&self) -> &'static str {
        if self.is_matched() { "matched" } else { "unmatched" }
    }
}

/// Reads a path below a library's directory, as people are shown it.
pub fn identify(shown: &str, kind: Kind) -> Identity {
    let mut parts: Vec<&str> = shown.split('/').collect();
    let name = parts.pop().unwrap_or_default();
    let folders = parts;
    let mut release = parse(name);
    let has_title = |release: &Release| {
        release
            .title
            .as_deref()
            .is_some_and(|title| !title.trim().is_empty())
    };
    let names_episode =
        release.episode.is_some() || release.absolute_episode.is_some() || release.air_date.is_some();
    let in_container = folders.last().is_some_and(|folder| is_container(folder));
    if names_episode && (in_container || !has_title(&release)) {
        if let Some(folder) = enclosing(&folders) {
            let (title, year) = of_folder(folder);
            if let Some(title) = title {
                release.title = Some(title);
                release.country = None;
                release.year = year.or(release.year);
            }
        }
    } else if !has_title(&release)
        && let Some(folder) = folders.last()
    {
        release = parse(&format!("{folder} {name}"));
    }
    let media_type = kind.media_type().or(match release.content_type {
        ContentType::TvEpisode | ContentType::Daily => Some("tv"),
        ContentType::AnimeEpisode => Some("anime"),
        ContentType::Movie => Some("movie"),
        ContentType::Unknown => None,
    });
    Identity {
        media_type,
        confidence: confidence(&release),
        year: release.year.map(i64::from),
        season: release.season.map(i64::from),
        episode: release.episode.or(release.absolute_episode).map(i64::from),
        episode_end: release.episode_end.map(i64::from),
        title: release
            .named()
            .map(Cow::into_owned)
            .filter(|title| !title.trim().is_empty()),
    }
}

fn confidence(release: &Release) -> i64 {
    let has_title = release
        .title
        .as_deref()
        .is_some_and(|title| !title.trim().is_empty());
    let has_number = (release.season.is_some() && release.episode.is_some())
        || release.absolute_episode.is_some()
        || release.air_date.is_some()
        || release.year.is_some();
    let marks = [
        release.resolution.is_some(),
        release.source.is_some(),
        release.codec.is_some(),
        release.release_group.is_some(),
    ];
    let marks = marks.into_iter().filter(|mark| *mark).count() as i64;
    (i64::from(has_title) * 40 + i64::from(has_number) * 40 + marks * 5).min(100)
}

/// The nearest folder that names a thing: neither a container nor a release; else the nearest that is no container.
fn enclosing<'a>(folders: &[&'a str]) -> Option<&'a str> {
    let named = || folders.iter().rev().filter(|folder| !is_container(folder));
    named()
        .find(|folder| !is_release(&parse(folder)))
        .or_else(|| named().next())
        .copied()
}

fn of_folder(folder: &str) -> (Option<String>, Option<u32>) {
    let (title, year) = super::show::named(folder);
    if let Some(year) = year {
        return (Some(title), u32::try_from(year).ok());
    }
    let release = parse(folder);
    let title = release
        .named()
        .map(Cow::into_owned)
        .filter(|title| !title.trim().is_empty());
    (title.or(Some(title_of(folder))), release.year)
}

fn title_of(folder: &str) -> String {
    folder.trim().to_owned()
}

/// Whether the name of a folder is that of a release.
fn is_release(release: &Release) -> bool {
    release.resolution.is_some()
        || release.source.is_some()
        || release.codec.is_some()
        || release.release_group.is_some()
        || release.season.is_some()
}

/// The words that a folder within a thing is called by, with a number behind.
const NUMBERED: [&str; 11] = [
    "season",
    "series",
    "saison",
    "staffel",
    "temporada",
    "disc",
    "disk",
    "cd",
    "part",
    "vol",
    "volume",
];

/// A folder that says where in a thing something is, and not what.
pub fn is_container(folder: &str) -> bool {
    let name = folder.trim().to_lowercase();
    if matches!(name.as_str(), "special" | "specials") {
        return true;
    }
    numbered(&name, &NUMBERED)
}

/// A folder of a season.
pub fn is_season(folder: &str) -> bool {
    const WORDS: [&str; 7] = [
        "season",
        "series",
        "saison",
        "staffel",
        "temporada",
        "stagione",
        "serie",
    ];
    let name = folder.trim().to_lowercase();
    name == "specials" || numbered(&name, &WORDS)
}

/// A folder of what belongs to a show and is none of its episodes.
pub fn is_extras(folder: &str) -> bool {
    const WORDS: [&str; 5] = [
        "extras",
        "featurette",
        "featurettes",
        "behind the scenes",
        "bonus",
    ];
    WORDS.contains(&folder.trim().to_lowercase().as_str())
}

/// Whether a folder is named like a release.
pub fn is_release_folder(folder: &str) -> bool {
    is_release(&parse(folder))
}

fn numbered(name: &str, words: &[&str]) -> bool {
    words.iter().any(|word| {
        let Some(rest) = name.strip_prefix(word) else {
            return false;
        };
        let number = rest.trim_start_matches([' ', '.', '_', '-']);
        !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endings_and_folders_are_told_apart() {
        assert!(is_video(b"a.MKV") && is_video(b"\xff.webm") && !is_video(b"a.srt") && !is_video(b"mkv"));
        assert!(is_skipped(b".git") && is_skipped(b"@eaDir") && !is_skipped(b"a.b"));
        for folder in ["Season 1", "season01", "Staffel 3", "Specials", "CD2", "vol. 4"] {
            assert!(is_container(folder), "{folder}");
        }
        for folder in ["Seasoned", "Part of it", "The Wire", "Season", "Disc Jockey"] {
            assert!(!is_container(folder), "{folder}");
        }
        assert!(is_season("Stagione 2") && is_season("specials") && !is_season("CD2") && is_extras("Extras"));
    }

    #[test]
    fn a_name_fills_a_new_item() {
        let read = read(
            "The Wire/The.Wire.S01E02-E03.1080p.BluRay.x265.DTS-GROUP.mkv",
            Kind::Tv,
        );
        assert_eq!(
            (read.facts.season, read.facts.episode, read.facts.episode_end),
            (Some(1), Some(2), Some(3))
        );
        assert_eq!((&*read.facts.title, &*read.facts.media_type), ("The Wire", "tv"));
        assert_eq!(read.tech.container.as_deref(), Some("mkv"));
        assert_eq!(read.tech.quality.as_deref(), Some("BluRay 1080p"));
        assert_eq!(
            super::read("holiday.mp4", Kind::General).facts.media_type,
            "other_video"
        );
    }

    #[test]
    fn a_country_stays_with_its_show() {
        let of = |path: &str| identify(path, Kind::Tv).title.unwrap_or_default();
        assert_eq!(of("The.Lodgers.US.S01E02.720p.mkv"), "The Lodgers US");
        assert_eq!(of("The.Lodgers.UK.S01E02.720p.mkv"), "The Lodgers UK");
        assert_eq!(
            read("The Lodgers (UK) 1x02.mkv", Kind::Tv).facts.title,
            "The Lodgers UK"
        );
        // A folder that names the show names all of it.
        let path = "The Lodgers/Season 1/The.Lodgers.US.S01E02.720p.mkv";
        assert_eq!(of(path), "The Lodgers");
        assert_eq!(of("The Lodgers (US)/Season 1/S01E02.mkv"), "The Lodgers US");
    }

    #[test]
    fn folders_help_where_names_do_not() {
        let of = |path: &str| {
            let found = identify(path, Kind::Tv);
            (
                found.title.unwrap_or_default(),
                found.year,
                found.season,
                found.episode,
                found.confidence >= 50,
            )
        };
        let wire = |year| ("The Wire".to_owned(), year, Some(1), Some(2), true);
        assert_eq!(of("The Wire (2002)/Season 1/S01E02.mkv"), wire(Some(2002)));
        assert_eq!(of("The Wire/Season 1/The.Wire.S01E02.720p.mkv"), wire(None));
        assert_eq!(
            of("The Wire/The.Wire.S01.1080p.BluRay-GRP/S01E02.mkv"),
            wire(None)
        );
        assert_eq!(of("The.Wire.S01E02.mkv"), wire(None));
    }

    #[test]
    fn a_title_alone_is_no_match() {
        let alone = identify("holiday.mkv", Kind::Movie);
        assert_eq!((alone.confidence, alone.is_matched()), (40, false));
        let film = identify("Alien (1979)/Alien.1979.1080p.BluRay.x264-GRP.mkv", Kind::General);
        assert_eq!((film.media_type, film.confidence), (Some("movie"), 100));
    }
}
