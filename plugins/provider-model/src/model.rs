//! Titles, episodes and images, and why there are none.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Movie,
    Show,
}

/// URLs of an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    pub url: String,
    pub preview: Option<String>,
}

/// A title as a list has it.
#[derive(Clone, Debug, PartialEq)]
pub struct Hit {
    pub id: String,
    pub kind: Kind,
    pub title: String,
    pub original_title: Option<String>,
    pub released: Option<String>,
    pub overview: Option<String>,
    pub original_language: Option<String>,
    pub poster: Option<Picture>,
    pub backdrop: Option<Picture>,
    pub rating: Option<f64>,
    pub votes: Option<u32>,
    pub popularity: Option<f64>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Page {
    pub hits: Vec<Hit>,
    pub page: u32,
    pub pages: u32,
    pub total: Option<u32>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Credit {
    pub id: Option<String>,
    pub name: String,
    /// The character, or the job.
    pub role: Option<String>,
    pub picture: Option<Picture>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Episode {
    pub id: Option<String>,
    pub season: u32,
    pub number: u32,
    pub title: Option<String>,
    pub overview: Option<String>,
    pub aired: Option<String>,
    /// Minutes.
    pub runtime: Option<u32>,
    pub rating: Option<f64>,
    pub votes: Option<u32>,
    pub still: Option<Picture>,
    pub guests: Vec<Credit>,
    pub crew: Vec<Credit>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Season {
    pub number: u32,
    pub title: Option<String>,
    pub overview: Option<String>,
    pub aired: Option<String>,
    pub episodes: Option<u32>,
    pub poster: Option<Picture>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    Unknown,
    Planned,
    Returning,
    Continuing,
    Ended,
    Canceled,
    Released,
}

/// All about one title.
#[derive(Clone, Debug, PartialEq)]
pub struct Title {
    /// Entry of this title in a list.
    pub hit: Hit,
    pub tagline: Option<String>,
    pub last_aired: Option<String>,
    pub status: Option<String>,
    pub standing: Standing,
    pub countries: Vec<String>,
    pub genres: Vec<String>,
    pub tags: Vec<String>,
    /// Minutes.
    pub runtime: Option<u32>,
    pub certification: Option<String>,
    pub studios: Vec<String>,
    pub networks: Vec<String>,
    pub cast: Vec<Credit>,
    pub crew: Vec<Credit>,
    pub creators: Vec<String>,
    pub seasons: Vec<Season>,
    pub season_count: Option<u32>,
    pub episode_count: Option<u32>,
    pub last_episode: Option<Episode>,
    pub next_episode: Option<Episode>,
    pub page: String,
    /// Neutral word of the source, and the id there.
    pub ids: Vec<(&'static str, String)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImageKind {
    Poster,
    Backdrop,
    Logo,
    Banner,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Image {
    pub kind: ImageKind,
    pub picture: Picture,
    pub width: Option<u32>,
    pub height: Option<u32>,
    pub language: Option<String>,
    pub rating: Option<f64>,
    pub votes: Option<u32>,
}

/// Failure of a request; each text is a sentence about the product, without a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    Auth(String),
    Throttled { seconds: Option<u32>, message: String },
    NotFound(String),
    Unparsable(String),
    TooLarge(String),
    Api { code: String, description: String },
    Status { status: u16, message: String },
    Redirected(String),
    InvalidConfig(String),
    Unsupported(String),
}
