//! Kind of a library, by which names in it are read.

/// Kind of a library's contents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Tv,
    Anime,
    Movie,
    Music,
    Audiobook,
    General,
}

impl Kind {
    /// Words of the kinds, as people and databases write them.
    pub const WORDS: [&str; 6] = ["tv", "anime", "movie", "music", "audiobook", "general"];

    /// Word of the kind.
    pub const fn as_str(self) -> &'static str {
        match self {
            Kind::Tv => "tv",
            Kind::Anime => "anime",
            Kind::Movie => "movie",
            Kind::Music => "music",
            Kind::Audiobook => "audiobook",
            Kind::General => "general",
        }
    }

    /// Kind of this word.
    pub fn from_word(word: &str) -> Option<Self> {
        match word {
            "tv" => Some(Kind::Tv),
            "anime" => Some(Kind::Anime),
            "movie" => Some(Kind::Movie),
            "music" => Some(Kind::Music),
            "audiobook" => Some(Kind::Audiobook),
            "general" => Some(Kind::General),
            _ => None,
        }
    }

    /// Type of the items in it; `None`: the kind does not decide it.
    pub const fn media_type(self) -> Option<&'static str> {
        match self {
            Kind::Tv => Some("tv"),
            Kind::Anime => Some("anime"),
            Kind::Movie => Some("movie"),
            Kind::Music | Kind::Audiobook | Kind::General => None,
        }
    }

    /// True if libraries of it have shows.
    pub const fn has_shows(self) -> bool {
        matches!(self, Kind::Tv | Kind::Anime)
    }
}
