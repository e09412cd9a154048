//! Identification of a file by its name and the names of the folders above it.

use qm_release::{Release, parse};

use crate::naming::season::{Form, season};
use crate::naming::tag::Ids;
use crate::{Facts, Kind, Tech, naming};

/// Name endings of indexed files.
const VIDEO: [&str; 23] = [
    "mkv", "mp4", "avi", "m4v", "ts", "m2ts", "mts", "wmv", "mov", "webm", "mpg", "mpeg", "m2v", "vob",
    "iso", "flv", "3gp", "3g2", "wtv", "ogv", "ogm", "divx", "asf",
];

/// True if a file of this name is indexed.
pub fn is_video(name: &[u8]) -> bool {
    let Some(dot) = name.iter().rposition(|byte| *byte == b'.') else {
        return false;
    };
    VIDEO
        .iter()
        .any(|ending| name[dot + 1..].eq_ignore_ascii_case(ending.as_bytes()))
}

/// True if a directory of this name is skipped.
pub fn is_skipped(name: &[u8]) -> bool {
    name.starts_with(b".") || name == b"@eaDir"
}

/// True if a file of this name marks its directory as one to skip.
pub fn is_marker(name: &[u8]) -> bool {
    matches!(name, b".nomedia" | b".tmmignore" | b"tmmignore")
}

/// Result of reading one path.
#[derive(Clone, Debug, PartialEq)]
pub struct Read {
    pub facts: Facts,
    pub tech: Tech,
    /// Ids in its name, or in the folder that names it.
    pub ids: Ids,
}

/// Facts that a path gives for a new file. `is_alone`: its folder holds no other film.
pub fn read(shown: &str, kind: Kind, is_alone: bool) -> Read {
    let name = shown.rsplit('/').next().unwrap_or(shown);
    let found = naming::identify(shown, kind, is_alone);
    let facts = Facts {
        media_type: found
            .media_type
            .or(kind.media_type())
            .unwrap_or("other_video")
            .to_owned(),
        title: found.title.unwrap_or_else(|| naming::stem(name).to_owned()),
        year: found.year,
        season: found.season,
        episode: found.episode,
        episode_end: found.episode_end,
    };
    Read {
        facts,
        tech: tech(name, &parse(name)),
        ids: found.ids,
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

/// Identity of a file, by its name and the folders above it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Type of the item; `None`: as before.
    pub media_type: Option<&'static str>,
    pub title: Option<String>,
    pub year: Option<i64>,
    pub season: Option<i64>,
    pub episode: Option<i64>,
    pub episode_end: Option<i64>,
    /// Confidence in hundredths.
    pub confidence: i64,
    /// Ids in the name, or in the folder that names it.
    pub ids: Ids,
}

impl Identity {
    /// Least confidence of a match, in hundredths.
    pub const MATCHED: i64 = 50;

    pub fn is_matched(&self) -> bool {
        self.confidence >= Self::MATCHED
    }

    /// `matched` or `unmatched`
    pub fn status(&self) -> &'static str {
        if self.is_matched() { "matched" } else { "unmatched" }
    }
}

/// Reads a path below a library's directory, as people are shown it. `is_alone`: its folder holds no other film.
pub fn identify(shown: &str, kind: Kind, is_alone: bool) -> Identity {
    naming::identify(shown, kind, is_alone)
}

/// True for a folder that names a part of something (a disc, a season), not the thing itself.
pub fn is_container(folder: &str) -> bool {
    naming::is_piece(folder) || is_season(folder)
}

/// True for a folder of a season.
pub fn is_season(folder: &str) -> bool {
    season(folder).is_some_and(|season| season.form != Form::Titled)
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
        assert!(is_season("Stagione 2") && is_season("specials") && !is_season("CD2"));
    }

    #[test]
    fn a_name_fills_a_new_item() {
        let read = read(
            "The Wire/The.Wire.S01E02-E03.1080p.BluRay.x265.DTS-GROUP.mkv",
            Kind::Tv,
            false,
        );
        assert_eq!(
            (read.facts.season, read.facts.episode, read.facts.episode_end),
            (Some(1), Some(2), Some(3))
        );
        assert_eq!((&*read.facts.title, &*read.facts.media_type), ("The Wire", "tv"));
        assert_eq!(read.tech.container.as_deref(), Some("mkv"));
        assert_eq!(read.tech.quality.as_deref(), Some("BluRay 1080p"));
        assert_eq!(
            super::read("holiday.mp4", Kind::General, false).facts.media_type,
            "other_video"
        );
    }

    #[test]
    fn a_country_stays_with_its_show() {
        let of = |path: &str| identify(path, Kind::Tv, false).title.unwrap_or_default();
        assert_eq!(of("The.Lodgers.US.S01E02.720p.mkv"), "The Lodgers US");
        assert_eq!(of("The.Lodgers.UK.S01E02.720p.mkv"), "The Lodgers UK");
        assert_eq!(
            read("The Lodgers (UK) 1x02.mkv", Kind::Tv, false).facts.title,
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
            let found = identify(path, Kind::Tv, false);
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
        let alone = identify("holiday.mkv", Kind::Movie, false);
        assert_eq!((alone.confidence, alone.is_matched()), (40, false));
        let film = identify(
            "Alien (1979)/Alien.1979.1080p.BluRay.x264-GRP.mkv",
            Kind::General,
            true,
        );
        assert_eq!((film.media_type, film.confidence), (Some("movie"), 100));
    }
}
