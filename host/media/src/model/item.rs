//! Items: the identity of a file, as far as its name gives it.

use qm_kernel::Timestamp;
use qm_media_names::name::Identity;
use qm_media_names::naming::composed;
use qm_media_names::naming::tag::Ids;
pub use qm_media_names::{Facts, Tech};
use qm_ports::beside::KnownPicture;

use super::external::{ExternalId, PROVIDER_A, PROVIDER_B, TITLEDB};
use super::measured::Measured;
use super::metadata::ItemMetadata;

/// Types of an item.
pub const MEDIA_TYPES: [&str; 6] = [
    "movie",
    "tv",
    "anime",
    "music_video",
    "documentary",
    "other_video",
];

/// A video file with its identity.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    pub id: String,
    pub library_id: String,
    pub place: String,
    pub media_type: String,
    pub title: String,
    pub sort_title: Option<String>,
    pub year: Option<i64>,
    pub season: Option<i64>,
    pub episode: Option<i64>,
    pub episode_end: Option<i64>,
    pub match_status: String,
    /// Hundredths.
    pub confidence: i64,
    pub locked: bool,
    pub duplicate_group_id: Option<String>,
    pub series_titledb_id: Option<String>,
    /// Key that all files of the item share, see `naming::member`; `None`: not known yet.
    pub same_key: Option<String>,
    /// Number of its pictures.
    pub pictures: i64,
    /// Number of its subtitles: files beside it, and tracks in its files.
    pub subtitles: i64,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    /// Metadata of the item; `None` if the caller did not ask for it.
    pub metadata: Option<Box<ItemMetadata>>,
    /// Ids at providers, one a provider; empty if the caller did not ask for them.
    pub external_ids: Vec<ExternalId>,
    /// Further files of the item, with their places; empty if the caller did not ask for them.
    pub copies: Vec<(String, MediaFile)>,
    /// Pictures that go with the answer: its poster in lists, all in its details; empty if the caller did not ask for them.
    pub artwork: Vec<KnownPicture>,
}

/// The file of an item.
#[derive(Clone, Debug, PartialEq)]
pub struct MediaFile {
    pub id: String,
    /// Label of this version; `None`: its name has none.
    pub label: Option<String>,
    /// Number of the part, for a film or episode in parts.
    pub part: Option<i64>,
    pub size: i64,
    /// Nanoseconds since 1970.
    pub mtime: i64,
    pub tech: Tech,
    /// Measured properties; empty until the file was probed.
    pub measured: Measured,
    pub probed_at: Option<Timestamp>,
    pub probe_error: Option<String>,
    pub probe_attempts: i64,
    pub created_at: Timestamp,
}

/// A file of an item among the others, with its place.
pub type Placed<'a> = (&'a str, &'a MediaFile);

/// Versions of an item, the best known one first, and its parts, by their numbers. The first part stands for a version in
/// parts; a single part is none.
pub fn arranged<'a>(
    place: &'a str,
    file: &'a MediaFile,
    copies: &'a [(String, MediaFile)],
) -> (Vec<Placed<'a>>, Vec<Placed<'a>>) {
    let all = std::iter::once((place, file)).chain(copies.iter().map(|(place, file)| (&**place, file)));
    let all: Vec<Placed<'a>> = all.collect();
    let numbers: std::collections::BTreeSet<i64> = all.iter().filter_map(|(_, file)| file.part).collect();
    let mut parts: Vec<Placed<'a>> = all
        .iter()
        .copied()
        .filter(|(_, file)| file.part.is_some() && numbers.len() > 1)
        .collect();
    parts.sort_by_key(|(place, file)| (file.part, file.label.clone(), *place));
    let first = numbers.first().copied().filter(|_| numbers.len() > 1);
    let is_version = |(_, file): &Placed<'a>| file.part.is_none() || first.is_none() || file.part == first;
    (all.into_iter().filter(is_version).collect(), parts)
}

/// Changes that a person makes to an item. `None` keeps a field, `Some(None)` clears it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Edit {
    pub media_type: Option<String>,
    pub title: Option<String>,
    pub sort_title: Option<Option<String>>,
    pub year: Option<Option<i64>>,
    pub season: Option<Option<i64>>,
    pub episode: Option<Option<i64>>,
}

impl Edit {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl Item {
    /// Applies the changes of a person.
    pub fn take(&mut self, edit: Edit) {
        fn set<T>(field: &mut T, value: Option<T>) {
            if let Some(value) = value {
                *field = value;
            }
        }
        let before = (self.season, self.episode);
        set(&mut self.media_type, edit.media_type);
        set(&mut self.title, edit.title);
        set(&mut self.sort_title, edit.sort_title);
        set(&mut self.year, edit.year);
        set(&mut self.season, edit.season);
        set(&mut self.episode, edit.episode);
        // The last episode belonged to the old first one.
        if before != (self.season, self.episode) {
            self.episode_end = None;
        }
    }

    /// True if it is known which title it is.
    pub fn is_identified(&self) -> bool {
        self.series_titledb_id.is_some() || !self.external_ids.is_empty()
    }

    /// True if both states name the same film or episode: same type, title, year, season and episode.
    pub fn is_called(&self, other: &Self) -> bool {
        let numbers = |item: &Self| (item.year, item.season, item.episode);
        self.media_type == other.media_type && self.title == other.title && numbers(self) == numbers(other)
    }

    /// Takes over the identity that was read from the name of the file and its folders.
    pub fn recognised(&mut self, found: Identity) {
        let status = found.status();
        if let Some(kind) = found.media_type {
            kind.clone_into(&mut self.media_type);
        }
        if let Some(title) = found.title {
            self.title = title;
        }
        (self.year, self.season) = (found.year, found.season);
        (self.episode, self.episode_end) = (found.episode, found.episode_end);
        (self.confidence, self.match_status) = (found.confidence, status.to_owned());
    }
}

/// Key by which lists are sorted and searched: the sort title, or else the title, in lower case.
pub fn title_key(title: &str, sort_title: Option<&str>) -> String {
    composed(sort_title.unwrap_or(title).trim()).to_lowercase()
}

/// Letter under which the alphabet lists a title: `A` to `Z`, or `#`.
pub fn letter(title: &str) -> char {
    let first = title
        .trim()
        .chars()
        .next()
        .map(|first| first.to_ascii_uppercase());
    first.filter(char::is_ascii_uppercase).unwrap_or('#')
}

/// Order of a list of items.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sort {
    #[default]
    Title,
    TitleDesc,
    AddedDesc,
    AddedAsc,
    YearDesc,
    YearAsc,
    UpdatedDesc,
}

impl Sort {
    pub const WORDS: [&str; 7] = [
        "title",
        "title_desc",
        "added_desc",
        "added_asc",
        "year_desc",
        "year_asc",
        "updated_desc",
    ];

    /// An unknown word sorts by title.
    pub fn from_word(word: &str) -> Self {
        match word {
            "title_desc" => Sort::TitleDesc,
            "added_desc" => Sort::AddedDesc,
            "added_asc" => Sort::AddedAsc,
            "year_desc" => Sort::YearDesc,
            "year_asc" => Sort::YearAsc,
            "updated_desc" => Sort::UpdatedDesc,
            _ => Sort::Title,
        }
    }
}

/// A fault by which items can be filtered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Issue {
    Unmatched,
    Duplicate,
    MissingArtwork,
    MissingSubtitles,
    /// The title is not known, and there are suggestions.
    Suggested,
}

impl Issue {
    pub const WORDS: [&str; 5] = [
        "unmatched",
        "duplicate",
        "missing_artwork",
        "missing_subtitles",
        "suggested",
    ];

    pub fn from_word(word: &str) -> Option<Self> {
        match word {
            "unmatched" => Some(Issue::Unmatched),
            "duplicate" => Some(Issue::Duplicate),
            "missing_artwork" => Some(Issue::MissingArtwork),
            "missing_subtitles" => Some(Issue::MissingSubtitles),
            "suggested" => Some(Issue::Suggested),
            _ => None,
        }
    }
}

/// Filter of a list of items.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    pub library_id: Option<String>,
    pub media_type: Option<String>,
    pub match_status: Option<String>,
    /// The whole title.
    pub title: Option<String>,
    /// A part of the title, in any case.
    pub search: Option<String>,
    /// First letter: titles from this letter on match.
    pub starts_at: Option<char>,
    pub issue: Option<Issue>,
    /// First wanted year.
    pub year_from: Option<i64>,
    pub year_to: Option<i64>,
    pub season: Option<i64>,
    /// Resolution: number of lines and kind of scan, e.g. `1080p`.
    pub resolution: Option<String>,
    /// Genre, in upper or lower case.
    pub genre: Option<String>,
    pub external: Option<KnownAs>,
    /// True: items whose title is known; false: the others.
    pub identified: Option<bool>,
    pub sort: Sort,
}

impl Filter {
    /// True if lists in memory, which know items by their own columns alone, can answer.
    pub fn is_of_columns(&self) -> bool {
        self.issue != Some(Issue::Suggested)
            && self.resolution.is_none()
            && self.genre.is_none()
            && self.external.is_none()
            && self.identified.is_none()
    }
}

/// An outside id of a film, an episode or its show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownAs {
    /// `titledb`, or a provider of metadata.
    pub provider: &'static str,
    pub value: String,
}

impl KnownAs {
    /// Reads `SOURCE:ID`, as in names of folders, or an id of the data set alone. `None`: it is no id.
    pub fn parse(text: &str) -> Option<Self> {
        let (source, value) = text.trim().rsplit_once(':').unwrap_or(("imdb", text.trim()));
        let (provider, tag) = match source.to_ascii_lowercase().as_str() {
            "imdb" | "titledb" => (TITLEDB, "imdb"),
            "tmdb" | "provider_a" => (PROVIDER_A, "tmdb"),
            "tvdb" | "provider_b" => (PROVIDER_B, "tvdb"),
            _ => return None,
        };
        let mut ids = Ids::default();
        ids.take(tag, value);
        let value = ids.titledb.or(ids.provider_a).or(ids.provider_b)?;
        Some(Self { provider, value })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_name_their_source() {
        for (text, provider, value) in [
            ("imdb:tt0000007", TITLEDB, "tt0000007"),
            ("tt0000007", TITLEDB, "tt0000007"),
            ("titledb:0000007", TITLEDB, "tt0000007"),
            ("TMDB:603", PROVIDER_A, "603"),
            ("provider_b:81189", PROVIDER_B, "81189"),
        ] {
            let found = KnownAs::parse(text).unwrap();
            assert_eq!((found.provider, &*found.value), (provider, value), "{text}");
        }
        for bad in [
            "",
            "x",
            "tmdb:",
            "tmdb:tt1",
            "imdb:tt1",
            "anidb:5",
            "tvdb:12345678901",
        ] {
            assert_eq!(KnownAs::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn titles_have_a_letter() {
        for (title, expected) in [
            (" alien", 'A'),
            ("Zulu", 'Z'),
            ("12 Monkeys", '#'),
            ("Élan", '#'),
            ("", '#'),
        ] {
            assert_eq!(letter(title), expected, "{title}");
        }
        assert_eq!(title_key(" The Wire ", None), "the wire");
        assert_eq!(title_key("The Wire", Some("Wire")), "wire");
    }
}
