//! Pictures of items and shows.

pub mod local;
pub mod picture;
pub mod subtitle;

use qm_kernel::Timestamp;

/// Most pictures that people or a provider gave, for one owner, type and season. One more replaces the oldest that is not
/// selected.
pub const MAX_GIVEN_OF_TYPE: usize = 20;
/// Widths that pictures are served in, beside their own.
pub const WIDTHS: [i64; 5] = [160, 320, 400, 780, 1280];
/// Width of a thumbnail.
pub const THUMB: u32 = 400;
/// Largest number of a season.
pub const MAX_SEASON: i64 = 100_000;

/// Type of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ArtKind {
    Poster,
    Fanart,
    Logo,
    Clearart,
    Banner,
    Thumbnail,
    SeasonPoster,
    EpisodeThumbnail,
}

impl ArtKind {
    pub const ALL: [ArtKind; 8] = [
        ArtKind::Poster,
        ArtKind::Fanart,
        ArtKind::Logo,
        ArtKind::Clearart,
        ArtKind::Banner,
        ArtKind::Thumbnail,
        ArtKind::SeasonPoster,
        ArtKind::EpisodeThumbnail,
    ];
    /// Types that every item should have.
    pub const REQUIRED: [ArtKind; 2] = [ArtKind::Poster, ArtKind::Fanart];

    pub const fn as_str(self) -> &'static str {
        match self {
            ArtKind::Poster => "poster",
            ArtKind::Fanart => "fanart",
            ArtKind::Logo => "logo",
            ArtKind::Clearart => "clearart",
            ArtKind::Banner => "banner",
            ArtKind::Thumbnail => "thumbnail",
            ArtKind::SeasonPoster => "season_poster",
            ArtKind::EpisodeThumbnail => "episode_thumbnail",
        }
    }

    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == word)
    }
}

/// Origin of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// A file beside the media.
    Local,
    /// A person.
    Custom,
    ProviderA,
}

impl Source {
    pub const fn as_str(self) -> &'static str {
        match self {
            Source::Local => "local",
            Source::Custom => "custom",
            Source::ProviderA => "provider_a",
        }
    }

    pub fn from_word(word: &str) -> Self {
        match word {
            "custom" => Source::Custom,
            "provider_a" => Source::ProviderA,
            _ => Source::Local,
        }
    }
}

/// Owner of pictures, by its id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Owner {
    Item(String),
    Show(String),
}

impl Owner {
    pub fn id(&self) -> &str {
        match self {
            Owner::Item(id) | Owner::Show(id) => id,
        }
    }

    pub fn item_id(&self) -> Option<&str> {
        match self {
            Owner::Item(id) => Some(id),
            Owner::Show(_) => None,
        }
    }

    pub fn show_id(&self) -> Option<&str> {
        match self {
            Owner::Item(_) => None,
            Owner::Show(id) => Some(id),
        }
    }

    /// Type of the object in the audit trail.
    pub const fn object_type(&self) -> &'static str {
        match self {
            Owner::Item(_) => "media_item",
            Owner::Show(_) => "media_show",
        }
    }

    /// Name of its directory in the store.
    pub fn directory(&self, season: Option<i64>) -> String {
        match (self, season) {
            (Owner::Item(id), _) => id.clone(),
            (Owner::Show(id), None) => format!("show-{id}"),
            (Owner::Show(id), Some(season)) => format!("show-{id}-s{season}"),
        }
    }
}

/// Place of a picture's file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lies {
    /// Path below the library's directory, and the name without that of the video.
    Beside { place: String, slot: String },
    /// Path of a file in the store.
    Stored(String),
    /// Only its address is known.
    Elsewhere,
}

/// A picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Artwork {
    pub id: String,
    pub owner: Owner,
    pub season: Option<i64>,
    pub kind: ArtKind,
    pub source: Source,
    pub is_selected: bool,
    /// Address that it was fetched from.
    pub url: Option<String>,
    pub lies: Lies,
    /// Pixels.
    pub width: Option<i64>,
    pub height: Option<i64>,
    pub created_at: Timestamp,
}

impl Artwork {
    /// Text that no other picture of the owner has. A file beside media has one meaning; a picture of a provider may be that
    /// of a show and of its season.
    pub fn distinct(&self) -> String {
        let at = match &self.lies {
            Lies::Beside { place, .. } => return place.clone(),
            Lies::Stored(path) => self.url.as_ref().unwrap_or(path),
            Lies::Elsewhere => self.url.as_ref().unwrap_or(&self.id),
        };
        format!("{} {:?} {at}", self.kind.as_str(), self.season)
    }
}

/// Changes that bring the rows of an owner's files beside the media in line with a look at the disk.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Difference {
    /// Files without a row.
    pub found: Vec<local::Found>,
    /// Ids of rows whose file is gone.
    pub gone: Vec<String>,
    /// Rows whose file now lies elsewhere: id, place.
    pub moved: Vec<(String, String)>,
}

impl Difference {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Compares the rows of an owner with what a look found. A file that is gone while one of the same kind of name came is
    /// the same picture, moved with its video.
    pub fn between(rows: &[Artwork], look: &local::Look) -> Self {
        let mut change = Self::default();
        let mut new: Vec<&local::Found> = Vec::new();
        let place_of = |row: &Artwork| match &row.lies {
            Lies::Beside { place, .. } => Some(place.clone()),
            _ => None,
        };
        let known: std::collections::BTreeSet<String> = rows.iter().filter_map(place_of).collect();
        for found in &look.found {
            if !known.contains(&found.place) {
                new.push(found);
            }
        }
        let there: std::collections::BTreeSet<&str> =
            look.found.iter().map(|found| found.place.as_str()).collect();
        for row in rows {
            let Lies::Beside { place, slot } = &row.lies else {
                continue;
            };
            if there.contains(place.as_str()) || !look.saw(place) {
                continue;
            }
            let is_it = |found: &&local::Found| {
                (found.kind, found.season, &found.slot) == (row.kind, row.season, slot)
            };
            match new.iter().position(is_it) {
                Some(at) => change.moved.push((row.id.clone(), new.remove(at).place.clone())),
                None => change.gone.push(row.id.clone()),
            }
        }
        change.found = new.into_iter().cloned().collect();
        change
    }
}

#[cfg(test)]
mod tests;
