//! Contents of a show's folder.

use std::collections::BTreeSet;
use std::fmt;

use qm_media_names::name::{identify, is_video};
use qm_media_names::subtitle::is_subtitle;
use qm_media_names::{Kind, naming};
use qm_ports::trash::FileState;

/// Name endings of pictures.
const PICTURES: [&str; 5] = ["jpg", "jpeg", "png", "tbn", "webp"];
/// Names of the folders of discs.
const DISCS: [&str; 3] = ["VIDEO_TS", "BDMV", "HVDVD_TS"];
/// Most episodes of one file.
const MOST_EPISODES: i64 = 100;

/// Kind of a file, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    Video,
    Subtitle,
    Nfo,
    Artwork,
    Other,
}

impl FileKind {
    pub fn from_name(name: &str) -> Self {
        let ending = name
            .rsplit_once('.')
            .map(|(_, ending)| ending.to_ascii_lowercase())
            .unwrap_or_default();
        if is_video(name.as_bytes()) {
            Self::Video
        } else if is_subtitle(name) {
            Self::Subtitle
        } else if ending == "nfo" {
            Self::Nfo
        } else if PICTURES.contains(&&*ending) {
            Self::Artwork
        } else {
            Self::Other
        }
    }
}

/// Episodes of one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EpisodeKey {
    pub season: i64,
    pub first: i64,
    /// The same as the first, where there is one.
    pub last: i64,
}

impl EpisodeKey {
    /// Keys of the single episodes: `s1e2`.
    pub fn singles(self) -> impl Iterator<Item = String> {
        let last = self.last.min(self.first.saturating_add(MOST_EPISODES));
        (self.first..=last).map(move |episode| format!("s{}e{episode}", self.season))
    }

    /// True if two files have an episode in common, and are not of the same episodes.
    pub fn is_overlapping(self, other: Self) -> bool {
        self != other && self.season == other.season && self.first <= other.last && other.first <= self.last
    }
}

impl fmt::Display for EpisodeKey {
    /// `s1e2`, or `s1e2-e3` for a file of several episodes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "s{}e{}", self.season, self.first)?;
        if self.last != self.first {
            write!(f, "-e{}", self.last)?;
        }
        Ok(())
    }
}

/// A file in the folder of a show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FolderFile {
    /// Absolute, as people are shown it.
    pub path: String,
    /// Below the folder of the show.
    pub below: String,
    pub kind: FileKind,
    pub state: FileState,
    /// Names that the file has on its file system.
    pub links: u64,
}

impl FolderFile {
    pub fn name(&self) -> &str {
        self.below.rsplit('/').next().unwrap_or(&self.below)
    }

    /// Folder of the file, below that of the show; empty for that one.
    pub fn directory(&self) -> &str {
        self.below.rsplit_once('/').map_or("", |(above, _)| above)
    }
}

/// Name without its last ending.
pub fn stem_of(name: &str) -> &str {
    match name.rsplit_once('.') {
        Some((stem, _)) if !stem.is_empty() => stem,
        _ => name,
    }
}

/// The folder of a show as it was walked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Contents {
    /// Absolute, as people are shown it.
    pub path: String,
    /// Device and inode.
    pub identity: (u64, u64),
    /// In the order of their paths.
    pub files: Vec<FolderFile>,
    /// Links and other things that are no files but are named like videos or subtitles.
    pub odd: Vec<String>,
    /// Directories that could not be read.
    pub unread: Vec<String>,
}

impl Contents {
    /// Name of the folder.
    pub fn folder(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }

    /// Position and episodes of each video; none where its name says none, or says that it is an extra.
    pub fn clips(&self, library_kind: &str) -> Vec<(usize, Option<EpisodeKey>)> {
        let kind = Kind::from_word(library_kind).unwrap_or(Kind::Tv);
        let videos = self.files.iter().enumerate();
        videos
            .filter(|(_, file)| file.kind == FileKind::Video)
            .map(|(at, file)| (at, self.key_of(&file.below, kind)))
            .collect()
    }

    /// True for a trailer, a deleted scene and the like.
    pub fn is_extra(&self, file: &FolderFile, library_kind: &str) -> bool {
        let kind = Kind::from_word(library_kind).unwrap_or(Kind::Tv);
        naming::extra(&self.shown(&file.below), kind).is_some()
    }

    /// Episodes that a file of this name would be of, were it at the top of the folder.
    pub fn key_at_top(&self, name: &str, library_kind: &str) -> Option<EpisodeKey> {
        self.key_of(name, Kind::from_word(library_kind).unwrap_or(Kind::Tv))
    }

    /// Path below the library's directory.
    fn shown(&self, below: &str) -> String {
        format!("{}/{below}", self.folder())
    }

    fn key_of(&self, below: &str, kind: Kind) -> Option<EpisodeKey> {
        let shown = self.shown(below);
        if naming::extra(&shown, kind).is_some() {
            return None;
        }
        let found = identify(&shown, kind, true);
        let (season, first) = (found.season?, found.episode?);
        let last = found.episode_end.filter(|last| *last > first).unwrap_or(first);
        Some(EpisodeKey { season, first, last })
    }

    /// Keys of all single episodes.
    pub fn episodes(&self, library_kind: &str) -> BTreeSet<String> {
        let clips = self.clips(library_kind).into_iter();
        clips
            .filter_map(|(_, key)| key)
            .flat_map(EpisodeKey::singles)
            .collect()
    }

    /// Path of the first file that is a part of a disc, which plays only as a whole.
    pub fn disc(&self) -> Option<&str> {
        let is_disc = |name: &str| DISCS.iter().any(|disc| name.eq_ignore_ascii_case(disc));
        let mut files = self.files.iter();
        let found = files.find(|file| file.directory().split('/').any(is_disc));
        found.map(|file| &*file.path)
    }

    /// Number of files, and of things that are named like some.
    pub fn count_all(&self) -> usize {
        self.files.len() + self.odd.len()
    }

    pub fn size(&self) -> u64 {
        self.files.iter().map(|file| file.state.size).sum()
    }

    pub fn count(&self, kind: FileKind) -> usize {
        self.files.iter().filter(|file| file.kind == kind).count()
    }
}
