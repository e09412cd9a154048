//! Records read from an indexer, without bindings.

/// Capabilities of an indexer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Caps {
    pub server: Option<Server>,
    pub tv_search: bool,
    pub movie_search: bool,
    /// Parameters that a search for an episode takes.
    pub supported_params: Vec<String>,
    /// Top-level categories; subcategories are left out.
    pub categories: Vec<Category>,
    pub limits: Option<Limits>,
    pub warnings: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Server {
    pub title: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Category {
    pub id: u32,
    pub name: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    pub default: Option<u32>,
    pub max: Option<u32>,
}

/// Search request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query {
    pub term: String,
    pub season: Option<u32>,
    pub episode: Option<u32>,
    pub categories: Vec<u32>,
    pub tv_search: bool,
}

/// A release as it is listed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Release {
    pub title: String,
    pub download_url: Option<String>,
    /// Info-hash in lower case.
    pub info_hash: Option<String>,
    /// Bytes.
    pub size: Option<u64>,
    pub seeders: Option<u32>,
    pub peers: Option<u32>,
    pub grabs: Option<u32>,
    pub categories: Vec<u32>,
    /// Unix milliseconds.
    pub published: Option<i64>,
    pub guid: Option<String>,
    /// URL of the release's page, for people.
    pub page: Option<String>,
    /// Attributes that this plugin does not read.
    pub extra: Vec<(String, String)>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    pub releases: Vec<Release>,
    pub warnings: Vec<String>,
}

/// Failure of a request. Each text is a sentence, or the end of one, for the person who configured the indexer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    Auth(String),
    Throttled {
        /// Time until it may be asked again, in seconds.
        seconds: Option<u32>,
        message: String,
    },
    LoginPage(String),
    Captcha(String),
    Unparsable(String),
    /// An error of the protocol.
    Api {
        code: String,
        description: String,
    },
    Status {
        status: u16,
        message: String,
    },
}
